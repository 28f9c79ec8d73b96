"""Fields whose values are shown to nobody: not in an error or a log, and not on the page.

Their names hold for the whole process: an error that shows an element does not know whose it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Final

__all__ = [
    "MASK",
    "fields_of",
    "has_secret_fields",
    "hidden_fields",
    "hide_fields",
    "hide_only",
    "is_secret",
]


class Mask:
    """Stands in the place of a value."""

    def __repr__(self) -> str:
        return "***"


MASK: Final = Mask()
hidden: set[str] = set()


def hide_fields(names: Iterable[str]) -> None:
    """From now on, the values of fields of these names are shown to nobody."""
    hidden.update(names)


def hide_only(names: Iterable[str]) -> None:
    """As ``hide_fields``, in the place of those before: a worker serves one pipeline at a time."""
    hidden.clear()
    hidden.update(names)


def hidden_fields() -> tuple[str, ...]:
    """Their names, for another process."""
    return tuple(sorted(hidden))


def has_secret_fields() -> bool:
    """Whether there are any."""
    return bool(hidden)


def is_secret(path: object) -> bool:
    """Whether a field, such as ``card`` or ``place.city``, is one of them or within one."""
    return bool(hidden) and isinstance(path, str) and not hidden.isdisjoint(path.split("."))


def fields_of(value: Any) -> Mapping[Any, Any] | None:
    """The fields of a mapping, a named tuple, a row of Spark or a dataclass; else ``None``."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, tuple):
        names = getattr(value, "_fields", None) or getattr(value, "__fields__", None)
        return dict(zip(names, value, strict=False)) if names else None
    if is_dataclass(value) and not isinstance(value, type):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return None
