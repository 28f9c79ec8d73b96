"""Operators of time upstream of what is busy: not to pull is backpressure, so they stand still."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock import VirtualTime
from penstock.flow import Flow
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.flow.unit.loops import run, turns


def after_a_while(x: str, time: VirtualTime) -> Flow[str]:
    return Flow.interval(40, clock=time).take(1).map(lambda _: x)


async def awaited(x: str, time: VirtualTime) -> str:
    return await after_a_while(x, time) or ""


BUSY: dict[str, Callable[[Flow[str], VirtualTime], Flow[str]]] = {
    "concat_map": lambda flow, time: flow.concat_map(lambda x: after_a_while(x, time)),
    "flat_map": lambda flow, time: flow.flat_map(lambda x: after_a_while(x, time), concurrency=1),
    "map_async": lambda flow, time: flow.map_async(lambda x: awaited(x, time)),
}
TIMED: dict[str, Callable[[Flow[str], VirtualTime], Flow[str]]] = {
    "debounce": lambda flow, time: flow.debounce(5, clock=time),
    "throttle": lambda flow, time: flow.throttle(5, last=True, clock=time),
    "sample": lambda flow, time: flow.sample(5, clock=time),
}


async def what_comes(timed: str, downstream: str, *, buffered: bool) -> list[str]:
    """Of elements that come 15 seconds apart, what passes an operator of time and a busy one."""
    time, publisher = VirtualTime(), ManualPublisher[str]()
    flow = TIMED[timed](Flow.from_publisher(publisher), time)
    if buffered:
        flow = flow.on_backpressure_buffer(10)
    subscriber = ManualSubscriber[str](request=100)
    BUSY[downstream](flow, time).subscribe(subscriber)
    for element in "abcd":
        publisher.next(element)
        for _ in range(15):
            time.advance(1)
            await turns()
    publisher.complete()
    while not subscriber.ended:
        time.advance(1)
        await turns()
    return subscriber.elements


@pytest.mark.parametrize("downstream", BUSY)
@pytest.mark.parametrize("timed", TIMED)
def test_what_counts_time_stands_still_upstream_of_what_is_busy(
    timed: str, downstream: str
) -> None:
    assert run(what_comes(timed, downstream, buffered=False)) == ["a", "d"]


@pytest.mark.parametrize("downstream", BUSY)
@pytest.mark.parametrize("timed", TIMED)
def test_a_buffer_lets_what_counts_time_go_on_upstream_of_what_is_busy(
    timed: str, downstream: str
) -> None:
    assert run(what_comes(timed, downstream, buffered=True)) == ["a", "b", "c", "d"]
