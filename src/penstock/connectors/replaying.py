"""Recorded elements at the pace at which they were recorded."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from math import isfinite
from typing import Any, Final, TypeVar

from penstock.flow import Flow
from penstock.flow.checks import require_callable
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard
from penstock.flow.engine.stage import EACH_ALONE, Stage
from penstock.flow.operators.timing import StageTimer
from penstock.runtime import Clock, shorten
from penstock.runtime.arguments import require_clock, require_seconds

__all__ = ["replay"]

T = TypeVar("T")

NAME: Final = "replay"


def replay(
    flow: Flow[T],
    speed: float,
    time_of: Callable[[T], datetime | float],
    *,
    catch_up: float | timedelta = 1.0,
    clock: Clock | None = None,
) -> Flow[T]:
    """The elements of ``flow`` at the pace of their own times, ``speed`` times as fast.

    ``time_of`` tells the time of an element, as a ``datetime`` or in seconds. The first one comes
    at once; an element whose time is earlier than that of the previous one comes right after it.

    Where elements are not wanted in time, those that are late by ``catch_up`` seconds or less come
    in a short burst, so that small delays do not add up. After a longer pause the pace goes on from
    there, as if time had stood still. ``time_of`` is called on the thread of the run.

    Emits when: an element is wanted and its time has come.
    Backpressures when: nothing is wanted; nothing is taken from ``flow``.
    Completes when: ``flow`` does.
    Cancels when: the subscriber does.

    Demand: exact, one element at a time.

    Replay: that of ``flow``.

    Errors: those of ``flow``; what ``time_of`` raises; ``TypeError`` if it returns no time. At
    once: ``ValueError`` for a ``speed`` that is not above 0.

    Example:
        >>> from penstock.connectors import replay
        >>> flights = Flow.of(("JFK", 0.0), ("EWR", 3600.0))
        >>> time = VirtualTime()
        >>> board = replay(flights, 1800, lambda flight: flight[1], clock=time)
        >>> board.subscribe(subscriber := ManualSubscriber(request=2))
        >>> time.advance(1.9)
        >>> subscriber.elements
        [('JFK', 0.0)]
        >>> time.advance(0.1)
        >>> subscriber.elements
        [('JFK', 0.0), ('EWR', 3600.0)]
    """
    if not isinstance(flow, Flow):  # which alone knows how to go on after a restart
        raise TypeError(f"{NAME} needs a Flow, not {shorten(flow)}")
    return flow._then(
        ReplayStage(
            require_speed(speed),
            require_callable(NAME, time_of),
            require_seconds(NAME, "catch_up", catch_up, or_zero=True),
            require_clock(NAME, clock),
        )
    )


def require_speed(speed: object) -> float:
    """``speed``, when it is a number above zero."""
    if not isinstance(speed, int | float) or isinstance(speed, bool):
        raise TypeError(f"{NAME}: speed must be a number, not {shorten(speed)}")
    if not (speed > 0 and isfinite(speed)):
        raise ValueError(f"{NAME}: speed must be above 0, 1 for the real pace, not {speed}")
    return float(speed)


class ReplayStage(Stage):
    """Each element at its time, or as soon as it is wanted after that.

    ``time_of`` is called on the thread of the run.
    """

    rerun = EACH_ALONE
    waits = True
    one_to_one = True

    def __init__(
        self, speed: float, time_of: Callable[[Any], Any], catch_up: float, clock: Clock | None
    ) -> None:
        super().__init__(NAME)
        self._speed = speed
        self._time_of = time_of
        self._catch_up = catch_up
        self._clock = clock

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Hold one element at a time until it is due."""
        timer = StageTimer(self._clock, run, self.name)
        held: list[Any] = []
        first: Any = None
        start = due = timer.now
        try:
            for x in elements:
                if x is PENDING:
                    yield x
                    continue
                held.append(x)
                moment = self._time_of(x)
                if first is None:
                    first, start = moment, timer.now
                due = max(due, start + self._seconds_between(first, moment))
                late = timer.now - due
                if late > self._catch_up:
                    start += late
                    due = timer.now
                timer.start_at(due)
                while not timer.is_due():
                    yield PENDING
                yield held.pop()
        finally:
            timer.close()
            discard(run, held)

    def _seconds_between(self, first: Any, moment: Any) -> float:
        try:
            passed = moment - first
        except TypeError:
            passed = None
        seconds = passed.total_seconds() if isinstance(passed, timedelta) else passed
        if not isinstance(seconds, int | float) or not isfinite(seconds):
            raise TypeError(
                f"{NAME}: time_of must return a datetime or seconds, like the first time, "
                f"{shorten(first)}, not {shorten(moment)}"
            )
        return seconds / self._speed
