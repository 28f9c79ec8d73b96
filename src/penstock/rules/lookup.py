"""The error for a rule or a term that does not exist."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["unknown"]


def unknown(kind: str, name: object, *, allowed: str, names: Iterable[str]) -> ValueError:
    """An error that says what was asked for, what exists, and what may have been meant."""
    nearest = _nearest(str(name).lower(), list(names))
    hint = f"; did you mean {nearest!r}?" if nearest else ""
    return ValueError(f"there is no {kind} {name!r}, only {allowed}{hint}")


def _nearest(wanted: str, names: list[str]) -> str | None:
    # Only a mistake needs difflib, so only a mistake pays for its import.
    from difflib import get_close_matches

    beginnings = (name for name in names if name.startswith(wanted))
    return next(iter(get_close_matches(wanted, names, n=1)), None) or next(beginnings, None)
