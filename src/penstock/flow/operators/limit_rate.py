"""Demand in portions."""

from __future__ import annotations

from typing import Any

from penstock.flow.elements import Elements, Host
from penstock.flow.fluent import Fluent
from penstock.flow.intake import Intake, subscribe
from penstock.flow.stage import IN_ORDER, Origin

__all__ = ["LimitRate"]


class LimitRate(Origin):
    """Subscribes to the flow in front, which is never asked for more than ``high`` elements."""

    rerun = IN_ORDER
    carries = True
    checked = True

    def __init__(self, upstream: Fluent[Any], high: int, low: int) -> None:
        super().__init__("limit_rate")
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor  # what follows runs where it ran
        self._high = high
        self._low = low

    def open(self, host: Host, each: int) -> Elements:
        """Subscribe to the flow in front."""
        portions = Portions(host, each, self._high, self._low)
        subscribe(portions, self.upstream)
        return portions.elements()


class Portions(Intake):
    """Asks again when ``low`` of the elements that it asked for are left."""

    __slots__ = ("_low",)

    def __init__(self, host: Host, each: int, high: int, low: int) -> None:
        super().__init__(host, each, high)
        self._low = low

    def _ask(self) -> bool:
        wanted, taken = min(self._host.wanted * self._each, self.capacity), self._taken
        if wanted and self._asked - taken <= self._low:
            self.refill(wanted=taken + wanted, taken=taken, starving_at=self._asked)
        return bool(self.arrived) or self.ending is not None
