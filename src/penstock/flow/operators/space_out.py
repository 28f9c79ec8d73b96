"""Elements kept apart in time, without loss: ``space_out``."""

from __future__ import annotations

from collections import deque
from typing import Any

from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard
from penstock.flow.engine.stage import EACH_ALONE, Stage
from penstock.flow.operators.timing import StageTimer
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
        delivered: deque[float] = deque(maxlen=self._elements)
        held: list[Any] = []
        timer = StageTimer(self._clock, run, self.name, held)
        try:
            for x in elements:
                if x is not PENDING:
                    held.append(x)
                    if len(delivered) == self._elements:
                        timer.start_at(delivered[0] + self._seconds)
                        while not timer.is_due():
                            yield PENDING
                        timer.stop()
                    # The end is looked for without demand: an element found there is not given.
                    while not run.wanted:
                        yield PENDING
                    delivered.append(timer.now)
                    held.clear()
                yield x
        finally:
            timer.close()
            discard(run, held)
