"""The fixtures of the rule tests, for the tests of the reference classes."""

from __future__ import annotations

from tests.rules.fixtures import engine, undelivered, without_gc

__all__ = ["engine", "undelivered", "without_gc"]
