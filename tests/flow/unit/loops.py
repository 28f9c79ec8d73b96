"""Event loops for tests: nothing may be left on them, and nothing may be logged about them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from penstock import Flow
from penstock.testing import ManualSubscriber

__all__ = ["Gate", "background_loop", "run", "subscribed", "turns"]

T = TypeVar("T")


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine; fails if it leaves a task, or if the loop had to report an error."""

    async def watched() -> T:
        reports: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, report: reports.append(report))
        result = await main
        await turns()
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert reports == []
        return result

    return asyncio.run(watched())


async def turns(count: int = 10) -> None:
    """Let the others have their turn, as often as it takes for a task to be cancelled."""
    for _ in range(count):
        await asyncio.sleep(0)


@contextmanager
def background_loop() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop on its own thread."""
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda _, report: None)  # the kit raises interrupts on purpose
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


class Gate:
    """A coroutine function whose calls end when the test says so."""

    def __init__(self) -> None:
        self.calls: dict[int, asyncio.Future[Any]] = {}
        self.cancelled: list[int] = []

    async def __call__(self, x: int) -> Any:
        self.calls[x] = asyncio.get_running_loop().create_future()
        try:
            return await self.calls[x]
        except asyncio.CancelledError:
            self.cancelled.append(x)
            raise

    async def end(self, x: int, result: object = None) -> None:
        self.calls[x].set_result(x if result is None else result)
        await turns()

    async def fail(self, x: int, error: Exception) -> None:
        self.calls[x].set_exception(error)
        await turns()


async def subscribed(flow: Flow[Any], request: int = 0) -> ManualSubscriber[Any]:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
    flow.subscribe(subscriber)
    await turns()
    return subscriber
