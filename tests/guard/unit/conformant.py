"""Parties that keep the rules, for the other side of a broken one."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from penstock.api import Subscriber, Subscription
from penstock.core import (
    illegal_request,
    require_element,
    require_error,
    require_subscriber,
    require_subscription,
)

T = TypeVar("T")


class Recorder(Generic[T]):
    """Writes down all signals; requests what the test wants, at first ``asks_for``."""

    def __init__(self, asks_for: int = 0) -> None:
        self.signals: list[object] = []
        self.subscription: Subscription | None = None
        self.asks_for = asks_for

    def on_subscribe(self, subscription: Subscription) -> None:
        require_subscription(subscription)
        self.signals.append("on_subscribe")
        self.subscription = subscription
        if self.asks_for:
            subscription.request(self.asks_for)

    def on_next(self, element: T) -> None:
        require_element(element)
        self.signals.append(element)

    def on_error(self, error: Exception) -> None:
        require_error(error)
        self.signals.append(error)

    def on_complete(self) -> None:
        self.signals.append("on_complete")

    def request(self, n: int) -> None:
        assert self.subscription is not None
        self.subscription.request(n)

    def cancel(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()

    @property
    def error(self) -> Exception:
        """The error that the stream ended with."""
        last = self.signals[-1]
        assert isinstance(last, Exception), self.signals
        return last


class Busy(Recorder[T]):
    """Calls ``during`` from within ``on_next``, with the element."""

    def __init__(self, asks_for: int, during: Callable[[T], None]) -> None:
        super().__init__(asks_for)
        self._during = during

    def on_next(self, element: T) -> None:
        super().on_next(element)
        self._during(element)
        self.signals.append(f"{element} done")


class OneByOne(Recorder[T]):
    """Asks for the next element from within ``on_next``."""

    def __init__(self) -> None:
        super().__init__(asks_for=1)

    def on_next(self, element: T) -> None:
        super().on_next(element)
        self.request(1)


class Calls:
    """A subscription that does nothing but write down the calls."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def request(self, n: int) -> None:
        self.calls.append(n)

    def cancel(self) -> None:
        self.calls.append("cancel")


class ByHand(Generic[T]):
    """A publisher without a will of its own: the test signals, and reads what was requested."""

    def __init__(self) -> None:
        self.subscription = Calls()
        self.subscriber: Subscriber[T] | None = None

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        require_subscriber(subscriber)
        self.subscriber = subscriber
        subscriber.on_subscribe(self.subscription)

    @property
    def calls(self) -> list[object]:
        return self.subscription.calls

    def send(self, *elements: T) -> None:
        assert self.subscriber is not None
        for element in elements:
            self.subscriber.on_next(element)

    def complete(self) -> None:
        assert self.subscriber is not None
        self.subscriber.on_complete()

    def fail(self, error: Exception) -> None:
        assert self.subscriber is not None
        self.subscriber.on_error(error)


class NestsALittle(Generic[T]):
    """Sends from within ``request``, at most two levels deep, as rule 3.3 allows."""

    def __init__(self, elements: Iterable[T]) -> None:
        self._elements = list(elements)
        self._demand = 0
        self._depth = 0
        self._over = False

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        require_subscriber(subscriber)
        self._subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        if self._over:
            return
        error = illegal_request(n)
        if error is not None:
            self._over = True
            self._subscriber.on_error(error)
            return
        self._demand += n
        if self._depth < 2:
            self._depth += 1
            self._send()
            self._depth -= 1

    def _send(self) -> None:
        while self._demand and self._elements and not self._over:
            self._demand -= 1
            self._subscriber.on_next(self._elements.pop(0))
        if not self._elements and not self._over:
            self._over = True
            self._subscriber.on_complete()

    def cancel(self) -> None:
        self._over = True


class AnswersLast(NestsALittle[T]):
    """Answers an illegal request, but only when it has sent all that was requested."""

    _error: Exception | None = None

    def request(self, n: int) -> None:
        self._error = self._error or illegal_request(n)
        if n > 0:
            self._demand += n
        if not self._depth:
            self._depth = 1
            self._send()
            self._depth = 0
            if self._error is not None and not self._over:
                self._over = True
                self._subscriber.on_error(self._error)
