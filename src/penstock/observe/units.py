"""What a number counts: elements, or where these are Arrow batches, batches here and rows there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

__all__ = ["Unit", "common_unit", "counted"]

Unit = Literal["", "elements", "rows", "batches"]
"""Empty where it need not be said, since an element is a row."""

ONE: Final = {"elements": "element", "rows": "row", "batches": "batch"}


def counted(figure: str, unit: str) -> str:
    """A number with what it counts; nothing is nothing of anything."""
    if not unit or figure == "0":
        return figure
    return f"{figure} {ONE[unit] if figure == '1' else unit}"


def common_unit(units: Iterable[Unit]) -> Unit:
    """What a sum counts: batches and rows together are elements."""
    known = set(units)
    return known.pop() if len(known) == 1 else "elements"
