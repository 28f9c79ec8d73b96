"""No false alarm: parties that keep the rules, under many patterns of requests and threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.api import UNBOUNDED, Publisher, Subscriber, Subscription
from penstock.core import AsyncSubscriber, IdentityProcessor, SyncSubscriber
from penstock.examples import ExecutorPublisher, IterablePublisher
from penstock.flow.multicast.broadcast import Broadcast
from penstock.guard import guard
from penstock.guard.reports import Guarded
from penstock.runtime import CallingThread, Executor, ThreadPool, VirtualTime
from tests.guard.unit.conformant import NestsALittle, Recorder

ELEMENTS = range(20)


def on_the_calling_thread(_: Executor) -> Publisher[int]:
    return IterablePublisher(ELEMENTS)


def on_an_executor(executor: Executor) -> Publisher[int]:
    return ExecutorPublisher(ELEMENTS, executor, batch=3)


def with_bounded_recursion(_: Executor) -> Publisher[int]:
    return NestsALittle(ELEMENTS)


def that_fails(executor: Executor) -> Publisher[int]:
    return ExecutorPublisher((10 // (5 - number) + 1 for number in ELEMENTS), executor)


def that_is_empty(executor: Executor) -> Publisher[int]:
    return ExecutorPublisher(range(0), executor)


def downstream_of_a_processor(executor: Executor) -> Publisher[int]:
    processor: IdentityProcessor[int] = IdentityProcessor(4, executor=executor)
    IterablePublisher(ELEMENTS).subscribe(processor)
    return processor


def downstream_of_a_broadcast(executor: Executor) -> Publisher[int]:
    return Broadcast(4, source=IterablePublisher(ELEMENTS), executor=executor)


PUBLISHERS = [
    on_the_calling_thread,
    on_an_executor,
    with_bounded_recursion,
    that_fails,
    that_is_empty,
    downstream_of_a_processor,
    downstream_of_a_broadcast,
]
NewPublisher: TypeAlias = Callable[[Executor], Publisher[int]]

requests = st.sampled_from([1, 1, 1, 2, 3, 7, UNBOUNDED, 0, -1])
steps = st.lists(st.one_of(requests, st.sampled_from(["cancel", "run"])), max_size=12)
Steps: TypeAlias = list[int | str]


class FollowsSteps(Recorder[int]):
    """Requests and cancels from within its signals, one step in each."""

    def __init__(self, steps: Steps) -> None:
        super().__init__()
        self._steps = iter(steps)

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        self._take_step()

    def on_next(self, element: int) -> None:
        super().on_next(element)
        self._take_step()
        self._take_step()

    def _take_step(self) -> None:
        take(next(self._steps, "cancel"), self)


def take(step: int | str, subscriber: Recorder[int]) -> None:
    if isinstance(step, int):
        subscriber.request(step)
    elif step == "cancel":
        subscriber.cancel()


@contextmanager
def no_violation(*parties: Guarded) -> Iterator[None]:
    yield
    assert [violation for party in parties for violation in party.violations] == []


@pytest.mark.parametrize("new_publisher", PUBLISHERS)
@given(steps=steps, after=steps)
def test_no_publisher_is_blamed_on_one_thread(
    new_publisher: NewPublisher, steps: Steps, after: Steps
) -> None:
    time = VirtualTime()
    publisher = guard(new_publisher(time))
    subscriber = FollowsSteps(steps)
    with no_violation(publisher):
        publisher.subscribe(subscriber)
        time.run()
        for step in after if subscriber.subscription else ():
            take(step, subscriber)
            if step == "run":
                time.run()
        time.run()


@pytest.mark.parametrize("new_publisher", PUBLISHERS)
@given(steps=steps)
def test_no_publisher_is_blamed_on_several_threads(
    new_publisher: NewPublisher, steps: Steps
) -> None:
    with ThreadPool(2) as pool:
        publisher = guard(new_publisher(pool))
        subscriber = Opened()
        with no_violation(publisher):
            publisher.subscribe(subscriber)
            assert subscriber.opened.wait(60)
            for step in steps:
                take(step, subscriber)
            pool.close()


class Opened(Recorder[int]):
    """Requests from the thread of the test, once it can."""

    def __init__(self) -> None:
        super().__init__()
        self.opened = Event()

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        self.opened.set()


class Sync(SyncSubscriber[int]):
    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.over = Event()

    def receive(self, element: int) -> bool:
        self.most -= 1
        if not self.most:
            self.over.set()
        return self.most > 0

    def completed(self) -> None:
        self.over.set()

    def failed(self, error: Exception) -> None:
        self.over.set()


class Async(AsyncSubscriber[int]):
    def __init__(self, most: int, executor: Executor, prefetch: int) -> None:
        super().__init__(executor, prefetch=prefetch)
        self.most = most
        self.over = Event()

    receive = Sync.receive
    completed = Sync.completed
    failed = Sync.failed


@pytest.mark.parametrize("new_publisher", PUBLISHERS)
@pytest.mark.parametrize("new_executor", [CallingThread, VirtualTime])
@given(most=st.integers(1, 25), prefetch=st.integers(1, 6), asynchronous=st.booleans())
def test_no_party_of_a_chain_is_blamed_on_one_thread(
    new_publisher: NewPublisher,
    new_executor: type[CallingThread | VirtualTime],
    most: int,
    prefetch: int,
    asynchronous: bool,
) -> None:
    executor = new_executor()
    subscriber = Async(most, executor, prefetch) if asynchronous else Sync(most)
    with whole_chain(new_publisher(executor), executor, subscriber):
        if isinstance(executor, VirtualTime):
            executor.run()
        assert subscriber.over.is_set()


@pytest.mark.parametrize("new_publisher", PUBLISHERS)
@given(most=st.integers(1, 25), prefetch=st.integers(1, 6), asynchronous=st.booleans())
def test_no_party_of_a_chain_is_blamed_on_several_threads(
    new_publisher: NewPublisher, most: int, prefetch: int, asynchronous: bool
) -> None:
    with ThreadPool(3) as pool:
        subscriber = Async(most, pool, prefetch) if asynchronous else Sync(most)
        with whole_chain(new_publisher(pool), pool, subscriber):
            assert subscriber.over.wait(60)
            pool.close()


@contextmanager
def whole_chain(
    source: Publisher[int], executor: Executor, sink: Subscriber[int]
) -> Iterator[None]:
    """A publisher, a processor and a subscriber, each with a guard around it."""
    publisher = guard(source)
    processor = guard(IdentityProcessor[int](3, executor=executor))
    subscriber = guard(sink)
    with no_violation(publisher, processor, subscriber):
        processor.subscribe(subscriber)
        publisher.subscribe(processor)
        yield
