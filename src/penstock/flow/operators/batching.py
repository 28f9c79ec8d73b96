"""Elements in lists, and in flows that follow each other: ``buffer`` and ``window``."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from enum import Enum
from typing import Any, Final, NamedTuple

from penstock.api import Publisher
from penstock.core import COMPLETED
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.prefetch_subscriber import EagerSubscriber, subscribe
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, close_quietly
from penstock.flow.engine.stage import FROM_START, FusedStage, Rerun
from penstock.flow.expression import Expression, constants_of, text_of
from penstock.flow.operators.group_by import SplitIntoSubstreams
from penstock.flow.operators.substream_router import Substream, SubstreamRouter
from penstock.flow.operators.timing import HoldingStage, StageTimer
from penstock.runtime import Clock

__all__ = [
    "LARGEST_BATCH",
    "Batches",
    "Period",
    "SlidingBatches",
    "TimedBatches",
    "Windows",
]

LARGEST_BATCH: Final = 1_000
"""The most elements of a batch for which no size is given: nothing here grows without bound."""


class Batches(FusedStage):
    """Lists of ``size`` elements, or up to an element for which ``last`` holds."""

    rerun = Rerun(repeats=False, severable=True, holds=False)
    closes = True

    def __init__(self, size: int, last: Expression | None) -> None:
        condition = Expression("False") if last is None else last
        super().__init__("buffer", text_of(condition), (size, *constants_of(condition)))
        self.inputs_per_output = size
        self._condition = text_of(condition)

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A list that is replaced when it is full."""
        size, *constants = values
        condition = self._condition.format(*constants, x="x")
        loop.check()
        batch = loop.local("batch", "[]")
        loop.line(f"{batch}.append(x)")
        loop.drop_if(f"len({batch}) < {size} and not {condition}")
        loop.line(f"x, {batch} = {batch}, []")
        loop.at_end(f"if {batch}:", f"    x, {batch} = {batch}, []", "    emit x", failing=True)
        loop.at_close(f"discard(run, {batch})")


class SlidingBatches(FusedStage):
    """Lists of ``size`` elements, of which each begins ``step`` elements after the one before."""

    rerun = FROM_START
    closes = True

    def __init__(self, size: int, step: int) -> None:
        self._leaves_out = step > size
        super().__init__("buffer", f"leaves out: {self._leaves_out}", (size, step, step - size))
        self.inputs_per_output = step

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A list that goes on with its own end, or after a gap."""
        size, step, gap = values
        loop.check()
        batch = loop.local("batch", "[]")
        delivered = loop.local("repeated", "0")  # so many at the front have come in a list before
        skipping = loop.local("skipping", "0") if self._leaves_out else ""
        if skipping:
            loop.line(f"if {skipping}:")
            loop.line(f"{skipping} -= 1", deeper=1)
            loop.drop(deeper=1)
        loop.line(f"{batch}.append(x)")
        loop.drop_if(f"len({batch}) < {size}")
        following = f"x, {batch} = {batch}, {batch}[{step}:]"
        loop.line(following)
        loop.line(f"{delivered} = len({batch})")
        if skipping:
            loop.line(f"{skipping} = {gap}")
        ending = (following, f"{delivered} = len({batch})", "emit x")
        loop.at_end(f"while {batch}:", *(f"    {line}" for line in ending), failing=True)
        loop.at_close(f"discard(run, {batch}[{delivered}:])")


class Period(NamedTuple):
    """How long a batch stays open: so long, or until the time of day is a multiple of that."""

    seconds: float
    aligned: bool

    def begin(self, timer: StageTimer) -> None:
        """A batch has its first element."""
        if self.aligned:
            timer.start_until_whole(self.seconds)
        else:
            timer.start(self.seconds)


class TimedBatches(HoldingStage):
    """Lists that are also closed some time after their first element, or by a publisher.

    Calls the condition of ``until`` on the thread that pulls the run.
    """

    rerun = Rerun(repeats=False, severable=True)
    checked = True

    def __init__(
        self,
        size: int,
        every: Period | None,
        last: Callable[[Any], object] | None,
        signals: Publisher[Any] | None,
        clock: Clock | None,
    ) -> None:
        super().__init__("buffer", clock)
        self.inputs_per_output = size
        self._size = size
        self._every = every
        self._aligned = every is not None and every.aligned
        self._last = last
        self._signals = signals
        self.inputs = () if signals is None else (signals,)

    def _work_through(
        self, elements: Elements, run: RunContext, held: deque[Any], timer: StageTimer
    ) -> Elements:
        signals: Elements | None = None
        if self._signals is not None:
            signals = opened(self._signals, run, operator=self.name)
        try:
            if signals is not None and latest_signal(signals, run) is LatestSignal.ENDED:
                return
            for x in elements:
                full = False
                if x is not PENDING:
                    before = self._add(x, held, timer)
                    if before is not None:
                        yield before
                    full = len(held) >= self._size or bool(self._last and self._last(x))
                signal = LatestSignal.NONE if signals is None else latest_signal(signals, run)
                if signal is LatestSignal.ENDED:
                    close(elements)
                    return
                # With an element, the time of an aligned batch was checked before that was added.
                due = (not self._aligned or x is PENDING) and timer.is_due()
                if held and (full or signal is LatestSignal.CAME or due):
                    timer.stop()
                    yield batch_of(held)
                elif x is PENDING:
                    yield x
                elif run.over:
                    return
        finally:
            close_quietly(signals)

    def _add(self, element: Any, held: deque[Any], timer: StageTimer) -> list[Any] | None:
        """Hold an element; the batch before it, if the element came in the next period."""
        before = batch_of(held) if self._aligned and timer.is_due() else None
        if not held and self._every is not None:
            self._every.begin(timer)
        held.append(element)
        return before

    def _give_rest(self, held: deque[Any], timer: StageTimer) -> Elements:
        if held:
            yield batch_of(held)


class LatestSignal(Enum):
    """What has come of a publisher that closes lists, or windows."""

    NONE = "nothing"
    CAME = "elements, which count as one"
    ENDED = "its end"


def latest_signal(signals: Elements, run: RunContext) -> LatestSignal:
    """Take what has come of ``signals``."""
    latest = LatestSignal.NONE
    for signal in signals:
        if signal is PENDING or run.over:
            return latest
        latest = LatestSignal.CAME
    return LatestSignal.ENDED


def batch_of(held: deque[Any]) -> list[Any]:
    """What is held, as a list; nothing is held any more."""
    batch = list(held)
    held.clear()
    return batch


class Windows(SplitIntoSubstreams):
    """A flow for each stretch of elements, which ends as a batch would.

    The condition of ``until`` runs where the router pulls, on one thread at a time.
    """

    def __init__(
        self,
        upstream: BaseFlow[Any],
        size: int,
        every: Period | None,
        last: Callable[[Any], object] | None,
        signals: Publisher[Any] | None,
        clock: Clock | None,
        prefetch: int,
    ) -> None:
        super().__init__("window", upstream, prefetch)
        self.size = size
        self.every = every
        self.last = last
        self.signals = signals
        self.inputs = (upstream,) if signals is None else (upstream, signals)
        self.clock = clock

    def router(self, run: RunContext) -> SubstreamRouter:
        """What puts the elements into one window after the other."""
        return Windowing(self, run)


class Windowing(SubstreamRouter):
    """Puts an element into the window that is open, and opens one if none is.

    Calls the condition of ``until`` within its drain.
    """

    def __init__(self, part: Windows, run: RunContext) -> None:
        super().__init__(part, run)
        self._size = part.size
        self._every = part.every
        self._last = part.last
        self._clock = part.clock
        self._publisher = part.signals
        self._timer: StageTimer | None = None
        self._signals: ClosingSignals | None = None
        self._window: Substream | None = None
        self._opened = 0
        self._filled = 0

    def _begin(self) -> None:
        if self._every is not None:
            self._timer = StageTimer(self._clock, self, self.name)
        if self._publisher is not None:
            self._signals = ClosingSignals(self._publisher, self, self.name)

    def _check_events(self) -> None:
        signal = LatestSignal.NONE if self._signals is None else self._signals.latest()
        if signal is LatestSignal.ENDED:
            self._conclude(COMPLETED)
            return
        is_due = self._timer is not None and self._timer.is_due()
        if self._window is not None and (signal is LatestSignal.CAME or is_due):
            self._close_window(self._window)

    def _route(self, element: Any) -> None:
        if self._every is not None and self._every.aligned:
            self._check_events()  # again: to get the element may have taken until the next period
            if self._concluded:
                self._lose(element)
                return
        window = self._window
        if window is not None:
            window.put(element)
        elif self._outer_left:
            self._lose(element)  # nobody would read the window that it opens
            return
        else:
            window = self._open_window(element)
        self._filled += 1
        if self._filled >= self._size or (self._last is not None and self._last(element)):
            self._close_window(window)

    def _open_window(self, element: Any) -> Substream:
        window = self._window = Substream(self, self._opened)
        self._opened += 1
        self._filled = 0
        if self._timer is not None and self._every is not None:
            self._every.begin(self._timer)
        window.put(element)
        self.outer.put(window)
        return window

    def _close_window(self, window: Substream) -> None:
        self._window = None
        if self._timer is not None:
            self._timer.stop()
        window.end(COMPLETED)

    def _open_substreams(self) -> Collection[Substream]:
        return () if self._window is None else (self._window,)

    def _end(self) -> None:
        self._window = None
        timer, self._timer = self._timer, None
        signals, self._signals = self._signals, None
        close(timer)
        close(signals)


class ClosingSignals:
    """The elements of a publisher that closes windows, whether or not anything is wanted."""

    def __init__(self, publisher: Publisher[Any], run: RunContext, operator: str) -> None:
        self._run = run
        self._subscriber = EagerSubscriber(run, operator)
        self._elements = self._subscriber.elements()
        subscribe(self._subscriber, publisher)

    def latest(self) -> LatestSignal:
        """What has come since the last time."""
        self._run.ended.discard(self._subscriber)
        return latest_signal(self._elements, self._run)

    def close(self) -> None:
        """Cancel the publisher."""
        close(self._elements)
