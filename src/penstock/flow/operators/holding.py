"""What stages share that hold elements back for a while."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable
from typing import Any

from penstock.flow.elements import Elements, Host, discard
from penstock.flow.operators.alarm import Alarm
from penstock.flow.stage import Stage
from penstock.runtime import Clock

__all__ = ["Holding"]


class Holding(Stage):
    """Holds elements until a moment has come.

    When the stream in front ends, what is held goes first, and an error follows it.
    """

    waits = True

    def __init__(self, name: str, clock: Clock | None) -> None:
        super().__init__(name)
        self._clock = clock

    def run(self, elements: Elements, host: Host) -> Elements:
        """Work through the input, then give the rest."""
        held: deque[Any] = deque()
        alarm = Alarm(self._clock, host)
        end = object()
        failure: Exception | None = None
        try:
            try:
                yield from self._work_through(elements, host, held, alarm)
            except Exception as error:
                failure = error
            if host.over:
                return
            host.ended.add(end)
            yield from self._give_rest(held, alarm)
            if failure is not None:
                raise failure
        finally:
            host.ended.discard(end)
            alarm.close()
            discard(host, self._elements_in(held))
            held.clear()
            failure = None  # whose traceback has this frame

    @abstractmethod
    def _work_through(
        self, elements: Elements, host: Host, held: deque[Any], alarm: Alarm
    ) -> Elements:
        """Take elements into ``held``, and give those whose time has come."""

    @abstractmethod
    def _give_rest(self, held: deque[Any], alarm: Alarm) -> Elements:
        """Give what is held, now that no more will come."""

    def _elements_in(self, held: deque[Any]) -> Iterable[Any]:
        return held
