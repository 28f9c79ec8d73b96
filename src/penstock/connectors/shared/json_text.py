"""Elements as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from datetime import date, datetime, time
from typing import Any

from penstock.runtime import shorten

__all__ = ["json_text"]


def json_text(element: Any) -> str:
    """``element`` as JSON, on one line.

    A named tuple or a dataclass becomes an object; dates and times become texts, as in ISO 8601.
    What JSON does not have, such as the number that is none, is an error.
    """
    return json.dumps(plain(element), default=plain_or_refused, allow_nan=False)


def plain(element: Any) -> Any:
    """An element by names, if its fields have some."""
    as_dict = getattr(element, "_asdict", None)
    return element if as_dict is None else as_dict()


def plain_or_refused(value: Any) -> Any:
    """What JSON has in place of a value."""
    if isinstance(value, date | datetime | time):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{shorten(value)} has no form in JSON")
