"""What a subscriber does with its subscription."""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.api import Subscription
from penstock.core import illegal_request
from penstock.core.protocol_monitor import Fault
from penstock.guard import faults
from penstock.guard.reports import PartyReports, StreamReports
from penstock.rules import cite
from penstock.runtime import report_undelivered

__all__ = ["Conduct", "WatchedSubscription"]

TERMINAL_SIGNALS = ("on_error", "on_complete")


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
