"""What became of an attack."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Attack"]


@dataclass(frozen=True)
class Attack:
    """One attack: what it is, what was tried, what happened, and whether that is as it must be."""

    attack: str
    tried: str
    happened: str
    held: bool
