"""Timing: elements by the clock."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import is_publisher, require_publisher
from penstock.flow.operators.delay_subscription import DelaySubscription
from penstock.flow.operators.space_out import SpaceOut
from penstock.flow.operators.timestamp import Elapsed, ElapsedTime, Timestamp, TimestampedElement
from penstock.flow.operators.timing import Delay, FirstOfPeriod, LatestOfPeriod, Sample, Timeout
from penstock.flow.sources.creating import Interval
from penstock.runtime import Clock, shorten
from penstock.runtime.arguments import require_clock, require_flag, require_int, require_seconds

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["Timing"]

T_co = TypeVar("T_co", covariant=True)
R = TypeVar("R")


class Timing(BaseFlow[T_co]):
    """Waiting. Durations are seconds or a ``timedelta``; a ``clock`` replaces real time."""

    __slots__ = ()

    @staticmethod
    def interval(
        every: float | timedelta,
        *,
        delay: float | timedelta | None = None,
        clock: Clock | None = None,
    ) -> Flow[int]:
        """0, 1, 2 and so on: the first ``delay`` after the subscription, then one ``every`` period.

        Without ``delay`` the first one takes a period, too. A tick that falls due while none is
        wanted comes when it is, so a slow subscriber gets all of them, late. To leave out what
        comes too late, follow it by ``on_backpressure_drop`` or ``on_backpressure_latest``.

        Emits when: the moment of the next number has come and it is wanted.
        Backpressures when: nothing is wanted; nothing is kept, the clock knows what is due.
        Completes when: never.
        Cancels when: the subscriber does; its timer is stopped.

        Demand: exact.

        Errors: ``ValueError`` at once for a period of 0 or less.

        Example:
            >>> from penstock import VirtualTime
            >>> from penstock.testing import ManualSubscriber
            >>> time, subscriber = VirtualTime(), ManualSubscriber(request=3)
            >>> Flow.interval(60, delay=5, clock=time).map(lambda n: (n, time.now())).subscribe(
            ...     subscriber
            ... )
            >>> time.advance(3600)
            >>> subscriber.elements
            [(0, 5.0), (1, 65.0), (2, 125.0)]

        Marble:
            Flow.interval(2, delay=1, clock=time)
            -0-1-2-3-
        """
        period = require_seconds("interval", "every", every)
        first = (
            period if delay is None else require_seconds("interval", "delay", delay, or_zero=True)
        )
        return BaseFlow._from(Interval(period, first, require_clock("interval", clock)))

    def delay(self, seconds: float | timedelta, *, clock: Clock | None = None) -> Flow[T_co]:
        """The same elements, each ``seconds`` after it came.

        Emits when: an element has been held for that long and one is wanted.
        Backpressures when: as many elements are held as are wanted, or 256; while a ``concat_map``
        downstream is busy, nothing is taken from upstream.
        Completes when: upstream completes and all its elements are delivered.
        Cancels when: the subscriber does.

        Demand: passes through, and never more elements are held than are wanted, or 256. A
        publisher upstream may be asked for as many again while those are held.

        Errors: those from upstream, after the elements that came before them. ``ValueError`` at
        once for 0 seconds or less.

        Example:
            >>> Flow.of("late", "later").delay(0.01).to_list().run_sync()
            ['late', 'later']

        Marble:
            ab--c|
            flow.delay(2, clock=time)
            --ab--(c|)
        """
        length = require_seconds("delay", "seconds", seconds)
        return self._then(Delay(length, require_clock("delay", clock)))

    def delay_subscription(
        self, delay: float | timedelta | Publisher[Any], *, clock: Clock | None = None
    ) -> Flow[T_co]:
        """The same elements, from an upstream that is subscribed to ``delay`` seconds later.

        If ``delay`` is a publisher, upstream is subscribed to when that has given anything, even if
        only its end. Time, or the publisher, begins with the subscription, whether or not anything
        is wanted.

        Emits when: upstream does, once it is subscribed to.
        Backpressures when: nothing is wanted.
        Completes when: upstream does.
        Cancels when: the subscriber does: what it waits for, or upstream.

        Demand: passes through as it is, once there is an upstream. A publisher is asked for one
        element.

        Errors: those from upstream. Those of the publisher, in place of all elements.
        ``ValueError`` at once for 0 seconds or less.

        Example:
            >>> Flow.of(1, 2).delay_subscription(0.01).to_list().run_sync()
            [1, 2]

        Marble:
            a-b|
            flow.delay_subscription(2, clock=time)
            --a-b|
        """
        operator = "delay_subscription"
        clock = require_clock(operator, clock)
        if isinstance(delay, int | float | timedelta):
            seconds = require_seconds(operator, "delay", delay)
            return BaseFlow._from(DelaySubscription(self, Timing.interval(seconds, clock=clock)))
        if not is_publisher(delay):
            raise TypeError(
                f"{operator}: delay must be seconds, a timedelta or a publisher, "
                f"not {shorten(delay)}"
            )
        return BaseFlow._from(DelaySubscription(self, delay))

    def debounce(self, seconds: float | timedelta, *, clock: Clock | None = None) -> Flow[T_co]:
        """The elements after which nothing else comes for ``seconds``; the others are discarded.

        Emits when: ``seconds`` have passed since the latest element, or upstream ends.
        Backpressures when: nothing is wanted, also by a busy ``concat_map`` downstream; then
        nothing is taken from upstream either, and no time counts.
        Completes when: upstream completes and its last element is delivered.
        Cancels when: the subscriber does.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: those from upstream, after an element that is held. ``ValueError`` at once for 0
        seconds or less.

        Example:
            >>> Flow.of("p", "pe", "pen").debounce(60).to_list().run_sync()
            ['pen']

        Marble:
            abc----d-|
            flow.debounce(2, clock=time)
            ----c----(d|)
        """
        length = require_seconds("debounce", "seconds", seconds)
        clock = require_clock("debounce", clock)
        return self._then(LatestOfPeriod("debounce", length, clock, restarts=True))

    def throttle(
        self, seconds: float | timedelta, *, last: bool = False, clock: Clock | None = None
    ) -> Flow[T_co]:
        """At most one element in ``seconds``: the first, or with ``last`` the last of a period.

        An element that comes in no period begins one. The elements that are left out are
        discarded.

        Emits when: an element begins a period; with ``last``, when its period is over.
        Backpressures when: nothing is wanted, also by a busy ``concat_map`` downstream; then
        nothing is taken from upstream either, and no time counts.
        Completes when: upstream completes; with ``last``, after an element that is held.
        Cancels when: the subscriber does.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: those from upstream, after an element that is held. ``ValueError`` at once for 0
        seconds or less.

        Example:
            >>> Flow.of(1, 2, 3).throttle(60).to_list().run_sync()
            [1]
            >>> Flow.of(1, 2, 3).throttle(60, last=True).to_list().run_sync()
            [3]

        Marble:
            abc-d-e-|
            flow.throttle(3, clock=time)
            a---d---|
        """
        length = require_seconds("throttle", "seconds", seconds)
        clock = require_clock("throttle", clock)
        if require_flag("throttle", "last", last):
            return self._then(LatestOfPeriod("throttle", length, clock, restarts=False))
        return self._then(FirstOfPeriod("throttle", length, clock))

    def sample(self, every: float | timedelta, *, clock: Clock | None = None) -> Flow[T_co]:
        """The latest element of each period that had any; the others are discarded.

        The periods follow each other from the moment at which the first element is asked for. With
        ``throttle(last=True)`` it is an element that begins a period.

        Emits when: a period is over in which an element came, or upstream ends.
        Backpressures when: nothing is wanted, also by a busy ``concat_map`` downstream; then
        nothing is taken from upstream either, and no time counts.
        Completes when: upstream completes and its last element is delivered.
        Cancels when: the subscriber does.

        Demand: passes through; each element that is left out is replaced by another one.

        Errors: those from upstream, after an element that is held. ``ValueError`` at once for a
        period of 0 seconds or less.

        Example:
            >>> Flow.of(1, 2, 3).sample(60).to_list().run_sync()
            [3]

        Marble:
            -ab--c---d|
            flow.sample(3, clock=time)
            ---b--c---(d|)
        """
        length = require_seconds("sample", "every", every)
        return self._then(Sample("sample", length, require_clock("sample", clock)))

    def space_out(
        self, seconds: float | timedelta, elements: int = 1, *, clock: Clock | None = None
    ) -> Flow[T_co]:
        """The same elements, at most ``elements`` of them in any period of ``seconds``.

        None is left out: one that comes too early waits, and upstream waits with it. That holds
        for every period, wherever it begins: after an element, the one that comes ``elements``
        later is ``seconds`` away, or more. To leave out elements instead, use ``throttle``.

        Emits when: an element is there, one is wanted, and the period has room for it.
        Backpressures when: an element waits for its time; then nothing is taken from upstream.
        Completes when: upstream completes and its last element is delivered; the end does not wait.
        Cancels when: the subscriber does. An element that waits is discarded then.

        Demand: passes through; an element is taken when it is wanted, and the next after it. A
        publisher upstream is asked for what is wanted, or 256, as by any flow.

        Errors: those from upstream, after the elements that came before them. ``ValueError`` at
        once for 0 seconds or less, or for fewer elements than 1.

        Example:
            >>> from penstock import VirtualTime
            >>> from penstock.testing import ManualSubscriber
            >>> time, subscriber = VirtualTime(), ManualSubscriber(request=5)
            >>> calls = Flow.range(5).space_out(60, elements=2, clock=time)
            >>> calls.map(lambda n: (n, time.now())).subscribe(subscriber)
            >>> time.advance(3600)
            >>> subscriber.elements
            [(0, 0.0), (1, 0.0), (2, 60.0), (3, 60.0), (4, 120.0)]

        Marble:
            abc----d-|
            flow.space_out(2, clock=time)
            a-b-c--d-|
        """
        length = require_seconds("space_out", "seconds", seconds)
        most = require_int("space_out", "elements", elements)
        return self._then(SpaceOut(length, most, require_clock("space_out", clock)))

    def timestamp(self, *, clock: Clock | None = None) -> Flow[TimestampedElement[T_co]]:
        """Each element with the time at which it came, as a named tuple ``(at, element)``.

        The time is in seconds since 1970, as ``time.time()`` and ``datetime.fromtimestamp`` have
        it. A ``clock`` that has no time of day, such as ``VirtualTime``, gives its own time.

        Emits when: an element comes.
        Backpressures when: nothing is wanted.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream.

        Example:
            >>> from penstock import VirtualTime
            >>> flow = Flow.of("tea").timestamp(clock=VirtualTime(1500.0))
            >>> flow.run_sync()
            TimestampedElement(at=1500.0, element='tea')
            >>> flow.map(lambda each: each.element).run_sync()
            'tea'

        Marble:
            -a--b-|
            flow.timestamp(clock=time).map(lambda each: f"{each.element}{each.at:.0f}")
            -{a1}--{b4}-|
        """
        return self._then(Timestamp("timestamp", require_clock("timestamp", clock)))

    def elapsed(self, *, clock: Clock | None = None) -> Flow[Elapsed[T_co]]:
        """Each element with the time since the one before, as a named tuple ``(seconds, element)``.

        For the first element, the time counts from the subscription.

        Emits when: an element comes.
        Backpressures when: nothing is wanted; that time counts, too.
        Completes when: upstream completes.
        Cancels when: the subscriber does.

        Demand: passes through as it is.

        Errors: those from upstream.

        Example:
            >>> from penstock import VirtualTime
            >>> Flow.of("tea").elapsed(clock=VirtualTime()).run_sync()
            Elapsed(seconds=0.0, element='tea')

        Marble:
            -a--b-|
            flow.elapsed(clock=time).map(lambda each: f"{each.element}{each.seconds:.0f}")
            -{a1}--{b3}-|
        """
        return self._then(ElapsedTime("elapsed", require_clock("elapsed", clock)))

    def timeout(
        self,
        seconds: float | timedelta,
        fallback: Publisher[R] | None = None,
        *,
        clock: Clock | None = None,
    ) -> Flow[T_co | R]:
        """The same elements, unless one is waited for more than ``seconds``: then an error.

        Time counts from when an element is wanted and not there, until it comes. Given a
        ``fallback``, its elements come in place of the error. A function upstream that blocks the
        thread is not interrupted.

        Emits when: an element comes.
        Backpressures when: nothing is wanted; then no time counts.
        Completes when: upstream completes, or the fallback that took over does.
        Cancels when: the subscriber does, or no element came in time.

        Demand: passes through as it is; what is left of it goes to the fallback.

        Errors: ``TimeoutError`` if no element came in time and there is no fallback; those from
        upstream and of the fallback. ``ValueError`` at once for 0 seconds or less.

        Example:
            >>> Flow.never().timeout(0.01, fallback=Flow.of("nobody")).run_sync()
            'nobody'

        Marble:
            a-b-----c
            flow.timeout(3, clock=time)
            a-b--#
        """
        if fallback is not None:
            require_publisher("timeout", fallback)
        length = require_seconds("timeout", "seconds", seconds)
        return self._then(Timeout(length, fallback, require_clock("timeout", clock)))
