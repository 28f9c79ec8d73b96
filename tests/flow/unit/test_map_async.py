"""``map_async``: how many calls at once, in which order, and how they end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from penstock import UNBOUNDED, AsyncioLoop, Flow, collect_undelivered
from penstock.tck import verify_operator
from penstock.testing import ManualPublisher
from tests.flow.unit.loops import Gate, background_loop, run, subscribed, turns


async def same(x: Any) -> Any:
    return x


def test_one_call_goes_on_at_a_time_unless_more_are_asked_for() -> None:
    async def main() -> None:
        gate = Gate()
        subscriber = await subscribed(Flow.range(5).map_async(gate), UNBOUNDED)
        assert list(gate.calls) == [0]
        await gate.end(0)
        assert list(gate.calls) == [0, 1]
        assert subscriber.elements == [0]
        subscriber.cancel()

    run(main())


def test_no_call_starts_before_anything_is_wanted() -> None:
    async def main() -> None:
        gate = Gate()
        subscriber = await subscribed(Flow.range(5).map_async(gate, concurrency=3))
        assert gate.calls == {}
        subscriber.cancel()

    run(main())


def test_results_that_nobody_takes_keep_further_calls_from_starting() -> None:
    async def main() -> None:
        gate = Gate()
        subscriber = await subscribed(Flow.range(9).map_async(gate, concurrency=3), 1)
        assert list(gate.calls) == [0, 1, 2]
        for x in range(3):
            await gate.end(x)
        assert subscriber.elements == [0]
        assert list(gate.calls) == [0, 1, 2]
        subscriber.cancel()

    run(main())


def test_ordered_results_wait_for_those_ahead() -> None:
    async def main() -> None:
        gate = Gate()
        subscriber = await subscribed(Flow.range(3).map_async(gate, concurrency=3), UNBOUNDED)
        await gate.end(2)
        await gate.end(1)
        assert subscriber.elements == []
        await gate.end(0)
        subscriber.assert_elements(0, 1, 2)
        subscriber.assert_completed()

    run(main())


def test_unordered_results_come_as_they_are_ready() -> None:
    async def main() -> None:
        gate = Gate()
        flow = Flow.range(3).map_async(gate, concurrency=3, ordered=False)
        subscriber = await subscribed(flow, UNBOUNDED)
        for x in (2, 0, 1):
            await gate.end(x)
        subscriber.assert_elements(2, 0, 1)
        subscriber.assert_completed()

    run(main())


@pytest.mark.parametrize("ordered", [True, False])
def test_a_cancel_cancels_the_calls_and_waits_for_none(ordered: bool) -> None:
    async def main() -> None:
        gate = Gate()
        flow = Flow.range(9).map_async(gate, concurrency=3, ordered=ordered)
        subscriber = await subscribed(flow, 2)
        await gate.end(1)
        going = [x for x, call in gate.calls.items() if not call.done()]
        subscriber.cancel()
        await turns()
        assert sorted(gate.cancelled) == going == ([0, 2] if ordered else [0, 2, 3])

    run(main())


def test_what_was_taken_and_not_delivered_is_discarded() -> None:
    async def main() -> None:
        gate, discarded = Gate(), list[Any]()
        flow = Flow.range(9).map_async(gate, concurrency=3).do_on_discard(discarded.append)
        subscriber = await subscribed(flow, 1)
        await gate.end(1, "one")
        subscriber.cancel()
        assert sorted(map(str, discarded)) == ["0", "2", "one"]

    run(main())


def test_a_call_that_raises_cancels_the_others_and_stops_the_source() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        gate = Gate()
        flow = Flow.from_publisher(publisher).map_async(gate, concurrency=3)
        subscriber = await subscribed(flow, UNBOUNDED)
        publisher.next(0, 1, 2)
        await turns()
        await gate.fail(0, OSError("broken"))
        subscriber.assert_failed(OSError, match="broken")
        assert subscriber.error is not None
        assert "in map_async, assembled at" in subscriber.error.__notes__[0]
        assert sorted(gate.cancelled) == [1, 2]
        assert publisher.cancelled

    run(main())


def test_an_ordered_error_follows_the_results_ahead_of_it() -> None:
    async def main() -> None:
        gate, taken = Gate(), list[int]()
        flow = Flow.range(9).do_on_next(taken.append).map_async(gate, concurrency=3)
        subscriber = await subscribed(flow, UNBOUNDED)
        await gate.fail(1, OSError("broken"))
        subscriber.assert_not_ended()
        await gate.end(0)
        subscriber.assert_elements(0)
        subscriber.assert_failed(OSError)
        assert taken == [0, 1, 2]

    run(main())


def test_an_error_from_upstream_follows_the_results_of_what_came_before() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()

    async def main() -> None:
        gate = Gate()
        flow = Flow.from_publisher(publisher).map_async(gate, concurrency=3)
        subscriber = await subscribed(flow, 5)
        publisher.next(1)
        publisher.error(OSError("broken"))
        await turns()
        subscriber.assert_not_ended()
        await gate.end(1)
        subscriber.assert_elements(1)
        subscriber.assert_failed(OSError, match="broken")

    run(main())


def test_the_end_needs_no_further_demand() -> None:
    async def main() -> None:
        for flow in (Flow.range(2), Flow.from_iterable(iter((0, 1))).take(2)):
            subscriber = await subscribed(flow.map_async(same), 2)
            subscriber.assert_elements(0, 1)
            subscriber.assert_completed()

    run(main())


def test_an_error_after_the_cancel_is_reported() -> None:
    async def stubborn(x: int) -> int:
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("cannot stop")

    async def main() -> None:
        subscriber = await subscribed(Flow.of(1).map_async(stubborn), 1)
        subscriber.cancel()
        await turns()

    with collect_undelivered() as lost:
        run(main())
    assert [str(each.error) for each in lost] == ["cannot stop"]


def test_a_call_that_somebody_else_cancels_fails_the_flow() -> None:
    async def main() -> None:
        gate = Gate()
        subscriber = await subscribed(Flow.of(1).map_async(gate), 1)
        gate.calls[1].cancel()
        await turns()
        subscriber.assert_failed(RuntimeError, match="cancelled, and not by the flow")

    run(main())


def test_a_function_that_returns_no_awaitable_is_named_with_its_result() -> None:
    plain: Callable[[int], Any] = lambda x: x + 2  # noqa: E731
    with pytest.raises(TypeError, match="map_async: the function returned 3.*use map"):
        Flow.of(1).map_async(plain).run_sync()


def test_a_call_that_returns_none_is_refused() -> None:
    async def nothing(x: int) -> None:
        pass

    with pytest.raises(TypeError, match="None is not an element"):
        Flow.of(1).map_async(nothing).to_list().run_sync()


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ((3,), TypeError, "map_async needs a coroutine function, not 3"),
        ((same, 0), ValueError, "map_async: concurrency must be at least 1"),
        ((same, "2"), TypeError, "map_async: concurrency must be an int"),
    ],
)
def test_bad_arguments_are_refused_at_once(
    arguments: tuple[Any, ...], error: type[Exception], match: str
) -> None:
    function, concurrency = (*arguments, 1)[:2]
    with pytest.raises(error, match=match):
        Flow.of(1).map_async(function, concurrency=concurrency)


@pytest.mark.full  # the quick run judges it as a publisher
@pytest.mark.parametrize("concurrency", [1, 3])
def test_map_async_is_an_operator_by_all_rules(concurrency: int) -> None:
    with background_loop() as loop:
        report = verify_operator(
            lambda source: (
                Flow.from_publisher(source)
                .map_async(same, concurrency=concurrency)
                .subscribe_on(AsyncioLoop(loop))
            ),
            prefetch=concurrency - 1,
        )
    report.raise_if_failed()
