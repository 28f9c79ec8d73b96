"""The suite that the modules with checks for publishers add to."""

from __future__ import annotations

from typing import Final

from penstock.tck.check import Suite

__all__ = ["PUBLISHER"]

PUBLISHER: Final = Suite("publisher")
