"""Elements with named fields, as the tests of sinks write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

__all__ = ["Departure", "Flight"]


class Flight(NamedTuple):
    origin: str
    delay: float | None


@dataclass
class Departure:
    origin: str
    delay: float
