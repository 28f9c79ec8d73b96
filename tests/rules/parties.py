"""The other side of a stream, as the rule tests play it: it watches, counts and misbehaves."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from penstock.api import Publisher, Subscriber, Subscription

NOTHING: Any = None
"""``None`` where the type says that there must be something."""

PATIENCE = 30.0
"""Seconds after which a test that waits for another thread gives up."""


class Recorder:
    """A subscriber that writes down its signals, and every rule that a publisher breaks.

    It requests ``first`` elements when it is subscribed. A reaction is called at the end of the
    signal that it is named after: ``Recorder(1, on_next=lambda me: me.request(1))``.
    """

    def __init__(self, first: int = 0, **reactions: Callable[[Recorder], object]) -> None:
        self.signals: list[str] = []
        self.elements: list[object] = []
        self.error: Exception | None = None
        self.completed = False
        self.requested = 0
        self.faults: list[str] = []
        self.subscription: Subscription | None = None
        self._first = first
        self._reactions = reactions
        self._lock = threading.Lock()
        self._inside: Counter[int] = Counter()

    def on_subscribe(self, subscription: Subscription) -> None:
        with self._signal("on_subscribe"):
            self.subscription = subscription
            if self._first:
                self.request(self._first)

    def on_next(self, element: object) -> None:
        with self._signal("on_next"):
            self.elements.append(element)
            self._expect(len(self.elements) <= self.requested, "1.1: more than was requested")

    def on_error(self, error: Exception) -> None:
        with self._signal("on_error"):
            self.error = error

    def on_complete(self) -> None:
        with self._signal("on_complete"):
            self.completed = True

    def request(self, n: object = 1) -> None:
        if isinstance(n, int):
            with self._lock:
                self.requested += n
        assert self.subscription is not None
        self.subscription.request(cast(int, n))

    def cancel(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()

    @property
    def ended(self) -> bool:
        return self.completed or self.error is not None

    @contextmanager
    def _signal(self, name: str) -> Iterator[None]:
        thread = threading.get_ident()
        with self._lock:
            self._expect(not self._inside, f"1.3, 3.3: {name} within or beside {self._inside}")
            self._inside[thread] += 1
        self._expect(not self.ended, f"1.7: {name} after the end")
        self._expect(bool(self.signals) or name == "on_subscribe", f"1.9: {name} came first")
        self._expect(not self.signals or name != "on_subscribe", "2.12: subscribed twice")
        self.signals.append(name)
        try:
            yield
            if name in self._reactions:
                self._reactions[name](self)
        finally:
            with self._lock:
                self._inside[thread] -= 1
                self._inside = +self._inside

    def _expect(self, condition: bool, fault: str) -> None:
        if not condition:
            self.faults.append(fault)


class SpySubscription:
    """A subscription that writes down the calls of a subscriber, and those that overlap.

    ``on_request`` plays a publisher that signals from within ``request`` (rules 3.10 and 3.11),
    ``on_cancel`` one that reacts to ``cancel``.
    """

    def __init__(
        self,
        on_request: Callable[[int], object] = lambda _: None,
        on_cancel: Callable[[], object] = lambda: None,
    ) -> None:
        self.calls: list[str] = []
        self.requested = 0
        self.threads: list[str] = []
        self.overlaps = 0
        self.on_request = on_request
        self.on_cancel = on_cancel
        self._lock = threading.Lock()
        self._inside: Counter[int] = Counter()

    def request(self, n: int) -> None:
        with self._call(f"request({n})"):
            self.requested += n
            self.on_request(n)

    def cancel(self) -> None:
        with self._call("cancel"):
            self.on_cancel()

    @property
    def cancelled(self) -> int:
        """How often ``cancel`` was called."""
        return self.calls.count("cancel")

    @contextmanager
    def _call(self, name: str) -> Iterator[None]:
        thread = threading.get_ident()
        with self._lock:
            self.overlaps += any(other != thread for other in self._inside)
            self._inside[thread] += 1
        self.calls.append(name)
        self.threads.append(threading.current_thread().name)
        try:
            yield
        finally:
            with self._lock:
                self._inside[thread] -= 1
                self._inside = +self._inside


class Source:
    """An iterable that knows how far its iterators were advanced, and whether they were closed.

    Its size is unknown to its readers. Given errors, its iterators raise them at the end and
    on being closed.
    """

    def __init__(
        self,
        elements: Iterable[object],
        error: BaseException | None = None,
        close_error: Exception | None = None,
    ) -> None:
        self.elements = tuple(elements)
        self.error = error
        self.close_error = close_error
        self.opened = 0
        self.pulled = 0
        self.closed = 0

    def __iter__(self) -> SourceIterator:
        self.opened += 1
        return SourceIterator(self)


class SourceIterator:
    """One way through a source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._position = 0

    def __iter__(self) -> SourceIterator:
        return self

    def __next__(self) -> object:
        if self._position < len(self._source.elements):
            self._source.pulled += 1
            self._position += 1
            return self._source.elements[self._position - 1]
        if self._source.error is not None:
            raise self._source.error
        raise StopIteration

    def close(self) -> None:
        self._source.closed += 1
        if self._source.close_error is not None:
            raise self._source.close_error


class SpiedPublisher:
    """Stands before a publisher and watches the calls of a subscriber."""

    def __init__(self, publisher: Publisher[Any]) -> None:
        self._publisher = publisher
        self.spy = SpySubscription()

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        self._publisher.subscribe(Interception(subscriber, self.spy))


class Interception:
    """Passes all signals on, and a spy instead of the subscription."""

    def __init__(self, subscriber: Subscriber[Any], spy: SpySubscription) -> None:
        self._subscriber = subscriber
        self._spy = spy
        self.on_next = subscriber.on_next
        self.on_error = subscriber.on_error
        self.on_complete = subscriber.on_complete

    def on_subscribe(self, subscription: Subscription) -> None:
        self._spy.on_request = subscription.request
        self._spy.on_cancel = subscription.cancel
        self._subscriber.on_subscribe(self._spy)


def raises(error: BaseException) -> Callable[[Recorder], object]:
    """A reaction that raises ``error``."""

    def react(_: Recorder) -> object:
        raise error

    return react


def failing_after(elements: Iterable[object], error: Exception) -> Iterator[object]:
    """A generator that raises ``error`` after ``elements``."""
    yield from elements
    raise error


def together(*calls: Callable[[], object]) -> None:
    """Run the calls at once, each on a thread of its own; returns when all have."""
    start = threading.Barrier(len(calls))
    errors: list[BaseException] = []

    def run(call: Callable[[], object]) -> None:
        try:
            start.wait(PATIENCE)
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert not any(thread.is_alive() for thread in threads)
    assert errors == []
