"""``await flow``, ``async for`` and ``run_sync``: what they give, and how they leave."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest

from penstock import Flow, ThreadPool
from penstock.testing import ManualPublisher
from tests.flow.unit.loops import run, turns


async def double(x: int) -> int:
    await asyncio.sleep(0)
    return x * 2


# await


def test_await_gives_the_only_element() -> None:
    async def main() -> int | None:
        return await Flow.of(7)

    assert run(main()) == 7


def test_await_of_an_empty_flow_gives_none() -> None:
    async def main() -> object:
        return await Flow.empty()

    assert run(main()) is None


def test_await_refuses_a_second_element_and_says_what_to_use() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        task = asyncio.ensure_future(Flow.from_publisher(publisher))
        await turns()
        publisher.next(1, 2)
        with pytest.raises(ValueError, match=r"a second.*flow\.last\(\).*flow\.to_list\(\)"):
            await task

    run(main())
    assert publisher.requested == 2
    assert publisher.cancelled


def test_await_raises_what_failed_with_a_note_of_the_operator() -> None:
    async def main() -> None:
        await Flow.of(0).map(lambda x: 1 / x)

    with pytest.raises(ZeroDivisionError) as caught:
        run(main())
    assert "in map, assembled at" in caught.value.__notes__[0]


def test_each_await_is_a_run_of_its_own() -> None:
    async def main() -> list[int | None]:
        flow = Flow.of(1).map_async(double)
        return [await flow, *await asyncio.gather(flow, flow)]

    assert run(main()) == [2, 2, 2]


# async for


def test_async_for_gives_all_elements_in_order() -> None:
    async def main() -> list[int]:
        return [x async for x in Flow.range(1000).map(lambda x: x + 1)]

    assert run(main()) == list(range(1, 1001))


def test_async_for_takes_elements_that_come_from_other_threads() -> None:
    async def main(threads: ThreadPool) -> list[int]:
        return [x async for x in Flow.range(2000).subscribe_on(threads).publish_on(threads)]

    with ThreadPool(2) as threads:
        assert run(main(threads)) == list(range(2000))


def test_async_for_is_woken_by_an_element_from_another_thread() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    def produce() -> None:
        publisher.await_requested(256)
        publisher.next(1)
        publisher.next(2)
        publisher.complete()

    async def main() -> list[int]:
        return [x async for x in Flow.from_publisher(publisher)]

    thread = threading.Thread(target=produce)
    thread.start()
    assert run(main()) == [1, 2]
    thread.join()


def test_async_for_asks_for_a_bounded_number_ahead() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        async with aclosing(aiter(Flow.from_publisher(publisher))) as elements:
            first = asyncio.ensure_future(anext(elements))
            await turns()
            publisher.next(*range(256))
            assert await first == 0
            assert publisher.requested == 256

    run(main())


def test_async_for_lets_others_run_while_elements_are_there() -> None:
    async def main() -> None:
        events: list[str] = []

        async def other() -> None:
            events.append("other")

        task = asyncio.create_task(other())
        async for x in Flow.range(1000):
            if x == 999:
                events.append("last")
        await task
        assert events == ["other", "last"]

    run(main())


def test_breaking_out_of_async_for_cancels_upstream() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: publisher.next(1))
        async for _ in Flow.from_publisher(publisher):
            break
        await turns()
        assert publisher.cancelled

    run(main())


def test_closing_the_iterator_cancels_upstream_at_once() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: publisher.next(1))
        async with aclosing(aiter(Flow.from_publisher(publisher))) as elements:
            await anext(elements)
        assert publisher.cancelled

    run(main())


def test_an_iterator_that_nobody_refers_to_cancels_upstream() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        asyncio.get_running_loop().call_soon(lambda: publisher.next(1))
        elements = aiter(Flow.from_publisher(publisher))
        await anext(elements)
        del elements
        await turns()
        assert publisher.cancelled

    run(main())


@pytest.mark.parametrize("awaits", [True, False], ids=["await", "async for"])
def test_a_cancelled_task_cancels_upstream(awaits: bool) -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(publisher)

    async def wait() -> None:
        if awaits:
            await flow
        else:
            async for _ in flow:
                pass

    async def main() -> None:
        task = asyncio.create_task(wait())
        await turns()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert publisher.cancelled

    run(main())


def test_leaving_async_for_waits_until_an_asynchronous_source_is_closed() -> None:
    events: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            await turns()
            events.append("closed")

    async def main() -> None:
        async with aclosing(aiter(Flow.from_async_iterable(numbers()))) as elements:
            await anext(elements)
        assert events == ["closed"]

    run(main())


def test_an_element_after_the_loop_has_closed_disturbs_nobody() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def wait() -> None:
        await Flow.from_publisher(publisher)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, report: None)  # of the task that is left pending
    waiting = wait()
    task = loop.create_task(waiting)
    loop.run_until_complete(turns())
    loop.close()
    publisher.next(1)
    assert not task.done()
    waiting.close()
    assert publisher.cancelled


def test_a_flow_that_was_iterated_is_freed_without_the_collector() -> None:
    async def main() -> weakref.ref[Flow[int]]:
        flow = Flow.range(3).map_async(double, concurrency=2)
        assert [x async for x in flow] == [0, 2, 4]
        return weakref.ref(flow)

    gc.collect()
    gc.disable()
    try:
        assert run(main())() is None
    finally:
        gc.enable()


# run_sync


def test_run_sync_gives_the_last_element() -> None:
    assert Flow.range(5).run_sync() == 4
    assert Flow.empty().run_sync() is None


def test_run_sync_brings_a_loop_for_what_needs_one() -> None:
    assert Flow.range(5).map_async(double, concurrency=3).to_list().run_sync() == [0, 2, 4, 6, 8]


def test_run_sync_brings_a_loop_for_what_is_found_out_on_another_thread() -> None:
    with ThreadPool(2) as threads:
        flow = Flow.range(3).subscribe_on(threads).map_async(double).publish_on(threads)
        assert flow.map(str).to_list().run_sync() == ["0", "2", "4"]


def test_run_sync_brings_one_loop_for_all_parts_of_a_run() -> None:
    loops: set[Any] = set()

    async def seen(x: int) -> int:
        loops.add(asyncio.get_running_loop())
        return x

    Flow.range(3).map_async(seen).map_async(seen).flat_map(
        lambda x: Flow.of(x).map_async(seen)
    ).run_sync()
    assert len(loops) == 1
    assert loops.pop().is_closed()


def test_run_sync_closes_an_asynchronous_source_before_it_returns() -> None:
    events: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            while True:
                yield 1
        finally:
            await turns()
            events.append("closed")

    assert Flow.from_async_iterable(numbers()).take(2).count().run_sync() == 2
    assert events == ["closed"]


def test_run_sync_does_not_disturb_a_source_that_is_closing() -> None:
    events: list[str] = []

    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            yield 2
        finally:
            events.append("closing")
            await turns(100)
            events.append("closed")

    one = Flow.from_async_iterable(numbers()).take(1)
    assert Flow.concat(one, Flow.of(5).map_async(double)).to_list().run_sync() == [1, 10]
    assert events == ["closing", "closed"]


async def one_between_turns(before: int, after: int) -> AsyncIterator[int]:
    for _ in range(before):
        await asyncio.sleep(0)
    yield 1
    for _ in range(after):
        await asyncio.sleep(0)


@pytest.mark.parametrize("other", range(4))
@pytest.mark.parametrize("one", range(4))
def test_run_sync_is_not_stopped_by_a_source_that_gives_an_element_too_many(
    one: int, other: int
) -> None:
    sources = (Flow.from_async_iterable(one_between_turns(turns, 9)) for turns in (one, other))
    assert Flow.merge(*sources).take(1).run_sync() == 1


@pytest.mark.parametrize("after", range(4))
def test_run_sync_returns_when_a_source_ends_some_turns_after_its_last_element(after: int) -> None:
    assert Flow.from_async_iterable(one_between_turns(2, after)).run_sync() == 1


def test_run_sync_within_a_loop_runs_what_needs_not_wait() -> None:
    async def main() -> int | None:
        return Flow.range(3).flat_map(lambda x: Flow.of(x, x)).count().run_sync()

    assert run(main()) == 6


@pytest.mark.parametrize("where", ["map_async", "subscribe_on", "from_publisher"])
def test_run_sync_within_a_loop_refuses_to_wait_and_says_what_to_use(where: str) -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main(threads: ThreadPool) -> None:
        flow: Flow[int] = {
            "map_async": Flow.of(1).map_async(double),
            "subscribe_on": Flow.never().subscribe_on(threads),
            "from_publisher": Flow.from_publisher(publisher),
        }[where]
        with pytest.raises(RuntimeError, match=r"run_sync\(\) would block.*use `await flow`"):
            flow.run_sync()

    with ThreadPool() as threads:
        run(main(threads))
    assert publisher.cancelled == (where == "from_publisher")


def test_the_repr_of_a_flow_names_its_operators() -> None:
    flow = Flow.range(9).map(str).filter(len)
    assert repr(flow) == "<Flow: range map filter>"
    assert repr(Flow.merge(flow, flow).take(2)) == "<Flow: merge take>"


def test_the_repr_of_a_long_flow_names_both_ends() -> None:
    flow = Flow.of(2, 1).map(str).filter(len).skip(1).take(1).map(int).distinct().scan(0, max)
    assert repr(flow.last().count()) == "<Flow: of map filter ... scan last count>"
