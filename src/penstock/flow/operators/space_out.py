"""Elements kept apart in time, without loss: ``space_out``."""

from __future__ import annotations

from collections import deque
from typing import Any

from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard
from penstock.flow.engine.stage import EACH_ALONE, Stage
from penstock.flow.operators.timing import StageTimer, system_clock
from penstock.runtime import Clock

__all__ = ["SpaceOut"]


class SpaceOut(Stage):
    """At most so many elements in any period of ``seconds``.

    It takes an element when one is wanted, and the next one when that is delivered. So it holds
    one at most, and sees the end of upstream at once.
    """

    rerun = EACH_ALONE
    one_to_one = True
    waits = True

    def __init__(self, seconds: float, elements: int, clock: Clock | None) -> None:
        super().__init__("space_out")
        self._seconds = seconds
        self._elements = elements
        self._clock = clock

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Remember when the latest elements were delivered, as many as a period may have."""
        clock = system_clock() if self._clock is None else self._clock
        now, most, seconds = clock.now, self._elements, self._seconds
        delivered: deque[float] = deque(maxlen=most)
        held: list[Any] = []
        timer = StageTimer(clock, run, self.name, held)
        try:
            for x in elements:
                if x is not PENDING:
                    moment = now()
                    due = delivered[0] + seconds if len(delivered) == most else moment
                    if moment < due or not run.wanted:
                        held.append(x)
                        yield from self._wait(timer, due, run)
                        held.clear()
                        moment = now()
                    delivered.append(moment)
                yield x
        finally:
            timer.close()
            discard(run, held)

    def _wait(self, timer: StageTimer, due: float, run: RunContext) -> Elements:
        """Until the moment has come, and an element is wanted.

        The end is looked for without demand: an element that is found there waits for it.
        """
        timer.start_at(due)
        while not timer.is_due():
            yield PENDING
        timer.stop()
        while not run.wanted:
            yield PENDING
