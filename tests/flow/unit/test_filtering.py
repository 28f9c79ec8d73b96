"""What leaves elements out: the end without demand, cancels, bounds, bad arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import UNBOUNDED
from penstock.flow import Flow, X
from penstock.testing import ManualPublisher, ManualSubscriber


@pytest.fixture
def upstream() -> ManualPublisher[int]:
    return ManualPublisher()


def test_take_completes_and_cancels_with_the_last_element(upstream: ManualPublisher[int]) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    Flow.from_publisher(upstream).take(2).subscribe(subscriber)
    upstream.next(1)
    subscriber.assert_not_ended()
    upstream.next(2)
    subscriber.assert_elements(1, 2)
    subscriber.assert_completed()
    assert upstream.cancelled


@pytest.mark.parametrize("count", [1, 2, 8, 300])
def test_take_never_asks_for_more_than_it_takes(upstream: ManualPublisher[int], count: int) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=UNBOUNDED)
    Flow.from_publisher(upstream).map(X + 1).take(count).subscribe(subscriber)
    for number in range(count):
        upstream.next(number)
    subscriber.assert_completed()
    assert upstream.requested == count


def test_take_asks_for_no_more_than_is_wanted(upstream: ManualPublisher[int]) -> None:
    Flow.from_publisher(upstream).take(5).subscribe(ManualSubscriber(request=2))
    assert upstream.requests == [2]


def test_take_of_nothing_completes_without_demand_and_never_subscribes(
    upstream: ManualPublisher[int],
) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    Flow.from_publisher(upstream).take(0).subscribe(subscriber)
    subscriber.assert_completed()
    assert not upstream.subscribed


def test_take_ends_after_a_last_element_that_a_filter_leaves_out(
    upstream: ManualPublisher[int],
) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.from_publisher(upstream).take(1).filter(X > 5).subscribe(subscriber)
    upstream.next(1)
    subscriber.assert_completed()
    assert upstream.cancelled


def test_a_result_of_taken_elements_cancels_upstream_before_it_is_wanted(
    upstream: ManualPublisher[int],
) -> None:
    cancelled: list[bool] = []

    def note_cancelled(count: int) -> int:
        cancelled.append(upstream.cancelled)
        return count

    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.from_publisher(upstream).take(2).count().map(note_cancelled).subscribe(subscriber)
    upstream.next(1)
    upstream.next(2)
    subscriber.assert_elements(2)
    assert cancelled == [True]


def test_take_while_cancels_at_the_first_element_that_does_not_fit(
    upstream: ManualPublisher[int],
) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=5)
    Flow.from_publisher(upstream).take_while(X < 3).subscribe(subscriber)
    upstream.next(1, 3)
    subscriber.assert_elements(1)
    subscriber.assert_completed()
    assert upstream.cancelled


def test_an_inclusive_take_while_completes_and_cancels_with_the_last_element(
    upstream: ManualPublisher[int],
) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    Flow.from_publisher(upstream).take_while(X < 3, inclusive=True).subscribe(subscriber)
    upstream.next(1, 3)
    subscriber.assert_elements(1, 3)
    subscriber.assert_completed()
    assert upstream.cancelled


def test_skip_replaces_what_it_leaves_out(upstream: ManualPublisher[int]) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.from_publisher(upstream).skip(2).subscribe(subscriber)
    upstream.next(1)
    upstream.next(2)
    upstream.next(3)
    subscriber.assert_elements(3)
    assert upstream.requested == 3


def test_skip_while_asks_its_condition_no_more_once_it_did_not_hold() -> None:
    asked: list[int] = []

    def small(x: int) -> bool:
        asked.append(x)
        return x < 2

    flow = Flow.range(5).skip_while(small)
    assert flow.to_list().run_sync() == [2, 3, 4]
    assert asked == [0, 1, 2]


def test_first_of_an_endless_flow_asks_for_one_element(upstream: ManualPublisher[int]) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=UNBOUNDED)
    Flow.from_publisher(upstream).first().subscribe(subscriber)
    assert upstream.requested == 1
    upstream.next(7)
    subscriber.assert_elements(7)
    subscriber.assert_completed()
    assert upstream.cancelled


def test_first_and_last_of_an_empty_flow_are_empty() -> None:
    empty: Flow[int] = Flow.of()
    assert empty.first().to_list().run_sync() == []
    assert empty.last().to_list().run_sync() == []


def test_single_of_nothing_fails_and_says_so() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    Flow.of().single().subscribe(subscriber)
    subscriber.request(1)
    subscriber.assert_failed(ValueError, match="exactly one element, and none came; first allows")
    assert subscriber.error is not None
    assert subscriber.error.__notes__[0].startswith("in single")


def test_single_fails_and_cancels_at_the_second_element(upstream: ManualPublisher[int]) -> None:
    discarded: list[int] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    flow = Flow.from_publisher(upstream).do_on_discard(discarded.append)
    flow.single().subscribe(subscriber)
    assert upstream.requested == 2
    upstream.next(7, 8)
    subscriber.assert_elements()
    subscriber.assert_failed(ValueError, match="exactly one element, and two came, 7 and 8; first")
    assert upstream.cancelled
    assert discarded == [7]


def test_last_completes_without_another_request(upstream: ManualPublisher[int]) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.from_publisher(upstream).last().subscribe(subscriber)
    upstream.next(1, 2, 3)
    upstream.complete()
    subscriber.assert_elements(3)
    subscriber.assert_completed()


def test_take_last_gives_what_it_holds_as_it_is_wanted(upstream: ManualPublisher[int]) -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    Flow.from_publisher(upstream).take_last(2).subscribe(subscriber)
    upstream.next(1, 2, 3)
    upstream.complete()
    subscriber.assert_elements(2)
    subscriber.assert_not_ended()
    subscriber.request(1)
    subscriber.assert_elements(2, 3)
    subscriber.assert_completed()


@pytest.mark.parametrize(("completes", "lost"), [(False, [2, 3, 4]), (True, [3, 4])])
def test_elements_that_take_last_holds_are_discarded_when_it_is_cancelled(
    upstream: ManualPublisher[int], completes: bool, lost: list[int]
) -> None:
    discarded: list[int] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    flow = Flow.from_publisher(upstream).do_on_discard(discarded.append)
    flow.take_last(3).subscribe(subscriber)
    upstream.next(1, 2, 3, 4)
    if completes:
        upstream.complete()
    subscriber.cancel()
    assert discarded == lost


def test_skip_last_asks_for_as_many_more_as_it_holds(upstream: ManualPublisher[int]) -> None:
    discarded: list[int] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    flow = Flow.from_publisher(upstream).do_on_discard(discarded.append)
    flow.skip_last(2).subscribe(subscriber)
    for number in range(3):
        upstream.next(number)
    subscriber.assert_elements(0)
    assert upstream.requested == 3
    upstream.complete()
    subscriber.assert_completed()
    assert discarded == [1, 2]


def test_distinct_fails_beyond_its_capacity_and_names_ways_out() -> None:
    flow = Flow.range(9).distinct(capacity=3)
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=9)
    flow.subscribe(subscriber)
    subscriber.assert_elements(0, 1, 2)
    subscriber.assert_failed(
        OverflowError, match="distinct has seen 3 different keys.*larger capacity.*fewer values"
    )


def test_distinct_within_its_capacity_goes_on_without_end() -> None:
    flow = Flow.range(1_000).distinct(X % 3, capacity=3)
    assert flow.to_list().run_sync() == [0, 1, 2]


def test_distinct_says_which_operator_got_a_key_without_hash() -> None:
    flow = Flow.of([1], [2]).distinct()
    with pytest.raises(TypeError, match="unhashable") as raised:
        flow.run_sync()
    assert raised.value.__notes__[0].startswith("in distinct")


def test_distinct_forgets_between_runs() -> None:
    flow = Flow.of(1, 1).distinct().to_list()
    assert flow.run_sync() == [1]
    assert flow.run_sync() == [1]


def test_distinct_until_changed_takes_keys_that_are_none() -> None:
    flow = Flow.of("a", "b", "ab").distinct_until_changed({"ab": 1}.get)
    assert flow.to_list().run_sync() == ["a", "ab"]


def test_distinct_until_changed_compares_the_previous_key_with_the_current_one() -> None:
    compared: list[tuple[str, str]] = []

    def equal(previous: str, current: str) -> bool:
        compared.append((previous, current))
        return previous == current

    flow = Flow.of("a", "A", "b").distinct_until_changed(str.lower, equal=equal)
    assert flow.to_list().run_sync() == ["a", "b"]
    assert compared == [("a", "a"), ("a", "b")]


class Choosy:
    """A key that cannot be compared with anything else."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, x: int) -> None:
        self._x = x

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, Choosy)
        return self._x == other._x


def test_distinct_until_changed_compares_keys_with_each_other_only() -> None:
    flow = Flow.of(1, 1, 2).distinct_until_changed(Choosy)
    assert flow.to_list().run_sync() == [1, 2]


BAD_ARGUMENTS: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "a negative take": (lambda flow: flow.take(-1), ValueError, "take: count must be at least 0"),
    "a take of text": (lambda flow: flow.take("3"), TypeError, "take: count must be an int"),
    "a take of True": (lambda flow: flow.take(True), TypeError, "take: count must be an int"),
    "a negative skip": (lambda flow: flow.skip(-1), ValueError, "skip: count must be at least 0"),
    "no condition": (lambda flow: flow.take_while(1), TypeError, "take_while needs a function"),
    "a wrong condition": (lambda flow: flow.skip_while(None), TypeError, "skip_while needs a func"),
    "a wrong first": (lambda flow: flow.first(3), TypeError, "first needs a function, not 3"),
    "a wrong key": (lambda flow: flow.distinct(0), TypeError, "distinct needs a function, not 0"),
    "no capacity": (
        lambda flow: flow.distinct(capacity=0),
        ValueError,
        "distinct: capacity must be at least 1, not 0",
    ),
    "another wrong key": (
        lambda flow: flow.distinct_until_changed("key"),
        TypeError,
        "distinct_until_changed needs a function, not 'key'",
    ),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_bad_arguments_are_refused_at_assembly(name: str) -> None:
    assemble, kind, message = BAD_ARGUMENTS[name]
    with pytest.raises(kind, match=message):
        assemble(Flow.range(3))
