"""How many elements have to go into an operator, so that as many come out as a check needs."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final

__all__ = ["inputs_for"]

REACH: Final = 16
"""So many elements may go in for each that comes out."""
FAR: Final = 64
"""And so many for the first one."""


def inputs_for(wanted: int, size: Callable[[int], int], least: int = 0) -> int:
    """How many to send, at least ``least``, so that ``wanted`` come out.

    Where no number does, as few less than that come out as can be, or else as few more. ``size``
    tells how many come out, which must not shrink as more go in.
    """
    most = max(wanted, least)
    if size(most) == wanted:
        return most
    limit = max(REACH * wanted, FAR, least)
    while size(most) < wanted and most < limit:
        most = min(2 * most + 1, limit)
    target = min(wanted, size(most))
    first = least + bisect_left(range(least, most), target, key=size)
    return first - 1 if size(first) > wanted and first > least else first
