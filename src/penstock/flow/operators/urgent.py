"""Publishers whose elements count at once, whether or not anything is wanted."""

from __future__ import annotations

from penstock.flow.elements import Host
from penstock.flow.intake import PREFETCH, Intake

__all__ = ["UrgentIntake"]


class UrgentIntake(Intake):
    """Takes elements ahead of demand, and lets the host look at them without demand.

    Whoever takes them first discards the mark in ``host.ended``: what comes later sets it again.
    """

    __slots__ = ()

    def __init__(self, host: Host, prefetch: int = PREFETCH) -> None:
        super().__init__(host, prefetch=prefetch, eager=True)

    def has_come(self) -> bool:
        """Whether an element is there, or the end."""
        return bool(self.arrived) or self.ending is not None

    def on_next(self, element: object) -> None:
        """Keep the element, and wake the host even if it waits for something else."""
        self.waiting = True
        super().on_next(element)

    def notify(self) -> None:
        """Let the host pull again, also without demand."""
        if self.has_come():
            self._host.ended.add(self)
        super().notify()
