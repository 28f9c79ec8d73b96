"""The suites that the modules with checks for publishers and for subscribers add to."""

from __future__ import annotations

from typing import Final

from penstock.tck.check import Suite

__all__ = [
    "PUBLISHER",
    "SUBSCRIBER",
    "check",
]

PUBLISHER: Final = Suite("publisher")


SUBSCRIBER: Final = Suite("subscriber")

check = SUBSCRIBER.check
