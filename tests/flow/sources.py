"""The sources of flows, for the conformance kit: how to make one of n elements."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock import IterablePublisher
from penstock.flow import Emitter, Flow
from penstock.runtime import SystemClock
from tests.flow.cases.asynchronous import within_a_loop

__all__ = ["SOURCES", "Source"]


@dataclass(frozen=True)
class Source:
    """A source of so many elements, and what the kit has to know of it."""

    make: Callable[[int], Flow[Any]]
    claims: Mapping[str, Any] = field(default_factory=dict)


def failing() -> Flow[Any]:
    return Flow.error(ValueError("as announced"))


def numbers(n: int) -> Callable[[Emitter[int]], None]:
    """Emits all numbers below ``n`` at once."""

    def emit_all(emitter: Emitter[int]) -> None:
        for number in range(n):
            emitter.emit(number)
        emitter.complete()

    return emit_all


def fail(emitter: Emitter[int]) -> None:
    emitter.emit(1)
    emitter.fail(ValueError("as announced"))


class Counting:
    """An asynchronous iterable of the numbers below ``n``."""

    def __init__(self, n: int) -> None:
        self._n = n

    async def __aiter__(self) -> AsyncIterator[int]:
        for number in range(self._n):
            yield number


async def one() -> int:
    return 1


async def nothing() -> None: ...


ALL: Mapping[str, Any] = {
    "completes_eagerly": True,
    "concurrent_requests": True,
    "explains_illegal_requests": True,
    "passes_interrupts": True,
    "repeatable": True,
    "reports_to_hook": True,
    "strict_types": True,
}
"""What every source claims that runs where it is asked."""
PLENTY = 20_000

SOURCES: dict[str, Source] = {
    "of": Source(lambda n: Flow.of(*range(n)), {**ALL, "failed": failing}),
    "from_iterable": Source(lambda n: Flow.from_iterable(range(n)), {**ALL, "failed": failing}),
    "from_callable": Source(
        lambda n: Flow.from_callable(lambda: 1 if n else None),
        {**ALL, "max_elements": 1, "completes_eagerly": False},
    ),
    "from_publisher": Source(lambda n: Flow.from_publisher(IterablePublisher(range(n))), ALL),
    "from_async_iterable": Source(lambda n: within_a_loop(Flow.from_async_iterable(Counting(n)))),
    "from_awaitable": Source(
        lambda n: within_a_loop(Flow.from_awaitable(one if n else nothing)), {"max_elements": 1}
    ),
    "empty": Source(lambda n: Flow.empty(), {**ALL, "max_elements": 0}),
    "error": Source(Flow.range, {**ALL, "failed": failing}),
    "never": Source(lambda n: Flow.never(), {"max_elements": 0, "completes": False}),
    "range": Source(Flow.range, ALL),
    "generate": Source(
        lambda n: Flow.generate(0, lambda at: (at, at + 1) if at < n else None),
        {**ALL, "completes_eagerly": False},
    ),
    "interval": Source(
        lambda n: Flow.interval(1e-6, clock=SystemClock()).take(n),
        {**ALL, "passes_interrupts": False, "max_elements": 1_000},
    ),
    "create": Source(
        lambda n: Flow.create(numbers(n), overflow="error", capacity=PLENTY),
        {**ALL, "failed": lambda: Flow.create(fail, overflow="error")},
    ),
}
