"""What happens between Python and a peer; runs in the process with the JVM."""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import jpype

from penstock import Flow, IterablePublisher, Subscriber, Subscription
from penstock.bridges.jvm import JavaError, from_jvm, to_jvm
from penstock.testing import ManualSubscriber

STEPS: Final = (1, 5, 100, 2000)
MANY: Final = 1_000_000


@cache
def peer(name: str) -> Any:
    return jpype.JClass(f"penstock.peers.Peers${name}")()


def tap(publisher: Any) -> Any:
    return jpype.JClass("penstock.peers.Peers$Tap")(publisher)


def patient(publisher: Any) -> Any:
    """A subscriber of Java that asks for what it is told to."""
    subscriber = jpype.JClass("penstock.peers.Peers$Patient")()
    as_flow(publisher).subscribe(subscriber)
    return subscriber


def as_flow(publisher: Any) -> Any:
    if isinstance(publisher, jpype.JClass("java.util.concurrent.Flow$Publisher")):
        return publisher
    return jpype.JClass("org.reactivestreams.FlowAdapters").toFlowPublisher(publisher)


def as_the_peer_likes_it(name: str, publisher: Any) -> Any:
    """A publisher of ``Flow`` by the standard of the peer."""
    if name == "Jdk":
        return publisher
    return jpype.JClass("org.reactivestreams.FlowAdapters").toPublisher(publisher)


def standard_of(name: str) -> Any:
    return "flow" if name == "Jdk" else "reactive-streams"


class Counting:
    """A publisher of numbers that counts what it is asked for, and what it sends."""

    def __init__(self, numbers: Any) -> None:
        self.requested = 0
        self.sent = 0
        self.excess = 0
        self.cancelled = threading.Event()
        self._publisher = IterablePublisher(self._counted(numbers))

    def _counted(self, numbers: Any) -> Iterator[int]:
        for number in numbers:
            self.sent += 1
            self.excess = max(self.excess, self.sent - self.requested)
            yield number

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self._publisher.subscribe(Between(self, subscriber))


class Between:
    """Passes all on, and counts what is asked for."""

    def __init__(self, counts: Counting, subscriber: Subscriber[int]) -> None:
        self._counts = counts
        self.on_next = subscriber.on_next
        self.on_error = subscriber.on_error
        self.on_complete = subscriber.on_complete
        self._subscriber = subscriber

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self._counts.requested += n
        self._subscription.request(n)

    def cancel(self) -> None:
        self._subscription.cancel()
        self._counts.cancelled.set()


def from_the_peer(name: str, elements: int) -> list[Any]:
    return list(from_jvm(peer(name).numbers(elements, False)).blocking())


def there_and_back(name: str, elements: int) -> bool:
    sent = to_jvm(Flow.range(elements), standard_of(name))
    numbers = from_jvm(peer(name).through(sent))
    following = count()
    in_order = numbers.map(lambda number: number == next(following))
    return bool(in_order.reduce(True, lambda x, y: x and y).run_sync()) and (
        next(following) == elements
    )


def a_slow_subscriber_in_python(name: str) -> list[tuple[int, list[int]]]:
    """For each step what was requested here so far, and what the peer saw."""
    counted = tap(peer(name).numbers(10_000, False))
    subscriber = ManualSubscriber[int]()
    from_jvm(counted).subscribe(subscriber)
    subscriber.await_subscription()
    seen = []
    requested = 0
    for step in STEPS:
        subscriber.request(step)
        requested += step
        subscriber.await_elements(requested, 30)
        seen.append((requested, list(map(int, counted.counts()))))
    assert subscriber.elements == list(range(requested))
    subscriber.cancel()
    return seen


def a_slow_subscriber_of_the_peer(name: str) -> list[tuple[int, int, int, int, int]]:
    """For each step: received in Java, asked for and sent by the bridge, asked for here, excess."""
    numbers = Counting(range(10_000))
    counted = tap(to_jvm(numbers))
    subscriber = patient(peer(name).through(as_the_peer_likes_it(name, counted)))
    seen = []
    requested = 0
    for step in STEPS:
        subscriber.request(step)
        requested += step
        subscriber.awaitReceived(requested)
        asked_here = numbers.requested  # first: the peer may just be asking for more
        asked, sent, excess, _ = map(int, counted.counts())
        seen.append((int(subscriber.received()), asked, sent, asked_here, excess))
    subscriber.cancel()
    assert numbers.cancelled.wait(30)
    assert numbers.excess == 0
    return seen


def a_slow_subscriber_of_java_alone() -> list[tuple[int, int, int]]:
    """For each step: requested in Java, requested here, received there."""
    numbers = Counting(range(10_000))
    subscriber = patient(to_jvm(numbers))
    seen = []
    requested = 0
    for step in (1, 5, 100):
        subscriber.request(step)
        requested += step
        subscriber.awaitReceived(requested)
        seen.append((requested, numbers.requested, int(subscriber.received())))
    subscriber.cancel()
    assert numbers.cancelled.wait(30)
    return seen


def taken_without_a_bound(elements: int) -> int:
    """How many Java receives that asks for all at once."""
    subscriber = patient(to_jvm(Flow.range(elements)))
    subscriber.request(2**63 - 1)
    subscriber.awaitReceived(elements + 1)
    return int(subscriber.received())


def cancelled_by_python(name: str) -> tuple[list[int], list[int]]:
    counted = tap(peer(name).numbers(2**62, False))
    taken = list(from_jvm(counted).take(10).blocking())
    counted.awaitCancelled()
    return taken, list(map(int, counted.counts()))


def cancelled_by_the_peer(name: str) -> tuple[list[int], bool]:
    numbers = Counting(count())
    sent = to_jvm(numbers, standard_of(name))
    taken = list(from_jvm(peer(name).first(sent, 10)).blocking())
    return taken, numbers.cancelled.wait(30)


def failed_by_the_peer(name: str) -> tuple[list[int], str, str]:
    elements: list[int] = []
    try:
        from_jvm(peer(name).numbers(10, True)).do_on_next(elements.append).run_sync()
    except JavaError as error:
        cause: Any = error.__cause__
        return elements, str(error), str(cause.getClass().getName())
    raise AssertionError("it did not fail")


def failed_by_python(name: str) -> tuple[bool, str]:
    """Whether the same error comes back, and what Java saw."""
    error = LookupError("no such price")
    failing = Flow.concat(Flow.range(10), Flow.error(error))
    caught = None
    try:
        from_jvm(peer(name).through(to_jvm(failing, standard_of(name)))).run_sync()
    except LookupError as returned:
        caught = returned
    subscriber = patient(peer(name).through(to_jvm(failing, standard_of(name))))
    subscriber.request(100)
    subscriber.awaitReceived(100)
    return caught is error, str(subscriber.error())


def growth(name: str) -> int:
    """The memory of the process after a million elements there and back, less that before."""
    there_and_back(name, MANY // 5)
    before = resident()
    assert there_and_back(name, MANY)
    return resident() - before


def resident() -> int:
    gc.collect()
    jpype.java.lang.System.gc()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def methods_of(name: str) -> set[str]:
    """The names of the public methods that a class of Java declares."""
    declared = jpype.JClass(name).class_.getDeclaredMethods()
    modifier = jpype.JClass("java.lang.reflect.Modifier")
    return {str(each.getName()) for each in declared if modifier.isPublic(each.getModifiers())}
