"""Multicasting: one run for several subscribers."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from penstock.flow.base_flow import BaseFlow
from penstock.flow.multicast.sharing_options import ReplayHistory, SharingOptions, require_grace
from penstock.flow.operators.inputs import may_wait
from penstock.flow.operators.timing import system_clock
from penstock.runtime import Clock
from penstock.runtime.arguments import require_clock, require_int, require_seconds

if TYPE_CHECKING:
    from penstock.flow.multicast.shared_flow import SharedFlow

__all__ = ["Multicasting"]

T_co = TypeVar("T_co", covariant=True)


class Multicasting(BaseFlow[T_co]):
    """What lets several subscribers share one run."""

    __slots__ = ()

    def publish(self) -> SharedFlow[T_co]:
        """One run for all subscribers, which starts when ``connect`` is called.

        ``auto_connect`` and ``ref_count`` start it by themselves. A subscriber gets the elements
        that come after it has subscribed.

        Emits when: an element comes; to all subscribers.
        Backpressures when: one of the subscribers lags by 256 elements, or there is none.
        Completes when: upstream completes.
        Cancels when: the connection is cancelled.

        Demand: what the subscriber that wants most wants, at most 256 ahead of the slowest.

        Errors: those from upstream, for all subscribers, after the elements before them.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> shared = Flow.range(3).publish()
            >>> one, other = ManualSubscriber(request=5), ManualSubscriber(request=5)
            >>> shared.subscribe(one)
            >>> shared.map(X * 10).subscribe(other)
            >>> connection = shared.connect()
            >>> one.elements, other.elements
            ([0, 1, 2], [0, 10, 20])

        Marble:
            -a-b|
            --|
            Flow.merge(shared := flow.publish().auto_connect(2), other.then(shared))
            ---(aa)-(bb)|
        """
        return self._shared(SharingOptions("publish", self, lambda: ReplayHistory(0)))

    def share(
        self, *, grace: float | timedelta = 0, clock: Clock | None = None
    ) -> SharedFlow[T_co]:
        """One run for all subscribers, from the first one's coming to the last one's leaving.

        It goes on for ``grace`` seconds without a subscriber before it stops. One who comes after
        that gets another run; without a grace, also if it comes in the signal in which the last one
        cancels, as ``flow.share().take(1).repeat(3)`` does.

        Emits when: an element comes; to all subscribers.
        Backpressures when: one of the subscribers lags by 256 elements, or there is none.
        Completes when: upstream completes.
        Cancels when: the last subscriber has left and ``grace`` seconds have passed.

        Demand: what the subscriber that wants most wants, at most 256 ahead of the slowest.

        Errors: those from upstream, for all subscribers, after the elements before them.

        Example:
            >>> Flow.range(3).share().to_list().run_sync()
            [0, 1, 2]

        Marble:
            -a-b-c|
            --|
            Flow.merge(shared := flow.share(), other.then(shared.map(str.upper)))
            -a-(bB)-(cC)|
        """
        stops = require_grace("share", grace, clock)
        return self._shared(
            SharingOptions("share", self, lambda: ReplayHistory(0), starts=1, grace=stops)
        )

    def replay(
        self, n: int, *, within: float | timedelta | None = None, clock: Clock | None = None
    ) -> SharedFlow[T_co]:
        """One run for all subscribers; latecomers get the last ``n`` elements first.

        The run starts with the first subscriber and goes on without one: of the elements that come
        meanwhile, the last ``n`` are kept. What runs only when it is pulled, such as an iterable,
        brings no elements by itself: it waits for the next subscriber. With ``within``, elements
        that came longer ago are not replayed.

        Emits when: an element comes, and for a newcomer those that were kept.
        Backpressures when: one of the subscribers lags by ``n`` and 256 elements.
        Completes when: upstream completes; latecomers first get what was kept.
        Cancels when: the connection is cancelled.

        Demand: what the subscriber that wants most wants, at most ``n`` and 256 ahead of the
        slowest. Without subscribers at most 256 at a time, again and again; where so many come at
        once, the next ones are asked for on the thread of ``clock``.

        Errors: those from upstream, after the elements before them, for latecomers too.

        Example:
            >>> replayed = Flow.range(5).replay(2)
            >>> replayed.to_list().run_sync()
            [0, 1, 2, 3, 4]
            >>> replayed.to_list().run_sync()
            [3, 4]

        Marble:
            -a-b-c|
            ----|
            Flow.merge(shared := flow.replay(1), other.then(shared.map(str.upper)))
            -a-bB(cC)|
        """
        size = require_int("replay", "n", n)
        seconds = None if within is None else require_seconds("replay", "within", within)
        time = require_clock("replay", clock) or system_clock()
        return self._shared(
            SharingOptions(
                "replay",
                self,
                lambda: ReplayHistory(size, seconds, None if seconds is None else time),
                starts=1,
                idle_clock=time if may_wait(self) else None,
            )
        )

    def cache(self, capacity: int = 100_000) -> SharedFlow[T_co]:
        """One run for all subscribers; latecomers get all elements from the first on.

        Emits when: an element comes, and for a newcomer all that came before.
        Backpressures when: nobody wants anything; what a slow subscriber has not taken yet is kept
        anyway.
        Completes when: upstream completes.
        Cancels when: the connection is cancelled, or there are more than ``capacity`` elements.

        Demand: what the subscriber that wants most wants.

        Errors: those from upstream. ``OverflowError`` after ``capacity`` elements, since
        forgetting some would be a lie.

        Example:
            >>> squares = Flow.range(4).do_on_next(print).map(X * X).cache()
            >>> squares.to_list().run_sync()
            0
            1
            2
            3
            [0, 1, 4, 9]
            >>> squares.to_list().run_sync()
            [0, 1, 4, 9]

        Marble:
            -a-b-c|
            ----|
            Flow.merge(shared := flow.cache(), other.then(shared.map(str.upper)))
            -a-b(AB)(cC)|
        """
        size = require_int("cache", "capacity", capacity)

        def too_many() -> Exception:
            return OverflowError(
                f"cache: more than {size} elements; give a larger capacity, "
                "take fewer elements, or use replay(n), which forgets"
            )

        return self._shared(
            SharingOptions("cache", self, lambda: ReplayHistory(size), starts=1, limit=too_many)
        )

    def _shared(self, options: SharingOptions[T_co]) -> SharedFlow[T_co]:
        from penstock.flow.multicast.shared_flow import SharedFlow  # which is a flow itself

        return SharedFlow(options)
