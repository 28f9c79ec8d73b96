"""The reference classes inside an asyncio program, where the loop runs already."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock import UNBOUNDED, Broadcast, ExecutorPublisher, IdentityProcessor, IterablePublisher
from penstock.runtime import AsyncioLoop, ThreadPool
from tests.rules.consumers import Async
from tests.rules.parties import PATIENCE, Recorder

pytestmark = pytest.mark.usefixtures("undelivered")


def test_a_publisher_on_the_running_loop_lets_other_coroutines_have_their_turn() -> None:
    async def program() -> tuple[Recorder, int]:
        done, turns = asyncio.Event(), 0
        recorder = Recorder(UNBOUNDED, on_complete=lambda _: done.set())
        ExecutorPublisher(range(100), AsyncioLoop(), batch=10).subscribe(recorder)
        while not done.is_set():
            turns += 1
            await asyncio.sleep(0)
        return recorder, turns

    recorder, turns = asyncio.run(program())
    assert recorder.elements == list(range(100))
    assert turns >= 10
    assert recorder.faults == []


def test_elements_of_a_pool_arrive_on_the_thread_of_the_loop() -> None:
    places: set[int] = set()

    async def program(pool: ThreadPool) -> Recorder:
        done = asyncio.Event()
        recorder = Recorder(
            UNBOUNDED,
            on_next=lambda _: places.add(threading.get_ident()),
            on_complete=lambda _: done.set(),
        )
        processor = IdentityProcessor[int](8, executor=AsyncioLoop())
        processor.subscribe(recorder)
        ExecutorPublisher(range(300), pool).subscribe(processor)
        await asyncio.wait_for(done.wait(), PATIENCE)
        return recorder

    with ThreadPool(2) as pool:
        recorder = asyncio.run(program(pool))
    assert recorder.elements == list(range(300))
    assert places == {threading.get_ident()}
    assert recorder.faults == []


def test_an_async_subscriber_on_the_loop_takes_from_a_broadcast() -> None:
    async def program() -> Async:
        done = asyncio.Event()

        def until_the_end(element: object) -> bool:
            if element == 49:
                done.set()
            return True

        subscriber = Async(AsyncioLoop(), until_the_end)
        Broadcast[int](4, source=IterablePublisher(range(50))).subscribe(subscriber)
        await asyncio.wait_for(done.wait(), PATIENCE)
        return subscriber

    assert asyncio.run(program()).elements == list(range(50))


def test_a_loop_that_is_closed_is_an_error_after_on_subscribe() -> None:
    loop = asyncio.new_event_loop()
    executor = AsyncioLoop(loop)
    loop.close()
    recorder = Recorder(1)
    ExecutorPublisher(range(3), executor).subscribe(recorder)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert "takes no more tasks" in str(recorder.error)
