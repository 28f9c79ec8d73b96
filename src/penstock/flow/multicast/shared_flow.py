"""A flow whose subscribers share one run, and when that starts."""

from __future__ import annotations

import threading
from dataclasses import replace
from datetime import timedelta
from typing import Any, Generic, TypeVar

from penstock.api import Subscriber
from penstock.flow.base_flow import announce, opened
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import FROM_START, Origin
from penstock.flow.flow import Flow
from penstock.flow.multicast.broadcast import ACTIVE, BroadcastState
from penstock.flow.multicast.shared_run import SharedRun
from penstock.flow.multicast.sharing_options import SharingOptions, require_grace
from penstock.runtime import Clock
from penstock.runtime.arguments import require_int

__all__ = [
    "Connection",
    "FromSharing",
    "SharedFlow",
    "Sharing",
]

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")


class Connection:
    """A shared run that was started; cancel it to stop it for all subscribers."""

    def __init__(self, run: SharedRun[Any]) -> None:
        self._shared_run = run

    def cancel(self) -> None:
        """Stop the run: upstream is cancelled, and its subscribers get a ``RuntimeError``."""
        self._shared_run.shut_down("the connection was cancelled")


class FromSharing(Origin):
    """The elements of the shared run."""

    rerun = FROM_START

    def __init__(self, sharing: Sharing[Any]) -> None:
        super().__init__(sharing.options.name)
        self.sharing = sharing
        self.upstream = sharing.options.source

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to the shared run."""
        return opened(self.sharing, run, per_output)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """Subscribe, and request no more than ``most``: the others get nothing in excess."""
        return opened(self.sharing, run, per_output, most=most)


class SharedFlow(Flow[T_co]):
    """A flow whose subscribers share one run; the slowest of them sets the pace.

    A subscriber that must not hold up the others gets its own policy, by an operator upstream of
    it: ``shared.on_backpressure_latest()``, ``shared.on_backpressure_drop()``, or
    ``shared.on_backpressure_buffer(1000)``, which fails, or drops, when its buffer is full.
    """

    __slots__ = ("_sharing",)

    def __init__(self, options: SharingOptions[T_co]) -> None:
        self._sharing = Sharing(options)
        super().__init__(FromSharing(self._sharing))

    def subscribe(self, subscriber: Subscriber[T_co]) -> None:
        """Join the shared run.

        Emits when: the shared run does.
        Backpressures when: ``subscriber`` has requested nothing more; 256 elements later the
        others wait for it.
        Completes when: the shared run does and all that was kept for ``subscriber`` is delivered.
        Cancels when: ``subscriber`` cancels its subscription, or raises; the others go on.

        Demand: that of ``subscriber``, exactly.

        Errors: ``TypeError`` at once if ``subscriber`` is none. ``RuntimeError`` is signalled to
        one that is subscribed already, and to all when the connection is cancelled.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> subscriber = ManualSubscriber()
            >>> Flow.range(100).share().subscribe(subscriber)
            >>> subscriber.request(2)
            >>> subscriber.elements
            [0, 1]
        """
        announce(self)
        self._sharing.subscribe(subscriber)

    def connect(self) -> Connection:
        """Start the shared run, for the subscribers that are there and those that will come.

        To start one that runs already, or has ended, changes nothing. After the connection was
        cancelled, it starts another one, in which those who have come since take part.

        Emits when: it does not emit, it returns what can cancel the run.
        Backpressures when: never; the run waits for demand of its subscribers, unless it replays.
        Completes when: it returns at once, unless the run needs this thread for its first elements.
        Cancels when: ``cancel`` is called on what it returns; subscribers get a ``RuntimeError``.

        Demand: asks for nothing, or for what ``replay`` reads without subscribers.

        Errors: none; those of the run are signalled to its subscribers.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> shared, subscriber = Flow.range(9).publish(), ManualSubscriber(request=2)
            >>> shared.subscribe(subscriber)
            >>> subscriber.elements
            []
            >>> connection = shared.connect()
            >>> subscriber.elements
            [0, 1]
            >>> connection.cancel()
            >>> subscriber.error
            RuntimeError('publish: the connection was cancelled')
        """
        return Connection(self._sharing.connect())

    def auto_connect(self, subscribers: int = 1) -> SharedFlow[T_co]:
        """The same flow in another shared run, which starts with that many ``subscribers``.

        So does the next one after its connection was cancelled.

        Emits when: an element comes; to all subscribers.
        Backpressures when: too few subscribers have come, one lags by 256 elements, or all left,
        unless it replays.
        Completes when: upstream completes.
        Cancels when: the connection is cancelled, which ``connect`` gives; it goes on without
        subscribers.

        Demand: what the subscriber that wants most wants, at most 256 ahead of the slowest.

        Errors: those from upstream, for all subscribers, after the elements before them.

        Example:
            >>> from penstock.testing import ManualSubscriber
            >>> shared = Flow.range(3).publish().auto_connect(2)
            >>> one, other = ManualSubscriber(request=5), ManualSubscriber(request=5)
            >>> shared.subscribe(one)
            >>> one.elements
            []
            >>> shared.subscribe(other)
            >>> one.elements, other.elements
            ([0, 1, 2], [0, 1, 2])

        Marble:
            -a-b|
            --|
            Flow.merge(shared := flow.publish().auto_connect(2), other.then(shared))
            ---(aa)-(bb)|
        """
        count = require_int("auto_connect", "subscribers", subscribers)
        return SharedFlow(self._sharing.like(starts=count, grace=None))

    def ref_count(
        self,
        subscribers: int = 1,
        *,
        grace: float | timedelta = 0,
        clock: Clock | None = None,
    ) -> SharedFlow[T_co]:
        """The same in runs that start with that many ``subscribers`` and stop with the last one.

        A run stops ``grace`` seconds after its last subscriber has cancelled, unless another one
        has come by then. One that comes later, be it in the same signal, starts a new run.

        Emits when: an element comes; to all subscribers.
        Backpressures when: too few subscribers have come, one lags by 256 elements, or all left,
        unless it replays.
        Completes when: upstream completes.
        Cancels when: the last subscriber has left and ``grace`` seconds have passed.

        Demand: what the subscriber that wants most wants, at most 256 ahead of the slowest.

        Errors: those from upstream, for all subscribers, after the elements before them.

        Example:
            >>> shared = Flow.range(3).do_on_next(print).publish().ref_count()
            >>> shared.take(1).to_list().run_sync()
            0
            [0]
            >>> shared.to_list().run_sync()
            0
            1
            2
            [0, 1, 2]

        Marble:
            -a-b-c|
            --|
            Flow.merge(shared := flow.publish().ref_count(2), other.then(shared.map(str.upper)))
            ---(aA)-(bB)-(cC)|
        """
        count = require_int("ref_count", "subscribers", subscribers)
        return SharedFlow(
            self._sharing.like(starts=count, grace=require_grace("ref_count", grace, clock))
        )


class Sharing(Generic[T]):
    """The current shared run.

    One that was cancelled is followed by another, and so is each that may stop with its last
    subscriber.
    """

    def __init__(self, options: SharingOptions[T]) -> None:
        self.options = options
        self._lock = threading.RLock()  # held only to take, or replace, the run
        self._shared_run = self._new_run()

    @property
    def shared_run(self) -> SharedRun[T]:
        """The current run, or the last one."""
        return self._shared_run

    def like(self, **changes: Any) -> SharingOptions[T]:
        """Options for other runs of the same source."""
        return replace(self.options, **changes)

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Add a subscriber to the current run, and start that with the last one it waits for."""
        options = self.options
        if options.grace is None:
            run = self._shared_run
            if run.state is not ACTIVE:
                run = self._current()
            run.subscribe(subscriber)
        else:
            run = self._joined_while_alive(subscriber)
        if options.starts is not None and len(run.subscriptions) >= options.starts:
            run.connect()

    def connect(self) -> SharedRun[T]:
        """Start the current run."""
        run = self._current()
        run.connect()
        return run

    def _joined_while_alive(self, subscriber: Subscriber[T]) -> SharedRun[T]:
        while True:
            run = self._current()
            with run.keep_alive():  # it must not stop between the check and the subscription
                if run.state is BroadcastState.ACTIVE:
                    run.subscribe(subscriber)
                    return run

    def _current(self) -> SharedRun[T]:
        """The run that a newcomer joins."""
        run = self._shared_run
        if run.state is BroadcastState.ACTIVE:
            return run
        with self._lock:
            run = self._shared_run
            if run.state is BroadcastState.SHUT_DOWN or (
                run.state is not BroadcastState.ACTIVE and self.options.grace is not None
            ):
                run = self._shared_run = self._new_run()
            return run

    def _new_run(self) -> SharedRun[T]:
        options = self.options
        return SharedRun(
            options.name,
            options.source,
            options.history(),
            limit=None if options.limit is None else options.limit(),
            grace=None if options.grace is None else options.grace(),
            idle_clock=options.idle_clock,
        )
