"""Numbers and times as people read them, rounded as the page rounds them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

__all__ = ["count", "duration", "rate", "seconds", "short"]

THOUSANDS: Final = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))


def count(number: float) -> str:
    """A whole number."""
    return f"{rounded(number, '1'):,}"


def short(number: float) -> str:
    """A number with two or three digits that count."""
    if number >= 10_000:
        # What rounds to a thousand of one size is one of the next.
        size, letter = next(each for each in THOUSANDS if number >= each[0] * 0.99995)
        return f"{tenths(number / size)}{letter}"
    return count(number) if number >= 10 else tenths(number)


def rate(per_second: float) -> str:
    """Elements a second."""
    return f"{short(max(per_second, 0))}/s"


def seconds(value: float) -> str:
    """A short time."""
    if value < 1:
        return f"{short(value * 1_000)} ms"
    return f"{tenths(value)} s" if value < 60 else duration(value)


def duration(value: float) -> str:
    """Hours, minutes and seconds."""
    minutes, rest = divmod(int(max(value, 0)), 60)
    return f"{minutes // 60:02}:{minutes % 60:02}:{rest:02}"


def tenths(number: float) -> str:
    """With one digit after the point, if it is not 0."""
    return f"{rounded(number, '0.1'):,}".removesuffix(".0")


def rounded(number: float, unit: str) -> Decimal:
    """Halves go up, as in a browser; Python's own formats round them to even."""
    return Decimal(repr(float(number))).quantize(Decimal(unit), ROUND_HALF_UP)
