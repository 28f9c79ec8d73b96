"""Elements by the time at which they come: ``delay``, ``debounce``, ``throttle``, ``timeout``."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

from penstock.api import Publisher
from penstock.flow.base_flow import opened
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, discard
from penstock.flow.engine.stage import BY_TIME, EACH_ALONE, IN_ORDER, FusedStage, Rerun, Stage
from penstock.flow.operators.stage_timer import HoldingStage, StageTimer
from penstock.runtime import Clock, SystemClock

__all__ = [
    "Delay",
    "FirstOfPeriod",
    "LatestOfPeriod",
    "Timeout",
]


class Delay(HoldingStage):
    """Each element ``seconds`` later. What is held are pairs of a moment and an element."""

    rerun = IN_ORDER

    def __init__(self, seconds: float, clock: Clock | None) -> None:
        super().__init__("delay", clock)
        self._seconds = seconds

    def _work_through(
        self, elements: Elements, run: RunContext, held: deque[Any], timer: StageTimer
    ) -> Elements:
        while True:
            if held and self._is_due(held, timer):
                yield held.popleft()[1]
            elif held and len(held) >= min(run.wanted, PREFETCH):
                yield PENDING
            else:
                x = next(elements, None)
                if x is None:
                    return
                if x is PENDING:
                    yield x
                else:
                    held.append((timer.now + self._seconds, x))

    def _give_rest(self, held: deque[Any], timer: StageTimer) -> Elements:
        while held:
            yield held.popleft()[1] if self._is_due(held, timer) else PENDING

    def _is_due(self, held: deque[Any], timer: StageTimer) -> bool:
        timer.start_at(held[0][0])
        return timer.is_due()

    def _elements_in(self, held: deque[Any]) -> Iterable[Any]:
        return (element for _, element in held)


class FirstOfPeriod(FusedStage):
    """An element begins a period, in which others go no further."""

    rerun = Rerun(repeats=False, severable=True, holds=False, keeps=False)

    def __init__(self, name: str, seconds: float, clock: Clock | None) -> None:
        # A separate clock is enough to read the time; nothing waits for it.
        now = (SystemClock() if clock is None else clock).now
        super().__init__(name, values=(seconds, now))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One reading of the clock, and one variable."""
        seconds, now = values
        end = loop.local("end_of_period", "float('-inf')")
        moment = loop.local("moment", "0.0")
        loop.line(f"{moment} = {now}()")
        loop.line(f"if {moment} < {end}:")
        loop.line("discard(run, (x,))", deeper=1)
        loop.drop(deeper=1)
        loop.line(f"{end} = {moment} + {seconds}")


class LatestOfPeriod(HoldingStage):
    """The latest element, ``seconds`` after the first one, or after itself if each ``restarts``."""

    rerun = Rerun(repeats=False, severable=True)

    def __init__(self, name: str, seconds: float, clock: Clock | None, *, restarts: bool) -> None:
        super().__init__(name, clock)
        self._seconds = seconds
        self._restarts = restarts

    def _work_through(
        self, elements: Elements, run: RunContext, held: deque[Any], timer: StageTimer
    ) -> Elements:
        for x in elements:
            due = timer.is_due()
            if x is not PENDING:
                if due or self._restarts or not held:
                    timer.start(self._seconds)
                held.append(x)
            if due:
                if x is PENDING:
                    timer.stop()
                yield held.popleft()
            elif x is PENDING:
                yield x
            elif len(held) > 1:
                discard(run, (held.popleft(),))
            if run.over:
                return

    def _give_rest(self, held: deque[Any], timer: StageTimer) -> Elements:
        while held:
            yield held.popleft()


class Timeout(Stage):
    """Cancels upstream when an element is waited for too long; then the fallback, or an error."""

    waits = True

    def __init__(
        self, seconds: float, fallback: Publisher[Any] | None, clock: Clock | None
    ) -> None:
        super().__init__("timeout")
        self._seconds = seconds
        self._fallback = fallback
        self.inputs = () if fallback is None else (fallback,)
        self._clock = clock
        self.rerun = EACH_ALONE if fallback is None else BY_TIME

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Time counts while there is nothing although something is wanted."""
        timer = StageTimer(self._clock, run, self.name)
        try:
            for x in elements:
                if x is not PENDING or not run.wanted:
                    timer.stop()
                elif not timer.is_set:
                    timer.start(self._seconds)
                if timer.is_due():
                    break
                yield x
            else:
                return
        finally:
            timer.close()
        close(elements)
        if self._fallback is None:
            raise TimeoutError(f"timeout: no element came within {self._seconds:g} s")
        yield from opened(self._fallback, run, operator=self.name)
