"""Elements by the time at which they come: ``delay``, ``debounce``, ``throttle``, ``sample`` ..."""

from __future__ import annotations

import os
import threading
from abc import abstractmethod
from collections import deque
from collections.abc import Iterable, Sized
from math import floor
from typing import Any, Final
from weakref import WeakKeyDictionary

from penstock.api import Publisher
from penstock.core import COMPLETED
from penstock.flow.base_flow import opened
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.engine.run_context import (
    PENDING,
    Elements,
    RunContext,
    WaitState,
    close,
    discard,
)
from penstock.flow.engine.stage import BY_TIME, EACH_ALONE, IN_ORDER, FusedStage, Rerun, Stage
from penstock.runtime import Clock, Lock, SystemClock, Timer
from penstock.runtime.executor import unix_time_of

__all__ = [
    "Delay",
    "FirstOfPeriod",
    "HoldingStage",
    "LatestOfPeriod",
    "Sample",
    "StageTimer",
    "Timeout",
    "system_clock",
]

_making: Final[Lock] = threading.RLock()

# By the lock, which the explorer of the kit replaces for each schedule: a clock of one schedule,
# whose thread is gone, must not be the clock of the next.
_clocks: Final[WeakKeyDictionary[Lock, SystemClock]] = WeakKeyDictionary()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_clocks.clear)  # the thread of the clock stayed behind


class StageTimer:
    """Has a run pull again at a moment, which its stage may move as often as it likes.

    A timer of the clock is scheduled only when a stage checks and it is too early, and is not
    replaced when the moment is put off: it fires, and the stage checks again. So an element that
    comes in time costs no timer. The thread that pulls the run calls all methods; the timer itself
    fires on the clock's thread.

    ``held``  the elements that wait for the moment; ``None`` if it is not for elements
    """

    __slots__ = ("_clock", "_held", "_moment", "_run", "_scheduled")

    def __init__(
        self, clock: Clock | None, run: RunContext, operator: str, held: Sized | None = None
    ) -> None:
        self._clock = system_clock() if clock is None else clock
        self._run = run
        self._held = held
        self._moment: float | None = None
        self._scheduled: ScheduledWake | None = None
        run.waiting_at[self] = operator

    def wait_state(self, operator: str | None) -> WaitState:
        """What it waits for, if for anything."""
        holds = bool(self._held)
        waits = self.is_set and (holds or self._held is None)
        return WaitState(operator, "waits for its clock", ended=not waits, holds=holds)

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

    def start_until_whole(self, seconds: float) -> None:
        """Wait until the time of day is a whole multiple of ``seconds``."""
        time = unix_time_of(self._clock)()
        self.start(next_multiple(time, seconds) - time)

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


def next_multiple(time: float, seconds: float) -> float:
    """The first multiple of ``seconds`` after ``time``."""
    rounded = time / seconds * (1 + 1e-15)  # 0.3 is three times 0.1, whatever is left by division
    return (floor(rounded) + 1) * seconds


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


def system_clock() -> Clock:
    """Real time: one clock, and so at most one thread, for the whole process."""
    clock = _clocks.get(_making)
    if clock is None:
        with _making:
            clock = _clocks.setdefault(_making, SystemClock())
    return clock


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
        timer = StageTimer(self._clock, run, self.name, held)
        end = object()
        failure: Exception | None = None
        try:
            try:
                yield from self._work_through(elements, run, held, timer)
            except Exception as error:
                failure = error
            if run.over:
                return
            run.end_is_near(end, COMPLETED if failure is None else failure)
            yield from self._give_rest(held, timer)
            if failure is not None:
                raise failure
        finally:
            run.end_is_seen(end)
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
        begun = timer.now
        for x in elements:
            due = timer.is_due()
            if x is not PENDING:
                if due or self._restarts or not held:
                    self._begin_period(timer, begun)
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

    def _begin_period(self, timer: StageTimer, begun: float) -> None:
        """An element has come, in a run that has ``begun`` at that moment."""
        timer.start(self._seconds)

    def _give_rest(self, held: deque[Any], timer: StageTimer) -> Elements:
        while held:
            yield held.popleft()


class Sample(LatestOfPeriod):
    """The latest element of each period, of which one follows the other from the beginning."""

    def __init__(self, name: str, seconds: float, clock: Clock | None) -> None:
        super().__init__(name, seconds, clock, restarts=False)

    def _begin_period(self, timer: StageTimer, begun: float) -> None:
        """Wait for the end of the period in which the element has come."""
        over = (timer.now - begun) // self._seconds
        timer.start_at(begun + (over + 1) * self._seconds)


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
