"""Batching: elements in lists, windows and groups."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.checks import require_callable, require_function
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.expression import Expression
from penstock.flow.operators.batching import (
    LARGEST_BATCH,
    Batches,
    Period,
    SlidingBatches,
    TimedBatches,
    Windows,
)
from penstock.flow.operators.group_by import GroupBy
from penstock.flow.operators.inputs import CONCURRENCY
from penstock.flow.operators.sliding_window import SlidingWindows
from penstock.runtime import Clock, shorten
from penstock.runtime.arguments import require_clock, require_flag, require_int, require_seconds

if TYPE_CHECKING:
    from penstock.flow.flow import Flow, GroupedFlow

__all__ = ["Batching"]

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
K = TypeVar("K")


class Batching(BaseFlow[T_co]):
    """Elements in batches, windows and groups."""

    __slots__ = ()

    def buffer(
        self,
        size: int | None = None,
        every: float | timedelta | None = None,
        until: Callable[[T_co], object] | Publisher[object] | None = None,
        *,
        step: int | None = None,
        aligned: bool = False,
        clock: Clock | None = None,
    ) -> Flow[list[T_co]]:
        """Lists of elements; each is closed by whichever comes first.

        ``size`` closes a list that has that many elements; without it 1,000 do. ``every`` closes a
        list that many seconds after it took its first element. ``until`` is a condition, which
        closes a list after the element for which it holds, or a publisher, whose elements close
        the list that is open, and whose end is the end of the flow. At least one of the three is
        needed. No list is ever empty.

        With ``aligned``, ``every`` closes a list when the time of day is a whole multiple of it, in
        UTC: ``every=60`` at whole minutes. An element belongs to the period in which it is taken
        from upstream. A ``clock`` that has no time of day is taken at its own time.

        With ``size`` alone, ``step`` says how many elements after a list the next one begins: below
        ``size`` the lists overlap, above it elements are left out between them. When upstream ends,
        all lists that have begun come, so the last ones may be shorter.

        Emits when: a list is closed and one is wanted, or upstream ends with an open one.
        Backpressures when: no list is wanted; then none is filled, and no time counts.
        Completes when: upstream or the publisher ``until`` does, and the open list is delivered.
        Cancels when: the subscriber does, when an open list is discarded; ``until`` ends or fails.

        Demand: asks for ``size`` elements for each list that is wanted; those that a list which
        was closed early has left over wait for the next one.

        Errors: those from upstream, what the condition raises, and those of the publisher, each
        after the open list. ``TypeError`` at once without arguments, for a ``step`` with anything
        but ``size``, or for ``aligned`` without ``every``; ``ValueError`` for a size or step below
        1 or a time of 0 or less.

        Example:
            >>> Flow.range(7).buffer(3).to_list().run_sync()
            [[0, 1, 2], [3, 4, 5], [6]]
            >>> Flow.of(1, 2, 0, 3, 0).buffer(until=lambda x: x == 0).to_list().run_sync()
            [[1, 2, 0], [3, 0]]
            >>> Flow.range(4).buffer(3, every=60).to_list().run_sync()
            [[0, 1, 2], [3]]
            >>> Flow.range(5).buffer(3, step=2).to_list().run_sync()
            [[0, 1, 2], [2, 3, 4], [4]]
            >>> from penstock import VirtualTime
            >>> from penstock.testing import ManualSubscriber
            >>> time, subscriber = VirtualTime(30), ManualSubscriber(request=9)
            >>> ticks = Flow.interval(20, clock=time)  # at 50, 70, 90, 110, 130
            >>> ticks.buffer(every=60, aligned=True, clock=time).subscribe(subscriber)
            >>> time.advance(100)
            >>> subscriber.elements
            [[0], [1, 2, 3]]
            >>> subscriber.cancel()

        Marble:
            abc----d--|
            flow.buffer(2, every=3, clock=time)
            -{ab}---c----(d|)
        """
        if size is None and every is None and until is None:
            raise TypeError("buffer needs size, every or until: what closes a batch?")
        most = LARGEST_BATCH if size is None else require_int("buffer", "size", size)
        if step is not None:
            _require_size_alone("buffer", step, size, every, until)
            return self._then(SlidingBatches(most, step))
        period = _period("buffer", every, aligned)
        signals, until = _split("buffer", until)
        if period is None and signals is None:
            return self._then(
                Batches(most, None if until is None else require_function("buffer", until))
            )
        if until is not None:
            require_callable("buffer", until)
        return self._then(
            TimedBatches(most, period, until, signals, require_clock("buffer", clock))
        )

    def window(
        self,
        size: int | None = None,
        every: float | timedelta | None = None,
        until: Callable[[T_co], object] | Publisher[object] | None = None,
        *,
        step: int | None = None,
        aligned: bool = False,
        prefetch: int = PREFETCH,
        clock: Clock | None = None,
    ) -> Flow[Flow[T_co]]:
        """Flows of elements, one after the other; each ends by whichever comes first.

        As ``buffer``, but a window comes when it opens, and its elements while it is open. It opens
        with an element, so none is ever empty. It is for one subscriber, which may read it on any
        thread. What a window that was cancelled would have got is discarded.

        With ``size`` alone, ``step`` says how many elements after a window the next one begins:
        below ``size`` the windows overlap, and an element goes to all that are open; above it
        elements are left out between them. ``aligned`` is as in ``buffer``.

        Emits when: an element comes while no window is open.
        Backpressures when: more than three quarters of ``prefetch`` elements wait to be taken from
        the windows. So windows that are neither read nor cancelled hold up the others.
        Completes when: upstream or the publisher ``until`` does, and the open window with it.
        Cancels when: the subscriber and the readers of all windows do. When the subscriber cancels
        first, the windows that are read go on, and those that nobody reads are discarded. The
        publisher ``until`` ends: upstream.

        Demand: ``prefetch`` elements ahead of what is wanted, replenished by the quarter; where
        windows overlap, also those that two of them have in common.

        Errors: those from upstream, what the condition raises, and those of the publisher: to all
        readers, after the elements before them. ``RuntimeError`` for a second subscriber of a
        window. ``TypeError`` at once without arguments, for a ``step`` with anything but ``size``,
        or for ``aligned`` without ``every``; ``ValueError`` for a size or step below 1 or a time of
        0 or less.

        Example:
            >>> counts = Flow.range(7).window(3).flat_map(lambda window: window.count())
            >>> counts.to_list().run_sync()
            [3, 3, 1]
            >>> sliding = Flow.range(5).window(3, step=1)
            >>> sliding.flat_map(lambda window: window.to_list()).to_list().run_sync()
            [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4], [4]]

        Marble:
            a-b-c--|
            flow.window(2).flat_map(lambda window: window.start_with("w"))
            (wa)-b-(wc)--|
        """
        if size is None and every is None and until is None:
            raise TypeError("window needs size, every or until: what closes a window?")
        most = UNBOUNDED if size is None else require_int("window", "size", size)
        require_int("window", "prefetch", prefetch)
        period = _period("window", every, aligned)
        if step is not None:
            _require_size_alone("window", step, size, every, until)
            if step != size:
                return BaseFlow._from(SlidingWindows(self, most, step, prefetch))
        signals, until = _split("window", until)
        windows = Windows(
            self,
            most,
            period,
            None if until is None else require_callable("window", until),
            signals,
            require_clock("window", clock),
            prefetch,
        )
        return BaseFlow._from(windows)

    def group_by(
        self,
        key: Callable[[T_co], K],
        max_groups: int = CONCURRENCY,
        prefetch: int = PREFETCH,
    ) -> Flow[GroupedFlow[K, T_co]]:
        """A flow for each key, with the elements of which ``key`` returns it.

        A group comes with its first element, and has its ``key``. It is for one subscriber, which
        may read it in the same run, by ``flat_map``, or on another thread. When a group is
        cancelled, as by ``take``, what it holds is discarded, another one may be opened in its
        place, and its key opens a new group if it comes again.

        Emits when: an element comes whose key has no open group.
        Backpressures when: more than three quarters of ``prefetch`` elements wait to be taken from
        the groups. So groups that are neither read nor cancelled hold up the others, as those do
        that are read when another one has ended: read all of them at a time. A key for which there
        is no room waits, too, while a reader has not taken all that came for it.
        Completes when: upstream completes; each group does after its elements.
        Cancels when: the subscriber and the readers of all groups do. When the subscriber cancels
        first, the groups that are read go on, and those that nobody reads are discarded.

        Demand: ``prefetch`` elements ahead of what is wanted, replenished by the quarter.

        Errors: those from upstream and of ``key``, to all readers, after the elements before
        them. ``RuntimeError`` when there would be more than ``max_groups`` open groups and all
        their readers wait for elements, and for a second subscriber of a group.

        Example:
            >>> groups = Flow.range(10).group_by(lambda x: x % 3)
            >>> groups.flat_map(
            ...     lambda group: group.count().map(lambda count: (group.key, count))
            ... ).to_list().run_sync()
            [(0, 4), (1, 3), (2, 3)]
            >>> orders = Flow.of("tea", "tart", "egg", "fig", "fennel")
            >>> groups = orders.group_by(lambda order: order[0], max_groups=1)
            >>> groups.flat_map(lambda group: group.take(1)).to_list().run_sync()
            ['tea', 'egg', 'fig']

        Marble:
            abAcB--|
            flow.group_by(str.lower).flat_map(lambda group: group.buffer(2))
            --{aA}-{bB}--(c|)
        """
        from penstock.flow.flow import GroupedFlow  # which is a flow itself

        return BaseFlow._from(
            GroupBy(
                self,
                require_callable("group_by", key),
                require_int("group_by", "max_groups", max_groups),
                require_int("group_by", "prefetch", prefetch),
                GroupedFlow,
            )
        )


def _period(operator: str, every: float | timedelta | None, aligned: object) -> Period | None:
    """How long a batch stays open, if time closes it."""
    if require_flag(operator, "aligned", aligned) and every is None:
        raise TypeError(f"{operator}: aligned goes with every, whose multiples close a batch")
    if every is None:
        return None
    return Period(require_seconds(operator, "every", every), aligned is True)


def _require_size_alone(
    operator: str, step: int, size: object, every: object, until: object
) -> None:
    """``step`` must be a number, and nothing but ``size`` may close a batch."""
    require_int(operator, "step", step)
    if size is None or every is not None or until is not None:
        raise TypeError(f"{operator}: step, here {step}, goes with size, and with nothing else")


def _split(
    operator: str, until: Callable[[T], object] | Publisher[object] | None
) -> tuple[Publisher[object] | None, Callable[[T], object] | None]:
    """``until`` as a publisher that signals an end, or as a function that sees it."""
    if isinstance(until, Publisher) and not isinstance(until, type | Expression):
        return until, None
    if until is not None and not callable(until):
        raise TypeError(
            f"{operator}: until must be a function or a publisher, not {shorten(until)}"
        )
    return None, until
