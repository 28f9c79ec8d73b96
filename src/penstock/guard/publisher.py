"""A guard around a publisher: its signals are passed on as far as they keep the rules."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from penstock.api import Publisher, Subscriber, Subscription
from penstock.core import Rejection, require_subscriber
from penstock.core.protocol_monitor import Fault, calling_upstream
from penstock.guard import faults
from penstock.guard.reports import Guarded, PartyReports, StreamReports
from penstock.guard.strict_monitor import StrictMonitor
from penstock.rules import RuleViolation, cite
from penstock.runtime import report_undelivered

__all__ = [
    "GuardedPublisher",
    "GuardedStream",
]

T = TypeVar("T")


class GuardedPublisher(Guarded, Generic[T]):
    """Takes the place of a publisher that may break the rules; made by ``guard``.

    Whatever the publisher does, each subscriber sees a conformant stream. One that breaks a rule
    towards its subscriber is cancelled, and the subscriber gets the violation by ``on_error``.
    Signals stay on the thread on which the publisher makes them.
    """

    def __init__(
        self,
        party: Publisher[T],
        reports: PartyReports,
        *,
        ends_stream: bool,
        recursion_limit: int,
    ) -> None:
        self._publisher = party
        self._reports = reports
        self._ends_stream = ends_stream
        self._recursion_limit = recursion_limit
        # By the id of the subscriber. The publisher or the subscriber keeps a stream alive.
        self._streams: WeakValueDictionary[int, GuardedStream[T]] = WeakValueDictionary()
        self._streams_lock = reports.new_lock()

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Start a guarded stream to ``subscriber``."""
        if subscriber is None:
            raise self._refusal_of_nobody(subscriber)
        require_subscriber(subscriber)  # 1.9
        stream = GuardedStream(
            subscriber,
            self._reports,
            ends_stream=self._ends_stream,
            recursion_limit=self._recursion_limit,
        )
        with self._streams_lock:
            twin = self._streams.get(id(subscriber))
            again = twin is not None and twin.serves(subscriber)
            if not again:
                self._streams[id(subscriber)] = stream
        if again:
            # Passed on, it would end in two streams for one subscriber, each unaware of the other.
            StreamReports(self._reports).report(faults.subscribed_twice(type(subscriber).__name__))
        else:
            stream.subscribe_to(self._publisher)

    def _fail_streams(self, violation: RuleViolation) -> None:
        with self._streams_lock:
            streams = list(self._streams.values())
        for stream in streams:
            stream.fail(violation)

    def _refusal_of_nobody(self, nobody: Subscriber[T]) -> TypeError:
        """What the caller gets for ``None``, after the publisher had its chance to refuse it."""
        try:
            self._publisher.subscribe(nobody)
        except TypeError as error:
            return error
        except Exception as error:
            fault = faults.refused_nobody_oddly(error)
        else:
            fault = faults.took_nobody()
        StreamReports(self._reports).report(fault)
        return TypeError(cite("1.9", "the subscriber is None"))


class GuardedStream(Generic[T]):
    """Stands between a publisher and one subscriber, as the subscriber of the one.

    A signal that breaks a rule is not passed on. Then the stream ends, if ``ends_stream``: the
    publisher is cancelled and the subscriber gets the violation by ``on_error``, as soon as no
    other signal is running. The subscriber sees a conformant stream in any case.

    It calls the subscriber on the thread of the publisher's signal. The violation comes on the
    thread that saw it or, if another signal was running, on that one's.
    """

    def __init__(
        self,
        subscriber: Subscriber[T],
        reports: PartyReports,
        *,
        ends_stream: bool,
        recursion_limit: int,
    ) -> None:
        self._reports = StreamReports(reports)
        self._timeline = self._reports.timeline
        self._ends_stream = ends_stream
        self._new_lock = reports.new_lock
        self._subscriber_name = type(subscriber).__name__
        # All that follows is guarded by this lock, which is never held while calling out.
        self._lock = reports.new_lock()
        self._monitor = StrictMonitor(recursion_limit)
        self._subscriber: Subscriber[T] | None = subscriber
        self._opened = False
        self._upstream: Subscription | None = None
        self._ending: RuleViolation | None = None

    def serves(self, subscriber: Subscriber[T]) -> bool:
        """Whether this is the stream of ``subscriber``, and not yet over."""
        return self._subscriber is subscriber

    def subscribe_to(self, publisher: Publisher[T]) -> None:
        """Start the stream."""
        self._timeline.note(f"subscribe({self._subscriber_name})")
        try:
            with calling_upstream(self._monitor):
                publisher.subscribe(self)
        except Exception as error:
            self._blame(faults.subscribe_raised(error), final=True)

    def fail(self, violation: RuleViolation) -> None:
        """End the stream with ``violation``, unless it is over."""
        with self._lock:
            is_told = self._subscriber is None or self._ending is not None
            if is_told and self._upstream is None:
                return
            if not is_told:
                # A copy: raised somewhere, it would tie that place to the one that is kept (3.13).
                self._ending = copy(violation)
        self._timeline.note(f"the guard ends the stream: rule {violation.rule.number}")
        self._cancel_for_good()
        self._conclude()

    # What the publisher calls.

    def on_subscribe(self, subscription: Subscription) -> None:
        """Hand the subscriber a subscription that is watched."""
        self._timeline.note(f"on_subscribe({type(subscription).__name__})")
        with self._lock:
            fault = self._monitor.subscribes(subscription)
            subscriber = self._admit("on_subscribe", fault)
            unwanted = None if subscription is self._upstream else subscription
            if subscriber is not None:
                unwanted = None
                self._upstream = subscription
                self._opened = True
        if subscriber is not None:
            self._pass_on("on_subscribe", subscriber.on_subscribe, GuardedSubscription(self))
        self._cancel(unwanted)  # 2.5, 2.6
        self._blame(fault, final=not self._opened)

    def on_next(self, element: T) -> None:
        """Pass the element on, if it was asked for and comes in its turn."""
        self._timeline.record("on_next", element)
        with self._lock:
            fault = self._monitor.sends(element)
            subscriber = self._admit("on_next", fault)
        if subscriber is not None:
            self._pass_on("on_next", subscriber.on_next, element)
        self._blame(fault)

    def on_error(self, error: Exception) -> None:
        """Pass the error on."""
        self._timeline.record("on_error", error)
        with self._lock:
            fault = self._monitor.fails(error)
            subscriber = self._admit_last("on_error", fault)
        if subscriber is not None:
            self._pass_on("on_error", subscriber.on_error, error)
        self._blame(fault, final=True)

    def on_complete(self) -> None:
        """Pass the completion on."""
        self._timeline.record("on_complete")
        with self._lock:
            fault = self._monitor.completes()
            subscriber = self._admit_last("on_complete", fault)
        if subscriber is not None:
            self._pass_on("on_complete", subscriber.on_complete)
        self._blame(fault, final=True)

    # What the subscriber calls, through its subscription.

    def request(self, n: int) -> None:
        """Pass the request on, also an illegal one: the publisher has to answer it."""
        self._timeline.record("request", n)
        with self._lock:
            upstream = self._upstream
            if upstream is None:
                return
            self._monitor.request_begins(n)
        try:
            with calling_upstream(self._monitor):
                upstream.request(n)
        except Exception as error:
            self._blame(faults.request_raised(n, error))
            return
        with self._lock:
            self._monitor.request_returned(n)

    def cancel(self) -> None:
        """Drop the subscriber and pass the cancel on."""
        self._timeline.record("cancel")
        with self._lock:
            self._subscriber = None
            upstream = self._upstream
            self._monitor.cancel_begins()
        self._cancel(upstream)
        with self._lock:
            self._monitor.cancel_returned()

    # How it works.

    def _admit(self, signal: str, fault: Fault | None) -> Subscriber[T] | None:
        """The subscriber to pass the signal to, whose turn then begins; called under the lock."""
        broken = fault is not None and not fault.harmless
        if broken or self._subscriber is None or self._ending is not None:
            return None
        self._monitor.turn.enter(signal)
        return self._subscriber

    def _admit_last(self, signal: str, fault: Fault | None) -> Subscriber[T] | None:
        subscriber = self._admit(signal, fault)
        self._upstream = None  # 1.6, 2.4
        if subscriber is not None:
            self._subscriber = None
        return subscriber

    def _pass_on(self, signal: str, method: Callable[..., None], *arguments: object) -> None:
        try:
            method(*arguments)
        except Exception as error:
            # 2.13: a subscriber that raises counts as cancelled, and somebody must hear of it.
            with self._lock:
                self._subscriber = None
            self._cancel_for_good()
            self._report_subscriber(signal, error)
        finally:
            with self._lock:
                self._monitor.turn.leave()
            self._conclude()

    def _report_subscriber(self, signal: str, error: Exception) -> None:
        what = f"{signal} of {self._subscriber_name} raised"
        report_undelivered(error, cite("2.13", what))

    def _cancel_for_good(self) -> None:
        """Cancel the publisher, and pass no later call on to it."""
        with self._lock:
            self._monitor.cancel_begins()
            upstream, self._upstream = self._upstream, None
        self._cancel(upstream)

    def _cancel(self, subscription: Subscription | None) -> None:
        if subscription is None:
            return
        try:
            with calling_upstream(self._monitor):
                subscription.cancel()
        except Exception as error:
            self._blame(faults.cancel_raised(error))

    def _blame(self, fault: Fault | None, *, final: bool = False) -> None:
        if fault is None:
            return
        violation = self._reports.report(fault)
        if not fault.harmless and (final or self._ends_stream):
            self.fail(violation)

    def _conclude(self) -> None:
        """Tell the subscriber of the violation that ends its stream, once nobody signals it."""
        with self._lock:
            if self._ending is None or self._monitor.turn.taken:
                return
            ending, self._ending = self._ending, None
            subscriber, self._subscriber = self._subscriber, None
            opened = self._opened
        if subscriber is None:
            return  # it has cancelled in the meantime
        if not opened:
            Rejection(subscriber, ending, None, self._new_lock).wake()  # 1.9
            return
        try:
            subscriber.on_error(ending)
        except Exception as error:
            self._report_subscriber("on_error", error)


class GuardedSubscription:
    """What the subscriber of a guarded publisher holds."""

    __slots__ = ("_stream",)

    def __init__(self, stream: GuardedStream[T]) -> None:
        self._stream = stream

    def request(self, n: int) -> None:
        """Ask for ``n`` more elements."""
        self._stream.request(n)

    def cancel(self) -> None:
        """Stop the stream."""
        self._stream.cancel()
