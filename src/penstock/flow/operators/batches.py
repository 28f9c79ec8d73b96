"""Elements in lists."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.elements import PENDING, Elements, Host, close_quietly
from penstock.flow.expression import Expression, constants_of, text_of
from penstock.flow.fluent import opened
from penstock.flow.operators.alarm import Alarm
from penstock.flow.operators.holding import Holding
from penstock.flow.stage import Rerun, Woven
from penstock.flow.weaving import Loop
from penstock.runtime import Clock

__all__ = ["LARGEST_BATCH", "Batches", "TimedBatches"]

LARGEST_BATCH: Final = 1_000
"""The most elements of a batch for which no size is given: nothing here grows without bound."""


class Batches(Woven):
    """Lists of ``size`` elements, or up to an element of which ``last`` holds."""

    rerun = Rerun(repeats=False, severable=True, holds=False)
    closes = True

    def __init__(self, size: int, last: Expression | None) -> None:
        condition = Expression("False") if last is None else last
        super().__init__("buffer", text_of(condition), (size, *constants_of(condition)))
        self.each = size
        self._condition = text_of(condition)

    def weave(self, loop: Loop, *values: str) -> None:
        """A list that is replaced when it is full."""
        size, *constants = values
        condition = self._condition.format(*constants, x="x")
        loop.check()
        batch = loop.local("batch", "[]")
        loop.line(f"{batch}.append(x)")
        loop.drop_if(f"len({batch}) < {size} and not {condition}")
        loop.line(f"x, {batch} = {batch}, []")
        loop.at_end(f"if {batch}:", f"    x, {batch} = {batch}, []", "    emit x", failing=True)
        loop.at_close(f"discard(host, {batch})")


class TimedBatches(Holding):
    """Lists that are also closed some time after their first element, or by a publisher."""

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
        self.each = size
        self._size = size
        self._every = every
        self._last = last
        self._signals = signals

    def _work_through(
        self, elements: Elements, host: Host, held: deque[Any], alarm: Alarm
    ) -> Elements:
        signals = iter(()) if self._signals is None else opened(self._signals, host)
        try:
            for x in elements:
                full = False
                if x is not PENDING:
                    if self._every is not None and not held:
                        alarm.set(self._every)
                    held.append(x)
                    full = len(held) >= self._size or bool(self._last and self._last(x))
                signalled = any_comes(signals, host)
                if held and (full or signalled or alarm.rings()):
                    alarm.unset()
                    yield batch_of(held)
                elif x is PENDING:
                    yield x
                elif host.over:
                    return
        finally:
            close_quietly(signals)

    def _give_rest(self, held: deque[Any], alarm: Alarm) -> Elements:
        if held:
            yield batch_of(held)


def any_comes(signals: Elements, host: Host) -> bool:
    """Whether a signal has come; all that have come count as one."""
    came = False
    for signal in signals:
        if signal is PENDING or host.over:
            break
        came = True
    return came


def batch_of(held: deque[Any]) -> list[Any]:
    """What is held, as a list; nothing is held any more."""
    batch = list(held)
    held.clear()
    return batch
