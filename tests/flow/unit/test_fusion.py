"""Runs of stages in one loop: depth, nested loops, notes on errors, what is kept."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import UNBOUNDED, IterablePublisher
from penstock.flow import Flow, X
from penstock.flow.engine.fusion import COMPILED, MOST_COMPILED, NESTED_LOOPS
from penstock.testing import ManualSubscriber


def test_a_thousand_maps_are_one_loop() -> None:
    flow = Flow.range(3)
    for _ in range(1_000):
        flow = flow.map(lambda x: x + 1)
    assert flow.to_list().run_sync() == [1_000, 1_001, 1_002]
    assert len(flow.plan.segments) == 1


@pytest.mark.parametrize("fused", [True, False], ids=["fused", "downstream of a foreign publisher"])
def test_a_thousand_mixed_stages_run_without_recursion(fused: bool) -> None:
    numbers = range(500)
    flow = Flow.from_iterable(numbers) if fused else Flow.from_publisher(IterablePublisher(numbers))
    for _ in range(125):
        flow = (
            flow.map(X + 1)
            .filter(lambda x: x > 0)
            .skip(1)
            .take(1_000)
            .scan(0, lambda _, x: x)
            .distinct()
            .take_while(lambda x: x < 10_000)
            .flat_map_iterable(lambda x: (x,))
        )
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=UNBOUNDED)
    flow.subscribe(subscriber)
    subscriber.assert_elements(*range(250, 625))
    subscriber.assert_completed()
    assert flow.last().run_sync() == 624


def test_a_deep_flow_is_freed_without_recursion() -> None:
    flow: Flow[int] | None = Flow.range(1)
    for _ in range(100_000):
        assert flow is not None
        flow = flow.map(X)
    freed = weakref.ref(flow)
    flow = None
    assert freed() is None


def test_more_nested_loops_than_one_function_can_have() -> None:
    flow = Flow.of(1)
    for _ in range(2 * NESTED_LOOPS + 1):
        flow = flow.flat_map_iterable(lambda x: (x, x))
    assert flow.count().run_sync() == 2 ** (2 * NESTED_LOOPS + 1)
    assert len(flow.plan.segments) == 3


def test_take_leaves_all_loops_of_the_iterables_upstream() -> None:
    pulled: list[int] = []

    def numbers(x: int) -> Iterator[int]:
        for n in range(10):
            pulled.append(n)
            yield n

    flow = Flow.range(10).flat_map_iterable(numbers).flat_map_iterable(numbers).take(3)
    assert flow.to_list().run_sync() == [0, 1, 2]
    assert pulled == [0, 0, 1, 2]


def fail_at_two(x: int, *more: int) -> Any:
    if 2 in (x, *more):
        raise ValueError("two")
    return (x,)


FAILING: dict[str, Callable[[], Flow[Any]]] = {
    "map": lambda: Flow.range(5).map(fail_at_two),
    "map_not_none": lambda: Flow.range(5).map_not_none(fail_at_two),
    "filter": lambda: Flow.range(5).filter(fail_at_two),
    "flat_map_iterable": lambda: Flow.range(5).flat_map_iterable(fail_at_two),
    "scan": lambda: Flow.range(5).scan(0, fail_at_two),
    "take_while": lambda: Flow.range(5).take_while(fail_at_two),
    "skip_while": lambda: Flow.range(5).skip_while(fail_at_two),
    "first": lambda: Flow.range(5).first(lambda x: not fail_at_two(x)),
    "distinct": lambda: Flow.range(5).distinct(fail_at_two),
    "distinct_until_changed": lambda: Flow.range(5).distinct_until_changed(fail_at_two),
    "reduce": lambda: Flow.range(5).reduce(0, fail_at_two),
    "any": lambda: Flow.range(5).any(lambda x: not fail_at_two(x)),
    "all": lambda: Flow.range(5).all(fail_at_two),
    "collect": lambda: Flow.range(5).collect(lambda elements: fail_at_two(*elements)),
    "for_each": lambda: Flow.range(5).for_each(fail_at_two),
    "from_iterable": lambda: Flow.from_iterable(fail_at_two(x) for x in range(5)),
}


def note_of(name: str) -> str:
    line = FAILING[name].__code__.co_firstlineno
    return f"in {name}, assembled at {__file__}:{line}, in <lambda>"


def notes_of(error: BaseException | None) -> list[str]:
    return getattr(error, "__notes__", [])


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.parametrize(
    "surround",
    [lambda flow: flow, lambda flow: flow.map(lambda x: x).filter(lambda x: True)],
    ids=["alone", "upstream of others"],
)
def test_an_error_names_the_operator_and_the_line_that_made_it(
    name: str, surround: Callable[[Flow[Any]], Flow[Any]]
) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    surround(FAILING[name]()).subscribe(subscriber)
    subscriber.assert_failed(ValueError, match="two")
    assert notes_of(subscriber.error) == [note_of(name)]


@pytest.mark.parametrize("name", FAILING)
def test_an_error_that_is_raised_carries_the_same_note(name: str) -> None:
    with pytest.raises(ValueError, match="two") as raised:
        FAILING[name]().run_sync()
    assert notes_of(raised.value) == [note_of(name)]


@pytest.mark.parametrize("name", FAILING)
def test_an_error_after_retries_is_noted_once(name: str) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    flow: Flow[Any] = Flow.defer(FAILING[name])
    flow.retry(2).subscribe(subscriber)
    subscriber.assert_failed(ValueError, match="two")
    assert notes_of(subscriber.error).count(note_of(name)) == 1


def test_an_error_that_comes_again_is_noted_once() -> None:
    error = ValueError("always the same")

    def fail(x: int) -> int:
        raise error

    flow = Flow.range(3).map(fail)
    for _ in range(3):
        with pytest.raises(ValueError, match="always"):
            flow.run_sync()
    assert len(notes_of(error)) == 1


def test_flows_of_the_same_shape_share_their_code_and_not_their_functions() -> None:
    def plus(n: int) -> Flow[int]:
        return Flow.range(3).map(lambda x: x + n).skip_while(lambda x: x < n)

    assert plus(1).to_list().run_sync() == [1, 2, 3]
    before = len(COMPILED)
    assert plus(10).to_list().run_sync() == [10, 11, 12]
    assert len(COMPILED) == before


def test_to_list_and_collect_do_not_share_their_code() -> None:
    assert Flow.of(2, 1).collect(sorted).run_sync() == [1, 2]
    assert Flow.of(2, 1).to_list().run_sync() == [2, 1]


def test_the_code_that_is_kept_holds_no_function_of_a_user() -> None:
    class Function:
        def __call__(self, x: int) -> int:
            return x

    function = Function()
    gone = weakref.ref(function)
    Flow.of(1).map(function).run_sync()
    del function
    gc.collect()
    assert gone() is None


def test_the_code_that_is_kept_is_bounded() -> None:
    class Anything:
        def __getattr__(self, name: str) -> str:
            return name

    for n in range(MOST_COMPILED + 10):
        name = f"name_{n}"
        assert Flow.of(Anything()).map(getattr(X, name)).run_sync() == name
    assert len(COMPILED) <= MOST_COMPILED


def test_a_segment_runs_for_several_subscribers_at_once() -> None:
    flow = Flow.range(6).skip(1).scan(0, lambda total, x: total + x).take(4)
    one: ManualSubscriber[int] = ManualSubscriber(request=2)
    other: ManualSubscriber[int] = ManualSubscriber(request=3)
    flow.subscribe(one)
    flow.subscribe(other)
    one.assert_elements(1, 3)
    other.assert_elements(1, 3, 6)
    one.request(5)
    one.assert_elements(1, 3, 6, 10)
    one.assert_completed()
    other.assert_not_ended()


def test_an_iterator_that_cannot_be_hashed_can_be_taken_from() -> None:
    class Unhashable:
        __hash__ = None  # type: ignore[assignment]

        def __iter__(self) -> Unhashable:
            return Unhashable()

        def __next__(self) -> int:
            return 1

    assert Flow.from_iterable(Unhashable()).take(2).to_list().run_sync() == [1, 1]


def test_a_cancel_from_within_a_filter_that_leaves_all_out_ends_the_loop() -> None:
    asked: list[int] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber()

    def never(x: int) -> bool:
        asked.append(x)
        if x == 3:
            subscriber.cancel()
        return False

    Flow.range(1_000_000).filter(never).subscribe(subscriber)
    subscriber.request(1)
    assert asked == [0, 1, 2, 3]
