"""Rows of one column, as many tests of tables have them."""

from __future__ import annotations

__all__ = ["numbers"]


def numbers(*given: int) -> list[dict[str, int]]:
    """A row for each of them."""
    return [{"n": number} for number in given]
