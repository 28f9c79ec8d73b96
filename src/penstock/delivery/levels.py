"""The level of delivery of anything that can be a sink."""

from __future__ import annotations

from typing import Any, get_args

from penstock.delivery.contract import Level
from penstock.reference import AsyncSubscriber, SyncSubscriber

__all__ = ["level_of"]


def level_of(made: Any) -> Level | None:
    """How often a sink has each row after a kill and a restart; ``None`` if that is not known.

    A sink that declares its ``level`` has that, with a checkpoint. Any other function is done with
    an element when it returns, and so is a ``SyncSubscriber``; an ``AsyncSubscriber`` is waited
    for: they get each row at least once. Of other subscribers nobody knows when they are done, so a
    batch may be committed of which they still hold rows.

    >>> level_of(print)
    'at least once'
    """
    declared = getattr(made, "level", None)
    for level in get_args(Level):
        if declared == level:
            known: Level = level
            return known
    is_awaited = callable(made) or isinstance(made, SyncSubscriber | AsyncSubscriber)
    return "at least once" if is_awaited else None
