"""What is awaited, on a loop that runs in the background."""

from __future__ import annotations

import asyncio
import atexit
import threading
from collections.abc import AsyncIterator
from functools import cache
from typing import Any

from penstock import AsyncioLoop, Subscriber
from penstock.flow import Flow
from tests.flow.case import Case

__all__ = ["CASES"]


@cache
def background() -> AsyncioLoop:
    """A loop on its own thread, until the interpreter ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()

    def stop() -> None:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()

    atexit.register(stop)
    return AsyncioLoop(loop)


async def at_once(x: int) -> int:
    return x + 1


async def later(x: int) -> int:
    for _ in range(x % 3):
        await asyncio.sleep(0)
    return x + 1


class Iterated:
    """A flow, iterated by ``async for``."""

    def __init__(self, flow: Flow[int]) -> None:
        self._flow = flow

    def __aiter__(self) -> AsyncIterator[int]:
        return self._flow.__aiter__()


def mapped(elements: list[int]) -> list[Any]:
    return [x + 1 for x in elements]


def same(elements: list[int]) -> list[Any]:
    return elements


class OnTheLoop:
    """A publisher that runs a flow on the loop."""

    def __init__(self, flow: Flow[Any]) -> None:
        self._flow = flow.subscribe_on(background())

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        self._flow.subscribe(subscriber)


def within_a_loop(flow: Flow[Any]) -> Flow[Any]:
    """A flow that is subscribed to at once, and runs on the loop."""
    return Flow.from_publisher(OnTheLoop(flow))


CASES = [
    Case("map_async", lambda flow: within_a_loop(flow.map_async(at_once)), mapped),
    Case(
        "map_async of several at once",
        lambda flow: within_a_loop(flow.map_async(later, concurrency=3)),
        mapped,
        prefetch=2,
    ),
    Case(
        "map_async without order",
        lambda flow: within_a_loop(flow.map_async(later, concurrency=3, ordered=False)),
        mapped,
        ordered=False,
        prefetch=2,
    ),
    Case(
        "from_async_iterable",
        lambda flow: within_a_loop(Flow.from_async_iterable(Iterated(flow))),
        same,
        prefetch=256,
    ),
]
