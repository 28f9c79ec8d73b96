"""The fields of an element by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from penstock.runtime import shorten
from penstock.runtime.arguments import require_texts

__all__ = ["fields_of", "require_columns", "values_of"]


def fields_of(element: Any) -> Mapping[str, Any] | None:
    """The fields of a mapping, a named tuple or a dataclass; ``None`` for anything else."""
    if isinstance(element, Mapping):
        return element
    if is_dataclass(element) and not isinstance(element, type):
        return {field.name: getattr(element, field.name) for field in fields(element)}
    as_dict = getattr(element, "_asdict", None)
    return None if as_dict is None else as_dict()


def values_of(connector: str, columns: list[str], element: Any) -> list[Any]:
    """The values of these columns; ``ValueError`` if an element has others."""
    named = fields_of(element)
    if named is None:
        if not isinstance(element, tuple | list) or len(element) != len(columns):
            raise ValueError(
                f"{connector}: an element has {', '.join(columns)}, not so {shorten(element)}"
            )
        return list(element)
    if len(named) != len(columns) or not all(column in named for column in columns):
        raise ValueError(
            f"{connector}: the columns are {', '.join(columns)}, "
            f"but an element has {', '.join(map(str, named))}"
        )
    return [named[column] for column in columns]


def require_columns(connector: str, columns: Iterable[str]) -> list[str]:
    """``columns``, when they are different names, at least one."""
    names = require_texts(connector, "columns", columns)
    if not names or len(set(names)) != len(names):
        raise ValueError(f"{connector}: columns must be different names, at least one, not {names}")
    return names
