"""A fast producer of a million elements and a slow consumer: what each operator piles up."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

from penstock import Flow, IterablePublisher, Subscription, VirtualTime

__all__ = ["report"]

PRODUCED = 1_000_000
TAKEN = 1_000
BAR_IN_BYTES = 2 * 1024 * 1024


class Slow:
    """Takes a few elements, one at a time, and then asks for nothing more."""

    def __init__(self) -> None:
        self.taken = 0

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription

    def on_next(self, element: object) -> None:
        self.taken += 1

    def on_error(self, error: Exception) -> None:
        pass

    def on_complete(self) -> None:
        pass


def growth(flow: Flow[Any], time: VirtualTime) -> int:
    """The most memory, in bytes, that a run held while its consumer dawdled."""
    slow = Slow()
    tracemalloc.start()
    flow.subscribe(slow)
    time.settle()
    for _ in range(TAKEN):
        slow.subscription.request(1)
        time.settle()
    _, peak = tracemalloc.get_traced_memory()
    slow.subscription.cancel()
    time.settle()
    tracemalloc.stop()
    return peak


def holders(time: VirtualTime) -> dict[str, Callable[[Flow[int]], Flow[Any]]]:
    """Every operator that holds elements, or could."""

    def never(_: object) -> Flow[int]:
        return Flow.never()

    return {
        "from_publisher": lambda flow: flow,
        "publish_on": lambda flow: flow.publish_on(time),
        "subscribe_on": lambda flow: flow.subscribe_on(time),
        "flat_map, of never-ending inners": lambda flow: flow.flat_map(never, concurrency=8),
        "flat_map": lambda flow: flow.flat_map(Flow.range),
        "concat_map": lambda flow: flow.concat_map(Flow.range),
        "switch_map": lambda flow: flow.switch_map(Flow.of),
        "merge": lambda flow: Flow.merge(flow, flow),
        "concat": lambda flow: Flow.concat(flow, flow),
        "zip, uneven": lambda flow: Flow.zip(flow, flow.filter(lambda x: x % 1000 == 0)),
        "combine_latest": lambda flow: Flow.combine_latest(flow, flow),
        "with_latest_from": lambda flow: flow.with_latest_from(flow),
        "race": lambda flow: Flow.race(flow, flow),
        "take_until": lambda flow: flow.take_until(Flow.never()),
        "buffer(size=100)": lambda flow: flow.buffer(size=100),
        "buffer(size=100, every=1)": lambda flow: flow.buffer(size=100, every=1, clock=time),
        "window(size=100)": lambda flow: flow.window(size=100),
        "group_by": lambda flow: flow.group_by(lambda x: x % 10, max_groups=10),
        "distinct_until_changed": lambda flow: flow.distinct_until_changed(),
        "on_backpressure_buffer(1000)": lambda flow: flow.on_backpressure_buffer(
            1000, overflow="drop_oldest"
        ),
        "on_backpressure_drop": lambda flow: flow.on_backpressure_drop(),
        "on_backpressure_latest": lambda flow: flow.on_backpressure_latest(),
        "conflate": lambda flow: flow.conflate(max),
        "limit_rate(100)": lambda flow: flow.limit_rate(100),
        "delay": lambda flow: flow.delay(1, clock=time),
        "debounce": lambda flow: flow.debounce(1, clock=time),
        "throttle": lambda flow: flow.throttle(1, clock=time),
        "timeout": lambda flow: flow.timeout(1, clock=time),
        "retry": lambda flow: flow.retry(3),
        "share": lambda flow: flow.share(),
        "publish().auto_connect()": lambda flow: flow.publish().auto_connect(),
        "replay(100)": lambda flow: flow.replay(100),
    }


def report() -> None:
    """Print the growth for each operator."""
    print(f"{PRODUCED:,} elements at once, {TAKEN:,} taken one by one: the most memory held, in KB")
    numbers = range(PRODUCED)
    for name in holders(VirtualTime()):
        time = VirtualTime()
        source = Flow.from_publisher(IterablePublisher(numbers))
        size = growth(holders(time)[name](source), time)
        print(f"{name:42} {size / 1024:8,.0f}  {'' if size <= BAR_IN_BYTES else 'MISSED'}")
