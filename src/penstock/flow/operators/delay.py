"""Elements, later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.intake import PREFETCH
from penstock.flow.operators.alarm import Alarm
from penstock.flow.operators.holding import Holding
from penstock.flow.stage import IN_ORDER
from penstock.runtime import Clock

__all__ = ["Delay"]


class Delay(Holding):
    """Each element so much later. What is held are pairs of a moment and an element."""

    rerun = IN_ORDER

    def __init__(self, seconds: float, clock: Clock | None) -> None:
        super().__init__("delay", clock)
        self._seconds = seconds

    def _work_through(
        self, elements: Elements, host: Host, held: deque[Any], alarm: Alarm
    ) -> Elements:
        while True:
            if held and self._is_due(held, alarm):
                yield held.popleft()[1]
            elif held and len(held) >= min(host.wanted, PREFETCH):
                yield PENDING
            else:
                x = next(elements, None)
                if x is None:
                    return
                if x is PENDING:
                    yield x
                else:
                    held.append((alarm.now + self._seconds, x))

    def _give_rest(self, held: deque[Any], alarm: Alarm) -> Elements:
        while held:
            yield held.popleft()[1] if self._is_due(held, alarm) else PENDING

    def _is_due(self, held: deque[Any], alarm: Alarm) -> bool:
        alarm.set_to(held[0][0])
        return alarm.rings()

    def _elements_in(self, held: deque[Any]) -> Iterable[Any]:
        return (element for _, element in held)
