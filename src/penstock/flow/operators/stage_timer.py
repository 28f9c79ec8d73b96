"""How a stage waits for a moment, and what stages share that hold elements until one."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Iterable
from typing import Any

from penstock.flow.engine.default_clock import system_clock
from penstock.flow.engine.run_context import Elements, RunContext, discard
from penstock.flow.engine.stage import Stage
from penstock.flow.engine.wait_point import WaitState
from penstock.runtime import Clock, Timer

__all__ = [
    "HoldingStage",
    "StageTimer",
]


class StageTimer:
    """Has a run pull again at a moment, which its stage may move as often as it likes.

    A timer of the clock is scheduled only when a stage checks and it is too early, and is not
    replaced when the moment is put off: it fires, and the stage checks again. So an element that
    comes in time costs no timer. The thread that pulls the run calls all methods; the timer itself
    fires on the clock's thread.
    """

    __slots__ = ("_clock", "_moment", "_run", "_scheduled")

    def __init__(self, clock: Clock | None, run: RunContext, operator: str) -> None:
        self._clock = system_clock() if clock is None else clock
        self._run = run
        self._moment: float | None = None
        self._scheduled: ScheduledWake | None = None
        run.waiting_at[self] = operator

    def wait_state(self, operator: str | None) -> WaitState:
        """What it waits for, if for anything."""
        return WaitState(operator, "waits for its clock", ended=not self.is_set)

    @property
    def now(self) -> float:
        """The current time of its clock."""
        return self._clock.now()

    @property
    def is_set(self) -> bool:
        """Whether there is a moment to wait for."""
        return self._moment is not None

    def start(self, seconds: float) -> None:
        """Wait until ``seconds`` from now."""
        self._moment = self._clock.now() + seconds

    def start_at(self, moment: float) -> None:
        """Wait until ``moment``."""
        self._moment = moment

    def stop(self) -> None:
        """Wait for nothing."""
        self._moment = None

    def is_due(self) -> bool:
        """Whether the moment has come. If it is still to come, the run will pull again then."""
        moment = self._moment
        if moment is None:
            return False
        if self._clock.now() >= moment:
            return True
        scheduled = self._scheduled
        if scheduled is not None and scheduled.moment <= moment:
            if not scheduled.fired:
                return False
            if scheduled.moment == moment:
                return True  # a clock may run its timers a little early
        self._unschedule()
        self._scheduled = ScheduledWake(self._clock, moment, self._run)
        return False

    def close(self) -> None:
        """Wait for nothing, and cancel the timer of the clock."""
        self._run.waiting_at.pop(self, None)
        self._moment = None
        self._unschedule()

    def _unschedule(self) -> None:
        if self._scheduled is not None:
            self._scheduled.cancel()
            self._scheduled = None


class ScheduledWake:
    """One timer of a clock, which wakes a run on the clock's thread."""

    __slots__ = ("_run", "_timer", "fired", "moment")

    def __init__(self, clock: Clock, moment: float, run: RunContext) -> None:
        self.moment = moment
        self.fired = False
        self._run = run
        self._timer: Timer | None = clock.call_later(moment - clock.now(), self._call)

    def _call(self) -> None:
        self.fired = True
        self._run.wake()

    def cancel(self) -> None:
        """Cancel the timer, and drop it: it refers to this object."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()


class HoldingStage(Stage):
    """Holds elements until a moment has come.

    When upstream ends, what is held goes first, and an error follows it.
    """

    waits = True

    def __init__(self, name: str, clock: Clock | None) -> None:
        super().__init__(name)
        self._clock = clock

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Work through the input, then give the rest."""
        held: deque[Any] = deque()
        timer = StageTimer(self._clock, run, self.name)
        end = object()
        failure: Exception | None = None
        try:
            try:
                yield from self._work_through(elements, run, held, timer)
            except Exception as error:
                failure = error
            if run.over:
                return
            run.ended.add(end)
            yield from self._give_rest(held, timer)
            if failure is not None:
                raise failure
        finally:
            run.ended.discard(end)
            timer.close()
            discard(run, self._elements_in(held))
            held.clear()
            failure = None  # whose traceback has this frame

    @abstractmethod
    def _work_through(
        self, elements: Elements, run: RunContext, held: deque[Any], timer: StageTimer
    ) -> Elements:
        """Take elements into ``held``, and give those whose time has come."""

    @abstractmethod
    def _give_rest(self, held: deque[Any], timer: StageTimer) -> Elements:
        """Give what is held, now that no more will come."""

    def _elements_in(self, held: deque[Any]) -> Iterable[Any]:
        return held
