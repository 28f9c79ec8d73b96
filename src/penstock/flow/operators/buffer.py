"""Elements in lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.base_flow import opened
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close_quietly
from penstock.flow.engine.stage import FusedStage, Rerun
from penstock.flow.expression import Expression, constants_of, text_of
from penstock.flow.operators.stage_timer import HoldingStage, StageTimer
from penstock.runtime import Clock

__all__ = ["LARGEST_BATCH", "Batches", "TimedBatches"]

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


class TimedBatches(HoldingStage):
    """Lists that are also closed some time after their first element, or by a publisher.

    Calls the condition of ``until`` on the thread that pulls the run.
    """

    rerun = Rerun(repeats=False, severable=True)
    checked = True

    def __init__(
        self,
        size: int,
        every: float | None,
        last: Callable[[Any], object] | None,
        signals: Publisher[Any] | None,
        clock: Clock | None,
    ) -> None:
        super().__init__("buffer", clock)
        self.inputs_per_output = size
        self._size = size
        self._every = every
        self._last = last
        self._signals = signals
        self.inputs = () if signals is None else (signals,)

    def _work_through(
        self, elements: Elements, run: RunContext, held: deque[Any], timer: StageTimer
    ) -> Elements:
        signals: Elements = iter(())
        if self._signals is not None:
            signals = opened(self._signals, run, operator=self.name)
        try:
            for x in elements:
                full = False
                if x is not PENDING:
                    if self._every is not None and not held:
                        timer.start(self._every)
                    held.append(x)
                    full = len(held) >= self._size or bool(self._last and self._last(x))
                signalled = any_comes(signals, run)
                if held and (full or signalled or timer.is_due()):
                    timer.stop()
                    yield batch_of(held)
                elif x is PENDING:
                    yield x
                elif run.over:
                    return
        finally:
            close_quietly(signals)

    def _give_rest(self, held: deque[Any], timer: StageTimer) -> Elements:
        if held:
            yield batch_of(held)


def any_comes(signals: Elements, run: RunContext) -> bool:
    """Whether a signal has come; all that have come count as one."""
    came = False
    for signal in signals:
        if signal is PENDING or run.over:
            break
        came = True
    return came


def batch_of(held: deque[Any]) -> list[Any]:
    """What is held, as a list; nothing is held any more."""
    batch = list(held)
    held.clear()
    return batch
