"""What a test expects of an error, and the form of every failure message."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeAlias

from penstock.runtime import shorten

__all__ = [
    "ErrorType",
    "ExpectedError",
    "report",
]

ErrorType: TypeAlias = type[Exception] | tuple[type[Exception], ...]


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
