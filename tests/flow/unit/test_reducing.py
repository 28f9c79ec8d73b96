"""What makes one result of all elements: the end without demand, failures, bad arguments."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest

from penstock.flow import Flow, X
from penstock.testing import ManualPublisher, ManualSubscriber

RESULTS: dict[str, tuple[Callable[[Flow[int]], Flow[Any]], Any]] = {
    "reduce": (lambda flow: flow.reduce(0, operator.add), 6),
    "reduce without a seed": (lambda flow: flow.reduce(operator.add), 6),
    "any": (lambda flow: flow.any(lambda x: x > 5), False),
    "all": (lambda flow: flow.all(lambda x: x < 5), True),
    "contains": (lambda flow: flow.contains(5), False),
    "count": (lambda flow: flow.count(), 3),
    "collect": (lambda flow: flow.collect(tuple), (1, 2, 3)),
    "to_list": (lambda flow: flow.to_list(), [1, 2, 3]),
    "last": (lambda flow: flow.last(), 3),
}
EVERY_RESULT = pytest.mark.parametrize(("apply", "result"), RESULTS.values(), ids=list(RESULTS))


@EVERY_RESULT
def test_one_request_brings_the_result_and_the_end(
    apply: Callable[[Flow[int]], Flow[Any]], result: Any
) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    apply(Flow.from_publisher(upstream)).subscribe(subscriber)
    upstream.next(1, 2, 3)
    subscriber.assert_elements()
    upstream.complete()
    subscriber.assert_elements(result)
    subscriber.assert_completed()


@EVERY_RESULT
def test_one_request_is_enough_where_the_size_is_unknown(
    apply: Callable[[Flow[int]], Flow[Any]], result: Any
) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    apply(Flow.from_iterable(iter([1, 2, 3]))).subscribe(subscriber)
    subscriber.assert_elements(result)
    subscriber.assert_completed()


@EVERY_RESULT
def test_nothing_is_asked_for_before_the_result_is_wanted(
    apply: Callable[[Flow[int]], Flow[Any]], result: Any
) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    apply(Flow.from_publisher(upstream)).subscribe(ManualSubscriber())
    assert upstream.requests == []


@EVERY_RESULT
def test_a_failure_upstream_leaves_no_result(
    apply: Callable[[Flow[int]], Flow[Any]], result: Any
) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    apply(Flow.from_publisher(upstream)).subscribe(subscriber)
    upstream.next(1)
    upstream.error(ValueError("no more"))
    subscriber.assert_elements()
    subscriber.assert_failed(ValueError, match="no more")


@EVERY_RESULT
def test_a_cancel_between_elements_reaches_upstream(
    apply: Callable[[Flow[int]], Flow[Any]], result: Any
) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    apply(Flow.from_publisher(upstream)).subscribe(subscriber)
    upstream.next(1)
    subscriber.cancel()
    assert upstream.cancelled


@EVERY_RESULT
def test_a_result_goes_on_through_further_stages(
    apply: Callable[[Flow[int]], Flow[Any]], result: Any
) -> None:
    assert apply(Flow.of(1, 2, 3)).map(lambda x: [x]).run_sync() == [result]


@pytest.mark.parametrize(
    ("apply", "lost"),
    [
        (lambda flow: flow.to_list(), [1, 2]),
        (lambda flow: flow.collect(tuple), [1, 2]),
        (lambda flow: flow.last(), [2]),
        (lambda flow: flow.reduce(max), [2]),
    ],
    ids=["to_list", "collect", "last", "reduce"],
)
@pytest.mark.parametrize("ending", ["cancel", "error"])
def test_elements_that_wait_for_the_end_are_discarded_when_it_does_not_come(
    apply: Callable[[Flow[int]], Flow[Any]], lost: list[int], ending: str
) -> None:
    discarded: list[int] = []
    upstream: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    flow = Flow.from_publisher(upstream).do_on_discard(discarded.append)
    apply(flow).subscribe(subscriber)
    upstream.next(1, 2)
    if ending == "cancel":
        subscriber.cancel()
    else:
        upstream.error(ValueError("no more"))
    assert discarded == lost


@EVERY_RESULT
def test_elements_of_a_result_are_not_discarded(
    apply: Callable[[Flow[int]], Flow[Any]], result: Any
) -> None:
    discarded: list[int] = []
    assert apply(Flow.of(1, 2, 3).do_on_discard(discarded.append)).run_sync() == result
    assert discarded == []


def test_a_long_fold_notices_a_cancel_from_within() -> None:
    seen: list[int] = []
    subscriber: ManualSubscriber[Any] = ManualSubscriber()

    def note(x: int) -> None:
        seen.append(x)
        if x == 3:
            subscriber.cancel()

    Flow.range(1_000_000).for_each(note).subscribe(subscriber)
    subscriber.request(1)
    assert seen == [0, 1, 2, 3]
    subscriber.assert_not_ended()


def test_the_results_of_nothing() -> None:
    nothing: Flow[int] = Flow.of()
    assert nothing.reduce(7, operator.add).run_sync() == 7
    assert nothing.reduce(operator.add).to_list().run_sync() == []
    assert nothing.scan(operator.add).to_list().run_sync() == []
    assert nothing.any(bool).run_sync() is False
    assert nothing.all(bool).run_sync() is True
    assert nothing.contains(1).run_sync() is False
    assert nothing.count().run_sync() == 0
    assert nothing.to_list().run_sync() == []
    assert nothing.collect(frozenset).run_sync() == frozenset()


def test_a_reduction_without_a_seed_begins_again_in_each_run() -> None:
    flow = Flow.of([1], [2], [3]).reduce(operator.add)
    assert flow.run_sync() == flow.run_sync() == [1, 2, 3]


def test_a_reduction_of_one_element_calls_no_function() -> None:
    def fail(total: int, x: int) -> int:
        raise AssertionError

    assert Flow.of(7).reduce(fail).run_sync() == 7
    assert Flow.of(7).scan(fail).run_sync() == 7


def test_a_combination_may_be_none_on_the_way_as_with_a_seed() -> None:
    flow = Flow.of(1, 2, 3).reduce(lambda total, x: None if x == 2 else x)  # type: ignore[arg-type, return-value]
    assert flow.run_sync() == 3


@pytest.mark.parametrize(
    ("apply", "answer"),
    [
        (lambda flow: flow.any(lambda x: x == 2), True),
        (lambda flow: flow.all(lambda x: x < 2), False),
        (lambda flow: flow.contains(2), True),
    ],
    ids=["any", "all", "contains"],
)
def test_an_answer_comes_and_cancels_as_soon_as_it_is_known(
    apply: Callable[[Flow[int]], Flow[Any]], answer: bool
) -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[bool] = ManualSubscriber(request=1)
    apply(Flow.from_publisher(upstream)).subscribe(subscriber)
    upstream.next(1)
    subscriber.assert_elements()
    upstream.next(2)
    subscriber.assert_elements(answer)
    subscriber.assert_completed()
    assert upstream.cancelled


def test_contains_compares_as_python_does() -> None:
    not_a_number = float("nan")
    assert Flow.of(1.0, not_a_number).contains(not_a_number).run_sync() is True
    assert Flow.of(1.0, 2.0).contains(float("nan")).run_sync() is False
    assert Flow.of(1.0, 2.0).contains(2).run_sync() is True


def test_contains_takes_no_expression() -> None:
    with pytest.raises(TypeError, match="contains needs an element, and takes no expression"):
        Flow.of(1).contains(X > 1)


def test_each_run_collects_into_a_list_of_its_own() -> None:
    flow = Flow.of(1).to_list()
    first = flow.run_sync()
    assert first is not None
    first.append(2)
    assert flow.run_sync() == [1]


def test_collect_takes_whatever_accepts_a_list() -> None:
    letters = Flow.of("b", "a")
    assert letters.collect(sorted).run_sync() == ["a", "b"]
    assert letters.collect("-".join).run_sync() == "b-a"
    assert letters.collect(set).run_sync() == {"a", "b"}


def test_for_each_calls_and_gives_nothing() -> None:
    seen: list[int] = []
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    Flow.range(3).for_each(seen.append).subscribe(subscriber)
    assert seen == [0, 1, 2]
    subscriber.assert_elements()
    subscriber.assert_completed()


BAD_ARGUMENTS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "reduce": (lambda flow: flow.reduce(0, 1), "reduce needs a function, not 1"),
    "reduce without a seed": (lambda flow: flow.reduce(1), "reduce needs a function, not 1"),
    "collect": (lambda flow: flow.collect([]), "collect needs a function, not"),
    "for_each": (lambda flow: flow.for_each("print"), "for_each needs a function, not 'print'"),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_what_is_no_function_is_refused_at_assembly(name: str) -> None:
    assemble, message = BAD_ARGUMENTS[name]
    with pytest.raises(TypeError, match=message):
        assemble(Flow.range(3))
