"""The suite that the modules with checks for subscribers add to."""

from __future__ import annotations

from typing import Final

from penstock.tck.check import Suite

__all__ = ["SUBSCRIBER", "check"]

SUBSCRIBER: Final = Suite("subscriber")

check = SUBSCRIBER.check
