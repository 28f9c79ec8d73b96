"""What becomes of an element for which there is no room."""

from __future__ import annotations

from enum import Enum
from typing import Any, Final, Literal, TypeAlias

from penstock.demand import BoundedBuffer, shorten
from penstock.flow.elements import Host, discard

__all__ = ["Emitted", "Overflow", "Policy", "keep", "require_policy"]

Policy: TypeAlias = Literal["error", "drop_oldest", "drop_newest"]
"""What to do when the buffer is full."""

POLICIES: Final = ("error", "drop_oldest", "drop_newest")


class Emitted(Enum):
    """What became of an element that was handed in."""

    TAKEN = "it waits to be delivered"
    DROPPED = "it was dropped, as the overflow policy says"
    OVERFLOW = "there was no room for it"
    OVER = "the stream is over, nobody wants it"


class Overflow(Exception):
    """Elements came faster than they were wanted, and there was no room left to keep them."""

    def __init__(self, operator: str, capacity: int) -> None:
        super().__init__(
            f"{operator}: an element came while {capacity} waited, which is its capacity. "
            "Request more elements, or sooner; or raise the capacity; or choose what may be lost "
            "by overflow='drop_oldest' or 'drop_newest', on_backpressure_latest or conflate"
        )
        self.operator = operator
        self.capacity = capacity

    def __reduce__(self) -> tuple[type[Overflow], tuple[str, int]]:
        return Overflow, (self.operator, self.capacity)


def require_policy(operator: str, overflow: object, *others: str) -> str:
    """``overflow``, when it is a policy."""
    allowed = (*POLICIES, *others)
    if not isinstance(overflow, str) or overflow not in allowed:
        choices = ", ".join(map(repr, allowed))
        raise ValueError(f"{operator}: overflow must be one of {choices}, not {shorten(overflow)}")
    return overflow


def keep(element: Any, kept: BoundedBuffer[Any], host: Host, *, overflow: str) -> Emitted:
    """Keep ``element`` if it fits, or else do what the policy says."""
    while not kept.offer(element):
        if overflow == "error":
            return Emitted.OVERFLOW
        if overflow == "drop_newest":
            discard(host, (element,))
            return Emitted.DROPPED
        discard(host, kept.take(1))
    return Emitted.TAKEN
