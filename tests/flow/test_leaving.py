"""Every operator downstream of an asynchronous source that has to clean up: leaving waits for it.

Otherwise the end of the loop, by ``asyncio.run`` for instance, cuts the cleanup off.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing
from typing import Any

import pytest

from penstock import ThreadPool
from penstock.flow import Flow
from tests.flow.all_cases import ALL_CASES
from tests.flow.case import Case
from tests.flow.cases.asynchronous import CASES as ON_ANOTHER_LOOP
from tests.flow.unit.loops import turns

Leave = Callable[[Flow[Any]], None]


class Cleaning:
    """Numbers for which something is opened, and closed again, which takes its time.

    ``waits``  whether each of them has to be waited for, and not only the cleanup
    """

    def __init__(self, *, waits: bool) -> None:
        self._waits = waits
        self.opened = 0
        self.closed = 0

    async def __aiter__(self) -> AsyncIterator[int]:
        self.opened += 1
        try:
            for number in range(1, 2_000):
                if self._waits:
                    await asyncio.sleep(0)
                yield number
        finally:
            await turns(20)
            self.closed += 1


def leave_await(flow: Flow[Any]) -> None:
    async def main() -> None:
        await flow.first()

    asyncio.run(main())


def leave_async_for(flow: Flow[Any]) -> None:
    async def main() -> None:
        async with aclosing(aiter(flow)) as elements:
            async for _ in elements:
                break

    asyncio.run(main())


def leave_blocking(flow: Flow[Any]) -> None:
    for _ in flow.blocking():
        break


WAYS: dict[str, Leave] = {
    "await": leave_await,
    "async for": leave_async_for,
    "run_sync": lambda flow: flow.first().run_sync(),
    "blocking": leave_blocking,
}
every_way = pytest.mark.parametrize("leave", WAYS.values(), ids=list(WAYS))


@pytest.mark.parametrize("waits", [False, True], ids=["at hand", "waited for"])
@every_way
@pytest.mark.parametrize(
    "case", [case for case in ALL_CASES if case not in ON_ANOTHER_LOOP], ids=lambda case: case.name
)
def test_an_asynchronous_source_is_closed_when_the_flow_has_been_left(
    case: Case, leave: Leave, waits: bool
) -> None:
    source = Cleaning(waits=waits)
    leave(case.apply(Flow.from_async_iterable(source)))
    assert source.closed == source.opened


BETWEEN: dict[str, Callable[[Flow[int]], Flow[Any]]] = {
    "share of a share": lambda flow: flow.share().map(int).share(),
    "take upstream of share": lambda flow: flow.take(3).share(),
    "share within concat_map": lambda flow: Flow.of(1).concat_map(lambda _: flow.share()),
    "share within using": lambda flow: Flow.using(open_nothing, lambda _: flow.share()),
    "share that is iterated": lambda flow: Flow.from_async_iterable(flow.share()),
    "share beside another flow": lambda flow: flow.share().merge(Flow.never()),
    "share within zip": lambda flow: Flow.range(9).zip(flow.share()),
    "share of another thread": lambda flow: flow.publish_on(ThreadPool()).share(),
    "on_backpressure_latest": lambda flow: flow.on_backpressure_latest(),
    "on_backpressure_drop": lambda flow: flow.on_backpressure_drop(),
    "conflate": lambda flow: flow.conflate(max),
    "limit_rate upstream of another thread": lambda flow: flow.limit_rate(4).publish_on(
        ThreadPool()
    ),
    "map_async": lambda flow: flow.share().map_async(same, concurrency=4),
    "share as a publisher": lambda flow: Flow.from_publisher(flow.share()),
    "window of groups": lambda flow: flow.group_by(parity).flat_map(lambda each: each).window(2),
    "limit_rate of a window": lambda flow: flow.window(2).flat_map(lambda each: each).limit_rate(4),
    "windows that it closes": lambda flow: Flow.never().start_with(1).window(9, until=flow),
    "a flow that ends another": lambda flow: Flow.range(9).take_until(flow.filter(is_large)),
}


class OpenNothing:
    """An asynchronous resource."""

    async def __aenter__(self) -> None: ...

    async def __aexit__(self, *reason: object) -> None:
        await turns()


def open_nothing() -> OpenNothing:
    return OpenNothing()


async def same(x: int) -> int:
    return x


def parity(x: int) -> int:
    return x % 2


def is_large(x: int) -> bool:
    return x > 1_000


@every_way
@pytest.mark.parametrize("name", BETWEEN)
def test_it_is_closed_also_upstream_of_several_runs(name: str, leave: Leave) -> None:
    source = Cleaning(waits=False)
    leave(BETWEEN[name](Flow.from_async_iterable(source)))
    assert source.closed == source.opened


def test_who_leaves_a_shared_flow_to_others_need_not_wait() -> None:
    async def main() -> None:
        source = Cleaning(waits=True)
        shared = Flow.from_async_iterable(source).share()
        async with aclosing(aiter(shared)) as others:
            assert await anext(others) == 1
            await shared.first()
            assert (source.opened, source.closed) == (1, 0)
        assert source.closed == 1

    asyncio.run(main())


def test_calls_that_are_cancelled_end_before_the_flow_is_left() -> None:
    ended: list[int] = []

    async def call(x: int) -> int:
        if x == 0:
            return x
        try:
            await asyncio.Event().wait()
        finally:
            await turns(20)
            ended.append(x)
        return x

    flow = Flow.range(9).map_async(call, concurrency=3)
    for leave in WAYS.values():
        ended.clear()
        leave(flow)
        assert sorted(ended) in ([1, 2], [1, 2, 3])


def test_a_task_of_another_loop_is_left_to_that() -> None:
    flow = Flow.from_async_iterable(Cleaning(waits=True)).share()

    async def others() -> int:
        async with aclosing(aiter(flow)) as elements:
            first: int = await anext(elements)
            await asyncio.to_thread(leave_await, flow)
        return first

    assert asyncio.run(others()) == 1
