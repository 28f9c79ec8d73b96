"""The fixtures of the rule tests, for parties that keep all rules."""

from __future__ import annotations

from tests.rules.fixtures import engine, undelivered, without_gc

__all__ = ["engine", "undelivered", "without_gc"]
