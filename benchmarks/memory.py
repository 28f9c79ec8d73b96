"""A fast producer of a million elements and a slow consumer: what each operator piles up."""

from __future__ import annotations

import asyncio
import os
import tracemalloc
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ProcessPoolExecutor
from operator import eq
from typing import Any, Final, TypeAlias

from penstock import UNBOUNDED, Flow, IterablePublisher, Subscription, VirtualTime
from penstock.flow import Emitter, SharedFlow

__all__ = ["report"]

PRODUCED: Final = 1_000_000
FIRST: Final = 10**9
"""Large enough for each number to be an object of its own."""
TAKEN: Final = 1_000
BAR_IN_BYTES: Final = 2 * 1024 * 1024

Source: TypeAlias = Flow[int]
Holder: TypeAlias = Callable[[Source, VirtualTime], Flow[Any]]


class Consumer:
    """Takes elements, and leaves it to others to ask for them."""

    subscription: Subscription

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription

    def on_next(self, element: object) -> None:
        pass

    def on_error(self, error: Exception) -> None:
        if not isinstance(error, OverflowError):  # by which a cache ends that is full
            raise error

    def on_complete(self) -> None:
        pass


class Fast(Consumer):
    """Asks for all."""

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(UNBOUNDED)


class Reader(Consumer):
    """Reads the flows that are its elements, all at once."""

    def on_next(self, element: object) -> None:
        if isinstance(element, Flow):
            element.subscribe(Fast())


def pushed(emitter: Emitter[int]) -> None:
    """Hand in a million elements, whether or not they are wanted."""
    for number in numbers():
        emitter.emit(number)


async def counted() -> AsyncIterator[int]:
    """A million elements of an asynchronous generator."""
    for number in numbers():
        yield number


async def awaited(x: int) -> int:
    """An element that takes a turn of the loop."""
    await asyncio.sleep(0)
    return x


def never(_: object) -> Flow[int]:
    """A flow that never ends."""
    return Flow.never()


def pair(x: int) -> Flow[int]:
    """A short flow."""
    return Flow.of(x, x)


HOLDERS: Final[dict[str, Holder]] = {
    "from_publisher": lambda flow, time: flow,
    "from_async_iterable": lambda flow, time: Flow.from_async_iterable(counted()),
    "create(overflow='drop_oldest')": lambda flow, time: Flow.create(
        pushed, overflow="drop_oldest", capacity=1000
    ),
    "create(overflow='latest')": lambda flow, time: Flow.create(pushed, overflow="latest"),
    "publish_on": lambda flow, time: flow.publish_on(time),
    "publish_on, after a loop": lambda flow, time: Flow.from_iterable(numbers()).publish_on(time),
    "subscribe_on": lambda flow, time: flow.subscribe_on(time),
    "map_async(concurrency=100)": lambda flow, time: flow.map_async(awaited, concurrency=100),
    "flat_map": lambda flow, time: flow.flat_map(pair),
    "flat_map, of never-ending inners": lambda flow, time: flow.flat_map(never, concurrency=8),
    "flat_map_sequential": lambda flow, time: flow.flat_map_sequential(pair),
    "flat_map_sequential, ahead of its turn": lambda flow, time: flow.flat_map_sequential(
        lambda x: Flow.never() if x == FIRST else flow
    ),
    "concat_map": lambda flow, time: flow.concat_map(pair),
    "switch_map": lambda flow, time: flow.switch_map(Flow.of),
    "exhaust_map": lambda flow, time: flow.exhaust_map(pair),
    "expand": lambda flow, time: flow.expand(pair),
    "flat_map_iterable": lambda flow, time: flow.flat_map_iterable(lambda x: (x, x)),
    "merge": lambda flow, time: Flow.merge(flow, flow),
    "concat": lambda flow, time: Flow.concat(flow, flow),
    "zip, uneven": lambda flow, time: Flow.zip(flow, flow.filter(lambda x: x % 1000 == 0)),
    "combine_latest": lambda flow, time: Flow.combine_latest(flow, flow),
    "with_latest_from": lambda flow, time: flow.with_latest_from(flow),
    "race": lambda flow, time: Flow.race(flow, flow),
    "take_until": lambda flow, time: flow.take_until(Flow.never()),
    "skip_until": lambda flow, time: flow.skip_until(Flow.empty()),
    "buffer(size=100)": lambda flow, time: flow.buffer(size=100),
    "buffer(size=100, every=1)": lambda flow, time: flow.buffer(size=100, every=1, clock=time),
    "buffer(size=100, step=1)": lambda flow, time: flow.buffer(size=100, step=1),
    "buffer(until=...)": lambda flow, time: flow.buffer(until=lambda x: x % 100 == 0),
    "window(size=100), not read": lambda flow, time: flow.window(size=100),
    "window(size=100), read": lambda flow, time: flow.window(size=100),
    "window(size=100, step=10), not read": lambda flow, time: flow.window(size=100, step=10),
    "window(size=100, step=10), read": lambda flow, time: flow.window(size=100, step=10),
    "group_by, not read": lambda flow, time: flow.group_by(lambda x: x % 10, max_groups=10),
    "group_by, read": lambda flow, time: flow.group_by(lambda x: x % 10, max_groups=10),
    "pairwise": lambda flow, time: flow.pairwise(),
    "take_last(1000)": lambda flow, time: flow.take_last(1000),
    "skip_last(1000)": lambda flow, time: flow.skip_last(1000),
    "distinct_until_changed": lambda flow, time: flow.distinct_until_changed(),
    "distinct_until_changed(equal=...)": lambda flow, time: flow.distinct_until_changed(equal=eq),
    "scan, without a seed": lambda flow, time: flow.scan(max),
    "reduce, without a seed": lambda flow, time: flow.reduce(max),
    "enumerate": lambda flow, time: flow.enumerate(),
    "take_while(inclusive=True)": lambda flow, time: flow.take_while(bool, inclusive=True),
    "contains": lambda flow, time: flow.contains(0),
    "timestamp": lambda flow, time: flow.timestamp(clock=time),
    "elapsed": lambda flow, time: flow.elapsed(clock=time),
    "materialize": lambda flow, time: flow.materialize(),
    "on_error_continue": lambda flow, time: flow.map(lambda x: 1 // (x % 2)).on_error_continue(
        lambda element, error: None
    ),
    "on_backpressure_buffer(1000)": lambda flow, time: flow.on_backpressure_buffer(
        1000, overflow="drop_oldest"
    ),
    "on_backpressure_drop": lambda flow, time: flow.on_backpressure_drop(),
    "on_backpressure_latest": lambda flow, time: flow.on_backpressure_latest(),
    "conflate": lambda flow, time: flow.conflate(max),
    "limit_rate(100)": lambda flow, time: flow.limit_rate(100),
    "delay": lambda flow, time: flow.delay(1, clock=time),
    "delay_subscription": lambda flow, time: flow.delay_subscription(Flow.of("go")),
    "debounce": lambda flow, time: flow.debounce(1, clock=time),
    "throttle": lambda flow, time: flow.throttle(1, clock=time),
    "throttle(last=True)": lambda flow, time: flow.throttle(1, last=True, clock=time),
    "sample": lambda flow, time: flow.sample(1, clock=time),
    "space_out": lambda flow, time: flow.space_out(1, elements=1000, clock=time),
    "timeout": lambda flow, time: flow.timeout(1, clock=time),
    "retry": lambda flow, time: flow.retry(3),
    "repeat": lambda flow, time: flow.repeat(2),
    "share": lambda flow, time: flow.share(),
    "publish().auto_connect(2)": lambda flow, time: flow.publish().auto_connect(2),
    "publish().ref_count(2)": lambda flow, time: flow.publish().ref_count(2),
    "replay(1000)": lambda flow, time: flow.replay(1000),
    "replay(1000, within=1)": lambda flow, time: flow.replay(1000, within=1, clock=time),
    "cache(1000), which ends there": lambda flow, time: flow.cache(1000),
}
"""Every operator that holds elements, or could.

Left out are those whose result is all elements: ``to_list``, ``collect``; and ``distinct``, whose
capacity is what the user allows. A shared flow has a fast subscriber beside the slow one.
"""


def numbers() -> range:
    """The elements."""
    return range(FIRST, FIRST + PRODUCED)


def growth(name: str) -> int:
    """The most memory, in bytes, that a run held while its consumer dawdled.

    The second of two: modules that are loaded when they are needed are not what a run piles up.
    """
    return [asyncio.run(measured(name)) for _ in range(2)][-1]


async def measured(name: str) -> int:
    """The same on a loop, for those that need one."""
    time = VirtualTime()
    slow = Reader() if name.endswith(", read") else Consumer()
    source = Flow.from_publisher(IterablePublisher(numbers()))
    await settled(time)
    tracemalloc.start()
    flow = HOLDERS[name](source, time)
    flow.subscribe(slow)
    if isinstance(flow, SharedFlow):
        flow.subscribe(Fast())
    await settled(time)
    for _ in range(TAKEN):
        slow.subscription.request(1)
        await settled(time)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    slow.subscription.cancel()
    await settled(time)
    return peak


async def settled(time: VirtualTime) -> None:
    """Let all go on that can."""
    time.settle()
    await asyncio.sleep(0)


def report() -> None:
    """Print the growth for each operator; some of them take half a minute."""
    print(f"{PRODUCED:,} elements at once, {TAKEN:,} taken one by one: the most memory held, in KB")
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        for name, size in zip(HOLDERS, processes.map(growth, HOLDERS), strict=True):
            verdict = "" if size <= BAR_IN_BYTES else "MISSED"
            print(f"{name:42} {size / 1024:8,.0f}  {verdict}", flush=True)
