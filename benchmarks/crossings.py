"""From thread to thread and into an event loop, several sources, several subscribers."""

from __future__ import annotations

import asyncio
import operator
import queue
import threading
from collections.abc import Callable

import aiostream
import janus
import reactivex
import reactivex.operators as rx
from reactivex.scheduler import NewThreadScheduler

from benchmarks.bar import Bench, Peer
from benchmarks.parties import Adder
from penstock import ExecutorPublisher, Flow, Subscriber, ThreadPool

__all__ = ["BENCHES"]

ELEMENTS = 100_000
FEW = 5_000
SIDE = 300
SOURCES = 10


def bare_sum() -> int:
    total = 0
    for x in range(ELEMENTS):
        total += x
    return ELEMENTS


def hop() -> int:
    with ThreadPool() as back:
        Flow.range(ELEMENTS).publish_on(back).reduce(0, operator.add).run_sync()
    return ELEMENTS


def two_threads() -> int:
    with ThreadPool() as front, ThreadPool() as back:
        made = Flow.range(ELEMENTS).subscribe_on(front)
        made.publish_on(back).reduce(0, operator.add).run_sync()
    return ELEMENTS


class Pushing:
    """A foreign publisher that pushes from its own thread, as fast as it is asked to."""

    def __init__(self, executor: ThreadPool) -> None:
        self._publisher = ExecutorPublisher(range(ELEMENTS), executor)

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self._publisher.subscribe(subscriber)


def foreign_hop() -> int:
    with ThreadPool() as front, ThreadPool() as back:
        pushed = Flow.from_publisher(Pushing(front))
        pushed.publish_on(back).reduce(0, operator.add).run_sync()
    return ELEMENTS


def by_queue() -> int:
    line: queue.Queue[int | None] = queue.Queue(1024)

    def produce() -> None:
        for x in range(ELEMENTS):
            line.put(x)
        line.put(None)

    thread = threading.Thread(target=produce)
    thread.start()
    total = 0
    while (x := line.get()) is not None:
        total += x
    thread.join()
    return ELEMENTS


def by_reactivex() -> int:
    done = threading.Event()
    source = reactivex.from_iterable(range(FEW))
    source.pipe(rx.observe_on(NewThreadScheduler())).subscribe(
        on_next=ignore, on_completed=done.set
    )
    done.wait()
    return FEW


def ignore(x: object) -> None:
    pass


def thread_to_loop() -> int:
    async def consume() -> None:
        total = 0
        with ThreadPool() as front:
            async for x in Flow.range(ELEMENTS).subscribe_on(front):
                total += x

    asyncio.run(consume())
    return ELEMENTS


def by_janus() -> int:
    async def consume() -> None:
        line: janus.Queue[int | None] = janus.Queue(1024)

        def produce() -> None:
            for x in range(FEW):
                line.sync_q.put(x)
            line.sync_q.put(None)

        thread = threading.Thread(target=produce)
        thread.start()
        total = 0
        while (x := await line.async_q.get()) is not None:
            total += x
        await asyncio.to_thread(thread.join)
        await line.aclose()

    asyncio.run(consume())
    return FEW


def bare_nested() -> int:
    total = 0
    for _ in range(SIDE):
        for x in range(SIDE):
            total += x
    return SIDE * SIDE


def flat_map() -> int:
    inner = Flow.range(SIDE)
    Flow.range(SIDE).flat_map(lambda _: inner).reduce(0, operator.add).run_sync()
    return SIDE * SIDE


def flat_map_by_reactivex() -> int:
    inner = reactivex.from_iterable(range(SIDE))
    reactivex.from_iterable(range(SIDE)).pipe(rx.flat_map(lambda _: inner)).subscribe(ignore)
    return SIDE * SIDE


def flat_map_by_aiostream() -> int:
    async def consume() -> None:
        outer = aiostream.stream.range(70)
        await aiostream.stream.flatmap(outer, lambda _: aiostream.stream.range(70))

    asyncio.run(consume())
    return 70 * 70


def merge() -> int:
    sources = [Flow.range(ELEMENTS // SOURCES) for _ in range(SOURCES)]
    Flow.merge(*sources).reduce(0, operator.add).run_sync()
    return ELEMENTS


def merge_by_reactivex() -> int:
    sources = [reactivex.from_iterable(range(ELEMENTS // SOURCES)) for _ in range(SOURCES)]
    reactivex.merge(*sources).subscribe(ignore)
    return ELEMENTS


def merge_by_aiostream() -> int:
    async def consume() -> None:
        sources = [aiostream.stream.range(FEW // SOURCES) for _ in range(SOURCES)]
        await aiostream.stream.merge(*sources)

    asyncio.run(consume())
    return FEW


def bare_zip() -> int:
    total = 0
    for x, y in zip(range(ELEMENTS), range(ELEMENTS), strict=True):
        total += x + y
    return ELEMENTS


def zipped() -> int:
    pairs = Flow.zip(Flow.range(ELEMENTS), Flow.range(ELEMENTS))
    pairs.reduce(0, lambda total, pair: total + pair[0] + pair[1]).run_sync()
    return ELEMENTS


def zip_by_reactivex() -> int:
    total = 0

    def add(pair: tuple[int, int]) -> None:
        nonlocal total
        total += pair[0] + pair[1]

    left, right = (reactivex.from_iterable(range(FEW)) for _ in range(2))
    reactivex.zip(left, right).subscribe(add)
    return FEW


def callbacks(subscribers: int) -> Callable[[], int]:
    """A loop that calls each of them with each element."""
    count = ELEMENTS // subscribers

    def run() -> int:
        calls = [Adder().on_next for _ in range(subscribers)]
        for x in range(count):
            for call in calls:
                call(x)
        return count * subscribers

    return run


def multicast(subscribers: int, elements: int = 0) -> Callable[[], int]:
    """One run for so many subscribers."""
    count = elements or ELEMENTS // subscribers

    def run() -> int:
        shared = Flow.range(count).publish()
        for _ in range(subscribers):
            shared.subscribe(Adder())
        shared.connect()
        return count * subscribers

    return run


def multicast_by_reactivex(subscribers: int) -> Callable[[], int]:
    """The same by a subject."""
    count = ELEMENTS // subscribers

    def run() -> int:
        shared = reactivex.from_iterable(range(count)).pipe(rx.publish())
        for _ in range(subscribers):
            shared.subscribe(ignore)
        shared.connect()
        return count * subscribers

    return run


HOPPING_REACTIVEX = Peer("reactivex observe_on", by_reactivex)
QUEUE = Peer("queue.Queue(1024)", by_queue)

BENCHES = [
    Bench("c  publish_on, fused", hop, bare_sum, 2.7, {QUEUE: 15, HOPPING_REACTIVEX: 115}),
    Bench("c  two threads at work", two_threads, bare_sum, 4.0, {QUEUE: 15}),
    Bench("c  thread to thread, a foreign publisher", foreign_hop, bare_sum, 5.0, {QUEUE: 7}),
    Bench("c  thread to asyncio, async for", thread_to_loop, bare_sum, 5.0,
          {Peer("janus", by_janus): 90}),
    Bench("e  flat_map", flat_map, bare_nested, 2.5,
          {Peer("reactivex flat_map", flat_map_by_reactivex): 6.5,
           Peer("aiostream flatmap", flat_map_by_aiostream): 260}),
    Bench("f  merge of 10", merge, bare_sum, 2.5,
          {Peer("reactivex merge", merge_by_reactivex): 6.5,
           Peer("aiostream merge", merge_by_aiostream): 260}),
    Bench("h  zip", zipped, bare_zip, 2.3, {Peer("reactivex zip", zip_by_reactivex): 35}),
    *(
        Bench(f"g  multicast to {count}", multicast(count), callbacks(count), 1.15,
              {Peer(f"reactivex, {count}", multicast_by_reactivex(count)): 2.7}
              if count == 100 else {})
        for count in (1, 10, 100)
    ),
]  # fmt: skip
