"""What still refers to an object that should be gone."""

from __future__ import annotations

import gc
from types import CellType, FrameType

__all__ = ["holders_of"]

KIT = __name__.rpartition(".")[0]


def holders_of(thing: object) -> str:
    """What refers to ``thing``, in words; the caller keeps it in no field and no list."""
    found = set()
    for holder in gc.get_referrers(thing):  # a comprehension would be a holder itself
        if _counts(holder):
            found.add(_describe(holder, thing))
    return " and ".join(sorted(found)) or "the stack of a thread, it seems"


def _counts(holder: object) -> bool:
    """Whether this is no frame of the kit itself, which holds what it inspects."""
    name = str(holder.f_globals.get("__name__", "")) if isinstance(holder, FrameType) else ""
    return not name.startswith(KIT)


def _describe(holder: object, thing: object) -> str:
    if isinstance(holder, dict):
        holder = _owner_of(holder)
    if isinstance(holder, CellType):
        return "a closure"
    if isinstance(holder, FrameType):
        return f"the stack of {holder.f_code.co_qualname}"
    kind = type(holder).__name__
    for name, value in getattr(holder, "__dict__", {}).items():
        if value is thing:
            return f"{kind}.{name}"
    return f"a {kind}"


def _owner_of(namespace: dict[object, object]) -> object:
    """The object whose fields these are, if there is one."""
    for owner in gc.get_referrers(namespace):
        if getattr(owner, "__dict__", None) is namespace:
            return owner
    return namespace
