"""The reference implementations, against a bare loop."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

from benchmarks.parties import Adder, OneByOneAdder
from penstock import (
    AsyncSubscriber,
    Broadcast,
    ExecutorPublisher,
    IdentityProcessor,
    IterablePublisher,
    ThreadPool,
)

__all__ = ["CASES", "bytes_per_subscriber"]

ELEMENTS = 100_000
SUBSCRIBERS = 100


class Counter(AsyncSubscriber[int]):
    def __init__(self, thread: ThreadPool) -> None:
        super().__init__(thread, prefetch=256)
        self.count = 0

    def receive(self, element: int) -> bool:
        self.count += 1
        return True


def bare_loop() -> int:
    total = 0
    for element in range(ELEMENTS):
        total += element
    return ELEMENTS


def subscribe_and_one_element() -> int:
    publisher = IterablePublisher((1,))
    for _ in range(2_000):
        publisher.subscribe(Adder())
    return 2_000


def unbounded() -> int:
    IterablePublisher(range(ELEMENTS)).subscribe(Adder())
    return ELEMENTS


def one_by_one() -> int:
    IterablePublisher(range(ELEMENTS // 10)).subscribe(OneByOneAdder(1))
    return ELEMENTS // 10


def through_a_processor() -> int:
    processor: IdentityProcessor[int] = IdentityProcessor()
    processor.subscribe(Adder())
    IterablePublisher(range(ELEMENTS // 10)).subscribe(processor)
    return ELEMENTS // 10


def across_threads() -> int:
    with ThreadPool() as one, ThreadPool() as other:
        subscriber = Counter(other)
        ExecutorPublisher(range(ELEMENTS // 10), one).subscribe(subscriber)
        subscriber.wait()
    return subscriber.count


def broadcast_to_a_hundred() -> int:
    broadcast: Broadcast[int] = Broadcast()
    for _ in range(SUBSCRIBERS):
        broadcast.subscribe(Adder())
    IterablePublisher(range(200)).subscribe(broadcast)
    return 200 * SUBSCRIBERS


def bytes_per_subscriber(subscribers: int) -> float:
    """What one more subscriber of a ``Broadcast`` takes; ``tracemalloc`` must be on."""
    broadcast: Broadcast[int] = Broadcast()
    waiting = [Adder() for _ in range(subscribers)]
    before, _ = tracemalloc.get_traced_memory()
    for subscriber in waiting:
        broadcast.subscribe(subscriber)
    after, _ = tracemalloc.get_traced_memory()
    return (after - before) / subscribers


CASES: dict[str, Callable[[], int]] = {
    "bare loop": bare_loop,
    "subscribe and one element": subscribe_and_one_element,
    "IterablePublisher, unbounded": unbounded,
    "IterablePublisher, request(1)": one_by_one,
    "IdentityProcessor, unbounded": through_a_processor,
    "thread to thread": across_threads,
    "Broadcast to 100, per delivery": broadcast_to_a_hundred,
}
