"""Every operator downstream of an asynchronous source: that is read as far as a synchronous one.

Whoever leaves a flow that is awaited, iterated or run must not lose elements that were read ahead,
from a queue for instance.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from penstock.flow import Flow
from penstock.flow.engine.event_loop import call_on
from penstock.flow.sources import from_async
from penstock.testing import ManualSubscriber
from tests.flow.all_cases import ALL_CASES
from tests.flow.case import Case

PLENTY = 400
"""More than any operator that keeps to its demand would read."""

GOES_ON = {"replay", "replay within a time"}
"""They read on when they are left, on purpose, what comes by itself: an asynchronous source."""

AHEAD = {"delay for a moment": 1}
"""It waits for a moment, and reads meanwhile what comes by itself."""


class Counting:
    """An iterable, also asynchronously, that knows how far it was advanced."""

    def __init__(self) -> None:
        self.advanced = 0

    def __iter__(self) -> Iterator[int]:
        for number in range(1, PLENTY):
            self.advanced += 1
            yield number

    async def __aiter__(self) -> AsyncIterator[int]:
        for number in self:
            yield number


def awaited(flow: Flow[Any]) -> object:
    async def main() -> object:
        return await flow.to_list()

    return asyncio.run(main())


def iterated(flow: Flow[Any]) -> object:
    async def main() -> object:
        return [x async for x in flow]

    return asyncio.run(main())


WAYS: dict[str, Callable[[Flow[Any]], object]] = {
    "await": awaited,
    "async for": iterated,
    "run_sync": lambda flow: flow.to_list().run_sync(),
    "blocking": lambda flow: list(flow.blocking()),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=list(WAYS))
@pytest.mark.parametrize(
    "case",
    [case for case in ALL_CASES if case.name not in GOES_ON],
    ids=lambda case: case.name,
)
def test_an_asynchronous_source_is_read_as_far_as_a_synchronous_one(
    case: Case, way: Callable[[Flow[Any]], object]
) -> None:
    plain, asynchronous = Counting(), Counting()
    way(case.apply(Flow.from_iterable(plain)).take(2))
    way(case.apply(Flow.from_async_iterable(asynchronous)).take(2))
    assert asynchronous.advanced <= plain.advanced + AHEAD.get(case.name, 0)


def test_a_wake_up_that_comes_late_lets_no_element_through(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another thread may request, and wake the source, when the request has been served (1.1)."""
    subscriptions: list[Any] = []

    def called_on(loop: asyncio.AbstractEventLoop, function: Callable[[], object]) -> None:
        subscriptions.append(getattr(function, "__self__", None))
        call_on(loop, function)

    async def main() -> None:
        source = Counting()
        subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
        Flow.from_async_iterable(source).subscribe(subscriber)
        for _ in range(9):
            await asyncio.sleep(0)
            subscriptions[0]._go_on()
        assert (subscriber.elements, source.advanced) == ([1, 2], 2)
        subscriber.cancel()

    monkeypatch.setattr(from_async, "call_on", called_on)
    asyncio.run(main())
