"""What a run waits at: known while it is open, with the operator that opened it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from penstock import CallingThread, Flow, IterablePublisher, Retry, VirtualTime
from penstock.flow.engine.run_context import RunContext
from penstock.testing import ManualPublisher, ManualSubscriber


def run_of(flow: Flow[Any], request: int = 1) -> RunContext:
    """A run of ``flow``, for a subscriber that has requested so many elements."""
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
    flow.subscribe(subscriber)
    run = subscriber.subscription
    assert isinstance(run, RunContext)
    return run


def operators(run: RunContext) -> list[str | None]:
    """The operators that wait, in the order in which they came to that."""
    return list(run.waiting_at.values())


def silent() -> Flow[int]:
    """A flow whose publisher sends nothing."""
    source: ManualPublisher[int] = ManualPublisher()
    return Flow.from_publisher(source)


SIGNALLED: list[str | None] = ["delay_subscription"]
FLOWS: dict[str, tuple[Callable[[], Flow[Any]], list[str | None]]] = {
    "an origin": (silent, [None]),
    "an origin that is another flow": (
        lambda: Flow.defer(silent).subscribe_on(CallingThread()),
        [None],
    ),
    "a boundary": (lambda: silent().publish_on(CallingThread()), [None]),
    "inputs": (lambda: Flow.zip(silent(), Flow.defer(silent).map(abs)), ["zip", "zip"]),
    "inputs of inputs": (
        lambda: Flow.merge(Flow.zip(silent(), silent()), silent()),
        ["zip", "zip", "merge"],
    ),
    "inner flows": (lambda: Flow.range(2).flat_map(lambda x: silent()), ["flat_map", "flat_map"]),
    "inner flows with stages": (
        lambda: Flow.of(1).flat_map(lambda x: silent().delay(1, clock=VirtualTime())),
        ["flat_map", "delay"],
    ),
    "inner flows that run ahead": (
        lambda: Flow.range(2).flat_map_sequential(lambda x: silent()),
        ["flat_map_sequential", "flat_map_sequential"],
    ),
    "a signal before the origin": (lambda: silent().delay_subscription(silent()), SIGNALLED),
    "an origin after its signal": (lambda: silent().delay_subscription(Flow.of(1)), SIGNALLED),
    "what follows": (lambda: Flow.empty().then(silent()), ["then"]),
    "a fallback": (
        lambda: Flow.error(ValueError()).on_error_resume(lambda error: silent()),
        ["on_error_resume"],
    ),
    "an origin that is opened again": (
        lambda: Flow.defer(iter([Flow.error(ValueError()), silent()]).__next__).retry(2),
        ["retry"],
    ),
    "another publisher besides": (
        lambda: silent().take_until(silent()).with_latest_from(silent()).skip_until(silent()),
        [None, "take_until", "with_latest_from", "skip_until"],
    ),
    "an emitter": (lambda: Flow.create(lambda emitter: None, overflow="error"), ["create"]),
    "a clock": (lambda: Flow.interval(1, clock=VirtualTime()), ["interval"]),
    "groups": (lambda: silent().group_by(abs), [None]),
}


@pytest.mark.parametrize(("make", "expected"), FLOWS.values(), ids=FLOWS.keys())
def test_what_is_waited_at_belongs_to_the_operator_that_opened_it(
    make: Callable[[], Flow[Any]], expected: list[str | None]
) -> None:
    run = run_of(make())
    assert operators(run) == expected


def test_an_input_that_is_opened_late_belongs_to_the_operator_that_opens_it() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    outer: ManualPublisher[int] = ManualPublisher()
    inner = Flow.from_publisher(outer).flat_map(lambda x: silent())
    run = run_of(Flow.concat(Flow.merge(first, inner), silent()))
    assert operators(run) == ["merge", "merge"]
    outer.next(1)
    assert operators(run) == ["merge", "merge", "flat_map"]


# They leave.


def test_a_run_knows_no_more_inner_publishers_than_are_open() -> None:
    most = 0

    def watch(x: int) -> None:
        nonlocal most
        most = max(most, len(run.waiting_at))

    source: ManualPublisher[int] = ManualPublisher()
    inner = Flow.from_publisher(source).flat_map(
        lambda x: IterablePublisher(range(3)), concurrency=4
    )
    run = run_of(inner.do_on_next(watch), request=1_000)
    for number in range(200):
        source.next(number)
    assert 1 < most <= 5
    assert operators(run) == [None]


def test_an_inner_flow_that_was_never_pulled_leaves_too() -> None:
    run = run_of(Flow.range(3).switch_map(lambda x: Flow.interval(1, clock=VirtualTime())))
    assert operators(run) == ["interval"]


def test_calls_that_are_cancelled_leave() -> None:
    async def forever(x: int) -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        run = run_of(Flow.range(3).map_async(forever).take_until(stop))
        assert operators(run) == ["take_until", "map_async"]
        stop.next(1)
        assert operators(run) == []

    stop: ManualPublisher[int] = ManualPublisher()
    asyncio.run(main())


def test_what_could_not_be_opened_is_not_waited_at() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1

    time = VirtualTime()
    policy = Retry(times=None, backoff=1, factor=1, jitter=0)
    run = run_of(Flow.from_async_iterable(numbers()).retry(policy, clock=time))
    time.advance(10)
    assert operators(run) == ["retry"]  # its clock: there is no loop to run the coroutine on
