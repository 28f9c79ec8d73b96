"""How far ahead elements are read between two threads: further, as long as the taker keeps up."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import aclosing
from itertools import count
from typing import Any

import pytest

from penstock import ThreadPool, VirtualTime
from penstock.flow import Flow
from penstock.testing import ManualPublisher, ManualSubscriber

FIRST, LARGEST = 256, 4096


class Crossing:
    """A publisher, and a subscriber on the other side of ``publish_on``."""

    def __init__(self, prefetch: int | None = None, *, request: int = 10**6) -> None:
        self.time = VirtualTime()
        self.publisher: ManualPublisher[int] = ManualPublisher()
        self.subscriber: ManualSubscriber[int] = ManualSubscriber(request=request)
        self.numbers = count()
        flow = Flow.from_publisher(self.publisher)
        flow.publish_on(self.time, prefetch).subscribe(self.subscriber)
        self.time.settle()

    def send(self, elements: int) -> None:
        """Push so many at once, and let them cross."""
        for _ in range(elements):
            self.publisher.next(next(self.numbers))
        self.time.settle()

    def send_all(self) -> int:
        """Push all that was asked for; how many that was."""
        asked: int = self.publisher.outstanding
        self.send(asked)
        return asked

    @property
    def delivered(self) -> int:
        elements = self.subscriber.elements
        assert elements == list(range(len(elements)))
        return len(elements)


def test_the_first_portion_is_that_of_every_other_boundary() -> None:
    assert Crossing().publisher.outstanding == FIRST


def test_more_is_asked_for_while_the_taker_keeps_up() -> None:
    crossing = Crossing()
    portions = [crossing.send_all() for _ in range(30)]
    assert max(portions) > LARGEST // 2
    assert crossing.delivered == sum(portions)


def test_never_more_than_the_bound_is_on_its_way() -> None:
    crossing = Crossing()
    for _ in range(40):
        crossing.send_all()
        assert crossing.publisher.requested - crossing.delivered <= LARGEST


def test_a_taker_that_falls_behind_holds_no_more_than_the_bound() -> None:
    crossing = Crossing(request=20_000)
    for _ in range(30):
        crossing.send_all()
    assert crossing.delivered == 20_000
    assert crossing.publisher.requested - crossing.delivered <= LARGEST


@pytest.mark.parametrize("prefetch", [1, 2, FIRST, 1000])
def test_a_given_prefetch_is_never_exceeded(prefetch: int) -> None:
    crossing = Crossing(prefetch)
    for _ in range(30):
        crossing.send_all()
        assert crossing.publisher.requested - crossing.delivered <= prefetch


def test_a_slow_taker_gets_no_more_room() -> None:
    crossing = Crossing(request=1)
    for _ in range(2_000):
        crossing.send_all()
        assert crossing.publisher.requested - crossing.delivered <= FIRST
        crossing.subscriber.request(1)
        crossing.time.settle()


def test_a_slow_publisher_is_asked_for_no_more() -> None:
    crossing = Crossing()
    for _ in range(2_000):
        crossing.send(1)
        assert crossing.publisher.outstanding <= FIRST


def test_what_was_read_ahead_is_discarded_when_the_flow_is_left() -> None:
    discarded: list[int] = []
    time = VirtualTime()
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=3_000)
    flow = Flow.from_publisher(publisher).publish_on(time).do_on_discard(discarded.append)
    flow.subscribe(subscriber)
    sent = 0
    for _ in range(20):
        asked = publisher.outstanding
        publisher.next(*range(sent, sent + asked))
        sent += asked
        time.settle()
    subscriber.cancel()
    time.settle()
    assert len(discarded) > FIRST
    assert [*subscriber.elements, *discarded] == list(range(sent))


def by_blocking(flow: Flow[Any], taken: int) -> None:
    with flow.blocking() as elements:
        for _ in range(taken):
            next(elements)


def by_async_for(flow: Flow[Any], taken: int) -> None:
    async def main() -> None:
        async with aclosing(aiter(flow)) as elements:
            for _ in range(taken):
                await anext(elements)

    asyncio.run(main())


@pytest.mark.parametrize("taking", [by_blocking, by_async_for])
def test_a_loop_over_another_thread_reads_ahead_within_the_bound(
    taking: Callable[[Flow[Any], int], None],
) -> None:
    made: list[int] = []
    with ThreadPool() as threads:
        taking(Flow.range(100_000).do_on_next(made.append).subscribe_on(threads), 20_000)
    assert 20_000 <= len(made) <= 20_000 + LARGEST


@pytest.mark.parametrize("taking", [by_blocking, by_async_for])
def test_a_loop_over_a_foreign_publisher_reads_no_further_ahead_than_ever(
    taking: Callable[[Flow[Any], int], None],
) -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    portions: list[int] = []

    def produce() -> None:
        while sum(portions) < 1_500:
            publisher.await_requested(sum(portions) + 1)
            portions.append(publisher.outstanding)
            publisher.next(*range(portions[-1]))

    thread = threading.Thread(target=produce)
    thread.start()
    taking(Flow.from_publisher(publisher), 1_500)
    thread.join()
    assert max(portions) <= FIRST


def test_what_is_subscribed_on_a_thread_waits_as_its_upstream_does() -> None:
    synchronous = Flow.range(3).subscribe_on(VirtualTime())
    assert not synchronous.plan.origin.waits
    moved = synchronous.plan.origin.over(Flow.from_publisher(ManualPublisher[int]()))
    assert moved.waits
