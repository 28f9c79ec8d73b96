"""What makes other elements: errors, ``None``, bad arguments, demand, closing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock.flow import Flow, X
from penstock.testing import ManualPublisher, ManualSubscriber

Assemble = Callable[[Any], Flow[Any]]

WITH_A_FUNCTION: dict[str, Assemble] = {
    "map": lambda function: Flow.range(3).map(function),
    "map_not_none": lambda function: Flow.range(3).map_not_none(function),
    "filter": lambda function: Flow.range(3).filter(function),
    "flat_map_iterable": lambda function: Flow.range(3).flat_map_iterable(function),
    "scan": lambda function: Flow.range(3).scan(0, function),
}
EVERY_OPERATOR = pytest.mark.parametrize(
    ("name", "assemble"), WITH_A_FUNCTION.items(), ids=list(WITH_A_FUNCTION)
)


async def coroutine(x: int) -> int:
    return x


@EVERY_OPERATOR
def test_what_is_no_function_is_refused_at_once(name: str, assemble: Assemble) -> None:
    with pytest.raises(TypeError, match=f"{name} needs a function, not 7"):
        assemble(7)


@EVERY_OPERATOR
def test_a_coroutine_function_is_refused_with_a_hint(name: str, assemble: Assemble) -> None:
    with pytest.raises(TypeError, match=f"{name} got the coroutine function .* use map_async"):
        assemble(coroutine)


@EVERY_OPERATOR
def test_what_a_function_raises_cancels_upstream_and_goes_downstream(
    name: str, assemble: Assemble
) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(upstream)
    broken = flow.scan(0, fail) if name == "scan" else getattr(flow, name)(fail)
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=5)
    broken.subscribe(subscriber)
    upstream.next(1)
    subscriber.assert_failed(RuntimeError, match="broken function")
    assert upstream.cancelled


def fail(*arguments: object) -> Any:
    raise RuntimeError("broken function")


NONE_MAKERS: dict[str, Flow[Any]] = {
    "map": Flow.range(3).map(lambda x: None if x == 1 else x),
    "map with X": Flow.of({"a": 1}, {}).map(X.get("a")),
    "scan": Flow.range(3).scan(0, lambda total, x: None if x == 1 else x),
    "flat_map_iterable": Flow.range(3).flat_map_iterable(lambda x: [x, None]),
    "reduce": Flow.range(3).reduce(0, lambda total, x: None),
    "collect": Flow.range(3).collect(lambda elements: None),
    "from_iterable": Flow.from_iterable([1, None]),
}


@pytest.mark.parametrize("name", NONE_MAKERS)
@pytest.mark.parametrize(
    "followed",
    [lambda flow: flow, lambda flow: flow.filter(bool), lambda flow: flow.to_list()],
    ids=["at the end", "upstream of filter", "upstream of to_list"],
)
def test_none_is_refused_where_it_is_made(name: str, followed: Callable[[Any], Flow[Any]]) -> None:
    flow = followed(NONE_MAKERS[name])
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=5)
    flow.subscribe(subscriber)
    subscriber.assert_failed(TypeError, match="None is not an element")
    with pytest.raises(TypeError, match="None is not an element") as raised:
        flow.run_sync()
    (note,) = raised.value.__notes__
    assert note.startswith(f"in {name.removesuffix(' with X')}, assembled at {__file__}")


def test_filter_replaces_what_it_leaves_out() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.from_publisher(upstream).filter(X > 5).subscribe(subscriber)
    upstream.next(1)
    assert upstream.requested == 2
    upstream.next(9)
    subscriber.assert_elements(9)
    assert upstream.requested == 2


def test_flat_map_iterable_advances_an_iterable_only_when_an_element_is_wanted() -> None:
    advanced: list[int] = []

    def numbers(x: int) -> Iterator[int]:
        for number in range(3):
            advanced.append(number)
            yield number

    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    Flow.from_iterable(iter([0, 1])).flat_map_iterable(numbers).subscribe(subscriber)
    assert advanced == [0, 1]


def test_flat_map_iterable_closes_the_iterable_that_a_cancel_leaves() -> None:
    closed: list[int] = []

    def numbers(x: int) -> Iterator[int]:
        try:
            yield x
            yield x
        finally:
            closed.append(x)

    subscriber: ManualSubscriber[int] = ManualSubscriber(request=3)
    Flow.range(9).flat_map_iterable(numbers).subscribe(subscriber)
    assert closed == [0]
    subscriber.cancel()
    assert closed == [0, 1]


def test_flat_map_iterable_says_what_is_no_iterable() -> None:
    flow: Flow[Any] = Flow.of(7).flat_map_iterable(X)
    with pytest.raises(TypeError, match="'int' object is not iterable") as raised:
        flow.run_sync()
    assert raised.value.__notes__[0].startswith("in flat_map_iterable")


def test_scan_begins_each_run_from_the_seed() -> None:
    flow = Flow.of(1, 2).scan(10, lambda total, x: total + x).to_list()
    assert flow.run_sync() == [11, 13]
    assert flow.run_sync() == [11, 13]


def test_a_flow_can_be_extended_in_several_ways() -> None:
    numbers = Flow.range(4)
    assert numbers.map(X + 1).to_list().run_sync() == [1, 2, 3, 4]
    assert numbers.filter(X > 1).to_list().run_sync() == [2, 3]
    assert numbers.to_list().run_sync() == [0, 1, 2, 3]


def test_the_first_element_of_pairwise_is_replaced_by_another_one() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[tuple[int, int]] = ManualSubscriber(request=1)
    Flow.from_publisher(upstream).pairwise().subscribe(subscriber)
    upstream.next(1)
    upstream.next(2)
    subscriber.assert_elements((1, 2))
    assert upstream.requested == 2


def test_each_run_counts_and_pairs_from_its_own_beginning() -> None:
    flow = Flow.of("a", "b").enumerate().pairwise().to_list()
    assert flow.run_sync() == flow.run_sync() == [((0, "a"), (1, "b"))]


def test_pipe_gives_what_the_function_returns_whatever_that_is() -> None:
    def describe(flow: Flow[int], word: str, *, times: int = 1) -> str:
        return f"{flow!r} {word}" * times

    assert Flow.range(3).pipe(describe, "there", times=2) == "<Flow: range> there" * 2
