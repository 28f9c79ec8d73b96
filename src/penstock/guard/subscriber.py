"""A guard around a subscriber: what it does with its subscription is watched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.api import Subscriber, Subscription
from penstock.core import illegal_request
from penstock.core.protocol_monitor import Fault
from penstock.guard import faults
from penstock.guard.reports import Guarded, PartyReports, StreamReports
from penstock.rules import RuleViolation, cite
from penstock.runtime import report_undelivered

__all__ = ["GuardedSubscriber"]

T = TypeVar("T")

TERMINAL_SIGNALS = ("on_error", "on_complete")


class GuardedSubscriber(Guarded, Generic[T]):
    """Takes the place of a subscriber that may break the rules; made by ``guard``.

    Signals are passed on as they come, on the thread of the publisher. A subscriber that raises in
    one of them is cancelled, and the publisher does not notice anything else. The publisher itself
    is not judged.
    """

    def __init__(self, party: Subscriber[T], reports: PartyReports) -> None:
        self._reports = reports
        self._conduct = Conduct(reports)
        self._subscriber: Subscriber[T] | None = party
        self._subscription: WatchedSubscription | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        """Hand the subscriber a subscription that is watched."""
        self._conduct.timeline.note(f"on_subscribe({type(subscription).__name__})")
        if subscription is None:
            raise self._refusal_of_none("on_subscribe")
        watched = self._watch(subscription)
        subscriber = self._subscriber
        if subscriber is None:
            watched.withdraw()
        elif self._signal("on_subscribe", subscriber.on_subscribe, watched):
            watched.on_subscribe_returned()
        elif watched.is_active:
            watched.withdraw()

    def on_next(self, element: T) -> None:
        """Pass the element on."""
        self._conduct.timeline.record("on_next", element)
        if element is None:
            raise self._refusal_of_none("on_next")
        subscriber = self._subscriber
        if subscriber is not None:
            self._signal("on_next", subscriber.on_next, element)

    def on_error(self, error: Exception) -> None:
        """Pass the error on and drop the subscriber."""
        self._conduct.timeline.record("on_error", error)
        if error is None:
            raise self._refusal_of_none("on_error")
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self._signal("on_error", subscriber.on_error, error)

    def on_complete(self) -> None:
        """Pass the completion on and drop the subscriber."""
        self._conduct.timeline.record("on_complete")
        subscriber, self._subscriber = self._subscriber, None
        if subscriber is not None:
            self._signal("on_complete", subscriber.on_complete)

    def _watch(self, subscription: Subscription) -> WatchedSubscription:
        first = self._subscription
        if first is not None and first.is_active:
            return WatchedSubscription(subscription, self._conduct, first)
        self._subscription = WatchedSubscription(subscription, self._conduct, None)
        return self._subscription

    def _signal(self, signal: str, method: Callable[..., None], *arguments: object) -> bool:
        """Pass a signal on; whether the subscriber returned normally."""
        self._conduct.begin_signal(signal)
        try:
            method(*arguments)
            return True
        except Exception as error:
            self._subscriber = None
            self._broke(self._conduct.reports.report(faults.signal_raised(signal, error)))
            return False
        finally:
            self._conduct.end_signal()

    def _broke(self, violation: RuleViolation) -> None:
        """The subscriber raised ``violation``: it counts as cancelled (rule 2.13)."""
        # 2.3: after a terminal signal there is nothing to cancel.
        if self._subscription is not None and self._subscription.is_active:
            self._subscription.withdraw()

    def _refusal_of_none(self, signal: str) -> TypeError:
        """What the publisher gets for ``None``, after the subscriber had its chance to refuse."""
        subscriber = self._subscriber
        if subscriber is not None:
            method: Callable[[None], None] = getattr(subscriber, signal)
            try:
                method(None)
            except TypeError as error:
                return error
            except Exception as error:
                fault = faults.refused_none_oddly(signal, error)
            else:
                fault = faults.took_none(signal)
            self._conduct.reports.report(fault)
        return TypeError(cite("2.13", f"{signal} got None"))


class Conduct:
    """Which signals a subscriber is inside of, and what it may call from there. Thread-safe.

    It does not know the subscriber, so that a subscription can hold on to it (rule 3.13).
    """

    def __init__(self, reports: PartyReports) -> None:
        self.reports = StreamReports(reports)
        self.timeline = self.reports.timeline
        self.new_lock = reports.new_lock
        self._lock = reports.new_lock()
        # For each thread inside signals: how many calls had begun when each signal came.
        self._signals: dict[int, list[int]] = {}
        self._signals_overlapped = False
        self._calls_begun = 0
        self._terminal = ""
        self._terminal_thread = 0
        self._terminal_is_running = False

    @property
    def is_over(self) -> bool:
        """Whether a terminal signal has come."""
        return bool(self._terminal)

    @property
    def is_inside_signal(self) -> bool:
        """Whether this thread is inside a signal."""
        return threading.get_ident() in self._signals

    def begin_signal(self, signal: str) -> None:
        """This thread signals the subscriber."""
        me = threading.get_ident()
        with self._lock:
            self._signals.setdefault(me, []).append(self._calls_begun)
            if len(self._signals) > 1:
                # 1.3: the publisher's fault, and overlapping calls may follow from it.
                self._signals_overlapped = True
            if signal in TERMINAL_SIGNALS:
                self._terminal = signal
                self._terminal_thread = me
                self._terminal_is_running = True

    def end_signal(self) -> None:
        """The innermost signal of this thread returned."""
        me = threading.get_ident()
        with self._lock:
            signals = self._signals[me]
            signals.pop()
            if not signals:
                del self._signals[me]
            if self._terminal_thread == me:
                self._terminal_is_running = False

    def begin_call(self) -> int:
        """The subscriber calls its subscription; the number of the call."""
        with self._lock:
            self._calls_begun += 1
            return self._calls_begun

    def fault_after_end(self, call: str) -> Fault | None:
        """What is wrong with a call after a terminal signal, as far as it is sure.

        On another thread than that of the terminal signal, it may have been under way before.
        """
        with self._lock:
            if self._terminal_thread != threading.get_ident():
                return None
            if self._terminal_is_running:
                return faults.called_in_terminal(call, self._terminal)
            return faults.requested_after_end(self._terminal) if call == "request" else None

    def excuses_overlap_with(self, call: int) -> bool:
        """Whether it is not the subscriber's doing that a call overlaps with number ``call``.

        A publisher may answer a request on another thread before it returns. What the subscriber
        calls from within that answer follows from the request, as if the two were nested.
        """
        with self._lock:
            signals = self._signals.get(threading.get_ident())
            return self._signals_overlapped or bool(signals and signals[-1] >= call)


class WatchedSubscription:
    """What a guarded subscriber holds instead of its subscription.

    Calls are passed on, questionable ones as well, but none after the end of the stream. They go
    upstream on the thread on which the subscriber makes them.
    """

    def __init__(
        self, upstream: Subscription, conduct: Conduct, first: WatchedSubscription | None
    ) -> None:
        self._upstream = upstream
        self._conduct = conduct
        self._first = first
        self._cancelled = False
        self._was_used_inside_signal = False
        self._lock = conduct.new_lock()
        self._calls: dict[int, list[int]] = {}

    # What the subscriber calls.

    def request(self, n: int) -> None:
        """Ask for ``n`` more elements."""
        self._conduct.timeline.record("request", n)
        if self._is_over("request"):
            return
        if self._is_superfluous:
            self._refuse_to_be_kept("used")
            return
        if not self._cancelled and illegal_request(n) is not None:
            self._report(faults.illegal_request(n))
        self._call("request", self._upstream.request, n)

    def cancel(self) -> None:
        """Stop the stream."""
        self._conduct.timeline.record("cancel")
        if not self._is_over("cancel"):
            self._cancelled = True
            self._call("cancel", self._upstream.cancel)

    # What the guard calls.

    @property
    def is_active(self) -> bool:
        """Whether the stream of this subscription goes on."""
        return not self._cancelled and not self._conduct.is_over

    def withdraw(self) -> None:
        """Cancel on behalf of the subscriber, unless it has done so itself."""
        if not self._cancelled:
            self._cancelled = True
            self._conduct.timeline.note("the guard cancels the subscription")
            self._pass_on("cancel", self._upstream.cancel)

    def on_subscribe_returned(self) -> None:
        """Judge what the subscriber did with a second subscription, as far as that is sure.

        It may mean to cancel it later, on a thread of its own. But one that answered its first
        ``on_subscribe`` at once does not work that way.
        """
        if self._is_superfluous and self._first and self._first._was_used_inside_signal:
            self._refuse_to_be_kept("kept")

    # How it works.

    @property
    def _is_superfluous(self) -> bool:
        return self._first is not None and self._first.is_active and not self._cancelled

    def _refuse_to_be_kept(self, how: str) -> None:
        self._report(faults.kept_second_subscription(how))
        self.withdraw()

    def _is_over(self, call: str) -> bool:
        over = self._conduct.is_over
        if over:
            self._report(self._conduct.fault_after_end(call))
        return over

    def _call(self, call: str, method: Callable[..., None], *arguments: object) -> None:
        if self._conduct.is_inside_signal:
            self._was_used_inside_signal = True
        me = threading.get_ident()
        number = self._conduct.begin_call()
        with self._lock:
            others = [calls[0] for thread, calls in self._calls.items() if thread != me]
            self._calls.setdefault(me, []).append(number)
        try:
            if not all(map(self._conduct.excuses_overlap_with, others)):
                self._report(faults.overlapping_calls(call))
            self._pass_on(call, method, *arguments)
        finally:
            with self._lock:
                self._calls[me].pop()
                if not self._calls[me]:
                    del self._calls[me]

    def _pass_on(self, call: str, method: Callable[..., None], *arguments: object) -> None:
        try:
            method(*arguments)
        except Exception as error:
            # The publisher's fault, of which the subscriber must not suffer.
            rule = "3.15" if call == "cancel" else "3.16"
            report_undelivered(error, cite(rule, f"{call} of a subscription raised"))

    def _report(self, fault: Fault | None) -> None:
        if fault is not None:
            self._conduct.reports.report(fault)
