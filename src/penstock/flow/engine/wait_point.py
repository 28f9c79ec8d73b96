"""What the stages of a run wait at: places where elements arrive from elsewhere, and clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["WaitPoint", "WaitState"]


@dataclass(frozen=True, slots=True)
class WaitState:
    """What is at a wait point now.

    ``operator``     to which it belongs; ``None`` for the origin of the run
    ``because``      what it waits for, if nothing is there and no other run brings it
    ``brought_by``   the subscription, or the run, that brings elements here
    ``giver``        the operator that made elements here in advance
    ``thread``       the one that is making them
    ``handed_over``  nothing more is made in advance: the run itself goes on with what is upstream
    ``holds``        elements that have come are held until this wait is over
    """

    operator: str | None
    because: str
    requested: int = 0
    delivered: int | None = None
    buffered: int = 0
    capacity: int | None = None
    brought_by: object = None
    ended: bool = False
    giver: str = ""
    thread: int = 0
    handed_over: bool = False
    holds: bool = False

    @property
    def is_awaited(self) -> bool:
        """Whether it holds nothing, and more is to come of what was asked for."""
        all_came = self.delivered is not None and 0 < self.requested <= self.delivered
        return not (self.buffered or self.ended or self.handed_over or all_came)


class WaitPoint(Protocol):
    """Something that wakes a run, and is in its ``waiting_at`` until it is closed."""

    def wait_state(self, operator: str | None) -> WaitState:
        """What is here now, for ``explain``; ``operator`` is the one to which it belongs."""
