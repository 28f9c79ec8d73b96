"""The suite that the modules with checks for operators add to."""

from __future__ import annotations

from typing import Final

from penstock.tck.check import Suite

__all__ = ["OPERATOR", "check"]

OPERATOR: Final = Suite("operator")

check = OPERATOR.check
