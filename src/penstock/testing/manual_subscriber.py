"""A subscriber that a test drives by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, NoReturn, TypeVar

from penstock.api import Subscription
from penstock.core import (
    Timeline,
    illegal_request,
    require_element,
    require_error,
    require_subscription,
)
from penstock.core.signals import OnComplete, OnError, OnNext, OnSubscribe, Signal
from penstock.rules import RuleViolation
from penstock.runtime import Clock, SystemClock, shorten
from penstock.runtime.arguments import require_clock, require_int
from penstock.testing.expectation import ErrorType, ExpectedError, report, require_timeout
from penstock.testing.recording import Recording

__all__ = ["ManualSubscriber"]

T = TypeVar("T")


class ManualSubscriber(Generic[T]):
    """Records every signal, and asks and cancels only when the test says so.

    ``request``  what to ask for in ``on_subscribe``; 0 for nothing
    ``time``     the clock of the recording; the system's unless a test brings its own

    >>> from penstock import IterablePublisher
    >>> subscriber = ManualSubscriber(request=2)
    >>> IterablePublisher("abc").subscribe(subscriber)
    >>> subscriber.assert_elements("a", "b")
    >>> subscriber.request(1)
    >>> subscriber.assert_elements("a", "b", "c")
    >>> subscriber.assert_completed()

    Signals may come from any thread. The ``assert_`` methods check what has come so far; one that
    fails prints all signals and the rules that the publisher broke. The ``await_`` methods wait for
    signals from other threads, and fail after ``timeout`` seconds: by default 5, or as many as the
    environment variable ``PENSTOCK_TEST_TIMEOUT`` says. In a coroutine, hand them to
    ``asyncio.to_thread``, or the loop stands still while they wait.
    """

    def __init__(self, *, request: int = 0, time: Clock | None = None) -> None:
        self.recording: Recording[T] = Recording(
            require_clock("ManualSubscriber", time) or SystemClock()
        )
        self._first_request = require_int("ManualSubscriber", "request", request, least=0)
        self._subscription: Subscription | None = None
        self._cancelled = False
        self._checked = 0

    # What the publisher calls.

    def on_subscribe(self, subscription: Subscription) -> None:
        self._blame_if_none("on_subscribe", subscription)
        require_subscription(subscription)
        is_first = self._subscription is None
        if is_first:
            # Before the signal is recorded: a thread that waits for it may read both at once.
            self._subscription = subscription
            if self._first_request:
                self.recording.requests(self._first_request)
        self.recording.add(OnSubscribe)
        try:
            if not is_first:
                self._cancel(subscription)  # 2.5
            elif self._first_request:
                self._ask(subscription, self._first_request)
        except Exception:
            pass  # 2.13: a signal returns normally; the violation is recorded

    def on_next(self, element: T) -> None:
        self._blame_if_none("on_next", element)
        require_element(element)
        self.recording.add(lambda at: OnNext(element, at))

    def on_error(self, error: Exception) -> None:
        self._blame_if_none("on_error", error)
        require_error(error)
        self.recording.add(lambda at: OnError(error, at))

    def on_complete(self) -> None:
        self.recording.add(OnComplete)

    # What the test does.

    def request(self, n: int) -> None:
        subscription = self.subscription
        if illegal_request(n) is None and not self._cancelled and not self.ended:
            self.recording.requests(n)  # 3.10: the call itself may bring the elements
        self._ask(subscription, n)

    def cancel(self) -> None:
        subscription = self.subscription
        self._cancelled = True
        self._cancel(subscription)

    def close(self) -> None:
        """Cancel a stream that goes on, so that a test leaves nothing behind. Never raises."""
        if self._subscription is not None and not self.ended and not self._cancelled:
            try:
                self.cancel()
            except Exception:
                pass  # the violation is recorded

    # What the test sees.

    @property
    def subscription(self) -> Subscription:
        """The subscription; an ``AssertionError`` before ``on_subscribe``."""
        __tracebackhide__ = True
        if self._subscription is None:
            self._fail("there is no subscription, because on_subscribe has not come")
        return self._subscription

    @property
    def subscribed(self) -> bool:
        """Whether ``on_subscribe`` has come."""
        return self._subscription is not None

    @property
    def signals(self) -> tuple[Signal[T], ...]:
        """All signals so far: ``OnSubscribe``, ``OnNext``, ``OnError``, ``OnComplete``."""
        return self.recording.signals

    @property
    def elements(self) -> list[T]:
        """All elements so far."""
        return [signal.element for signal in self.signals if isinstance(signal, OnNext)]

    @property
    def error(self) -> Exception | None:
        """The error that ended the stream, if one did."""
        ending = self.recording.ending
        return ending.error if isinstance(ending, OnError) else None

    @property
    def completed(self) -> bool:
        """Whether the stream ended well."""
        return isinstance(self.recording.ending, OnComplete)

    @property
    def ended(self) -> bool:
        """Whether the stream ended, by completion or by an error."""
        return self.recording.ending is not None

    @property
    def cancelled(self) -> bool:
        """Whether the test has cancelled the stream."""
        return self._cancelled

    @property
    def outstanding(self) -> int:
        """How many elements were requested and have not come."""
        return self.recording.outstanding

    @property
    def violations(self) -> tuple[RuleViolation, ...]:
        """The rules of signalling that the publisher has broken so far."""
        return self.recording.violations

    @property
    def timeline(self) -> Timeline:
        """All calls in both directions, as failures print them."""
        return self.recording.timeline

    # What the test expects to have come by now.

    def assert_elements(self, *expected: T) -> None:
        """These elements have come, in this order, and no others."""
        __tracebackhide__ = True
        wanted = list(expected)
        self._expect(
            lambda: self.elements == wanted,
            lambda: f"expected the elements {_contrast(wanted, self.elements)}",
        )

    def assert_completed(self) -> None:
        """The stream ended well."""
        __tracebackhide__ = True
        self._expect(
            lambda: self.completed,
            lambda: f"expected on_complete(), but the stream {self._state()}",
        )

    def assert_failed(self, kind: ErrorType = Exception, *, match: str | None = None) -> None:
        """The stream ended with such an error; ``match`` is a pattern to be found in its text."""
        __tracebackhide__ = True
        expected = ExpectedError(kind, match)
        self._expect(
            lambda: self.error is not None and expected.accepts(self.error),
            lambda: f"expected on_error({expected}), but the stream {self._state()}",
        )

    def assert_not_ended(self) -> None:
        """The stream goes on."""
        __tracebackhide__ = True
        self._expect(
            lambda: not self.ended,
            lambda: f"expected a stream that goes on, but it {self._state()}",
        )

    def assert_nothing_more(self) -> None:
        """No signal has come since the last assertion or wait; ``on_subscribe`` does not count."""
        __tracebackhide__ = True
        self._expect(
            lambda: not self._news(),
            lambda: f"expected no more signals, but {', '.join(map(str, self._news()))} came",
        )

    def assert_no_rule_broken(self) -> None:
        """The publisher has kept the rules of signalling."""
        __tracebackhide__ = True
        self._expect(lambda: not self.violations, lambda: self.recording.verdict)

    # What the test waits for.

    def await_subscription(self, timeout: float | None = None) -> None:
        """Wait for ``on_subscribe``."""
        __tracebackhide__ = True
        seconds = require_timeout("await_subscription", "timeout", timeout)
        self._expect(
            lambda: self._subscription is not None,
            lambda: f"on_subscribe() has not come within {seconds:g} s",
            seconds=seconds,
        )

    def await_elements(self, count: int, timeout: float | None = None) -> None:
        """Wait until ``count`` elements have come since the start; fails if the stream ends."""
        __tracebackhide__ = True
        require_int("await_elements", "count", count)
        seconds = require_timeout("await_elements", "timeout", timeout)
        self._expect(
            lambda: self.recording.received >= count,
            lambda: (
                f"expected {count} elements within {seconds:g} s, but the stream {self._state()}"
            ),
            seconds=seconds,
        )

    def await_end(self, timeout: float | None = None) -> None:
        """Wait until the stream ends, well or not."""
        __tracebackhide__ = True
        seconds = require_timeout("await_end", "timeout", timeout)
        self._expect(
            lambda: self.ended,
            lambda: f"expected the end within {seconds:g} s, but the stream {self._state()}",
            seconds=seconds,
        )

    # How it works.

    def _ask(self, subscription: Subscription, n: int) -> None:
        self.timeline.record("request", n)
        try:
            subscription.request(n)
        except Exception as error:
            self.recording.blame("3.16", f"request({n}) raised {error!r}")
            raise

    def _cancel(self, subscription: Subscription) -> None:
        self.timeline.record("cancel")
        try:
            subscription.cancel()
        except Exception as error:
            self.recording.blame("3.15", f"cancel() raised {error!r}")
            raise

    def _blame_if_none(self, signal: str, argument: object) -> None:
        if argument is None:
            self.recording.blame("2.13", f"{signal} got None")

    def _expect(
        self,
        holds: Callable[[], bool],
        failure: Callable[[], str],
        *,
        seconds: float = 0.0,
    ) -> None:
        """Wait until ``holds``, or until nothing more can come."""
        __tracebackhide__ = True
        self.recording.wait_for(lambda: holds() or self.ended, seconds)
        if not self.recording.wait_for(lambda: holds() and self._mark_checked(), 0):
            self._fail(failure())

    def _mark_checked(self) -> bool:
        """Count all signals up to now as checked."""
        self._checked = len(self.recording)
        return True

    def _news(self) -> list[Signal[T]]:
        unseen = self.signals[self._checked :]
        return [signal for signal in unseen if not isinstance(signal, OnSubscribe)]

    def _state(self) -> str:
        """How the stream stands, to follow "the stream"."""
        ending = self.recording.ending
        if self._subscription is None:
            return "has not begun: on_subscribe has not come"
        state = "goes on" if ending is None else f"ended with {ending}"
        return f"{state} ({self.recording.progress})"

    def _fail(self, headline: str) -> NoReturn:
        __tracebackhide__ = True
        raise AssertionError(
            report(
                headline,
                rules_broken=map(str, self.violations),
                signals=self.timeline.lines() or ("none",),
            )
        )


def _contrast(expected: list[T], came: list[T]) -> str:
    """Two unequal lists, and where they part, to follow "expected the elements"."""
    lists = f"{shorten(expected)}, but {shorten(came)} came"
    for index, (wanted, element) in enumerate(zip(expected, came, strict=False)):
        if wanted != element:
            return f"{lists}: at index {index}, {shorten(element)} instead of {shorten(wanted)}"
    if len(came) < len(expected):
        return f"{lists}: the first that is missing is {shorten(expected[len(came)])}"
    return f"{lists}: the first too many is {shorten(came[len(expected)])}"
