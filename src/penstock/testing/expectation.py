"""What a test expects of an error, how long it waits, and the form of every failure message."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final, TypeAlias

from penstock.runtime import VirtualTime, shorten
from penstock.runtime.arguments import require_seconds

__all__ = [
    "TIMEOUT",
    "ErrorType",
    "ExpectedError",
    "report",
    "require_timeout",
    "require_virtual_time",
]

ErrorType: TypeAlias = type[Exception] | tuple[type[Exception], ...]

TIMEOUT: Final = "PENSTOCK_TEST_TIMEOUT"
"""The environment variable for the seconds of all waits that name none."""
USUAL_TIMEOUT: Final = "5"


class ExpectedError:
    """A type, or a tuple of types, and a regular expression to be found in ``str(error)``."""

    def __init__(self, kind: ErrorType, match: str | None) -> None:
        self._kinds = _require_exception_types(kind)
        self._pattern = None if match is None else _require_pattern(match)

    def accepts(self, error: Exception) -> bool:
        """Whether ``error`` is as expected."""
        return isinstance(error, self._kinds) and (
            self._pattern is None or self._pattern.search(str(error)) is not None
        )

    def __str__(self) -> str:
        names = " or ".join(kind.__name__ for kind in self._kinds)
        if self._pattern is None:
            return names
        return f"{names}, match={shorten(self._pattern.pattern)}"


def _require_exception_types(kind: object) -> tuple[type[Exception], ...]:
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if kinds and all(isinstance(each, type) and issubclass(each, Exception) for each in kinds):
        return kinds
    allowed = "a subclass of Exception, or several in a tuple"
    raise TypeError(f"the type of an error must be {allowed}, not {kind!r}")


def _require_pattern(match: str) -> re.Pattern[str]:
    try:
        return re.compile(match)
    except re.error as error:
        raise ValueError(
            f"match must be a regular expression, but {match!r} is none: {error};"
            " re.escape takes a text as it is"
        ) from None


def report(headline: str, **sections: Iterable[str]) -> str:
    """A headline, then each section that has lines under its title, indented."""
    parts = [headline]
    for title, lines in sections.items():
        body = "".join(f"\n    {line}" for line in lines)
        if body:
            parts.append(f"{title.replace('_', ' ').capitalize()}:{body}")
    return "\n\n".join(parts)


def require_timeout(where: str, name: str, value: float | None) -> float:
    """``value``, when it is a number of seconds; for ``None`` the time for all tests."""
    if value is not None:
        return require_seconds(where, name, value, or_zero=True)
    given = os.environ.get(TIMEOUT, USUAL_TIMEOUT)
    try:
        return require_seconds(where, TIMEOUT, float(given), or_zero=True)
    except ValueError:
        raise ValueError(
            f"{TIMEOUT} must be a number of seconds of at least 0, not {shorten(given)}"
        ) from None


def require_virtual_time(where: str, time: object) -> VirtualTime:
    """``time``, when it is virtual."""
    if not isinstance(time, VirtualTime):
        raise TypeError(f"{where}: time must be a VirtualTime, not {shorten(time)}")
    return time
