"""``expand``: elements that lead to more of their kind."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from penstock import UNBOUNDED, CallingThread, Flow, Publisher
from penstock.flow.operators.inputs import TURN
from penstock.testing import ManualPublisher, ManualSubscriber

TREE = {"a": "bc", "b": "de", "c": "f", "f": "g"}


def children(name: str) -> Flow[str]:
    return Flow.from_iterable(TREE.get(name, ""))


def test_expand_goes_through_a_tree_level_by_level() -> None:
    assert Flow.of("a").expand(children).to_list().run_sync() == list("abcdefg")


def test_expand_gives_all_elements_of_upstream_first() -> None:
    assert Flow.of("b", "c").expand(children).to_list().run_sync() == list("bcdefg")


def test_expand_calls_its_function_when_an_element_is_wanted() -> None:
    called: list[int] = []

    def following(x: int) -> Flow[int]:
        called.append(x)
        return Flow.of(x + 1)

    subscriber: ManualSubscriber[int] = ManualSubscriber()
    Flow.of(0).expand(following).subscribe(subscriber)
    subscriber.request(1)
    subscriber.assert_elements(0)
    assert called == []
    subscriber.request(2)
    subscriber.assert_elements(0, 1, 2)
    assert called == [0, 1]


def test_expand_of_an_endless_chain_is_as_deep_as_a_loop_and_holds_one_element() -> None:
    flow = Flow.of(0).expand(lambda x: Flow.of(x + 1), capacity=1)
    assert flow.take(20_000).run_sync() == 19_999


def test_expand_completes_without_demand_if_there_was_nothing() -> None:
    upstream, subscriber = ManualPublisher[int](), ManualSubscriber[int]()
    Flow.from_publisher(upstream).expand(Flow.of).subscribe(subscriber)
    upstream.complete()
    subscriber.assert_completed()
    known, empty = ManualSubscriber[int](), Flow[int].empty()
    empty.expand(Flow.of).subscribe(known)
    known.assert_completed()


def test_expand_needs_demand_to_see_that_nothing_follows() -> None:
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=1)
    Flow.of("g").expand(children).subscribe(subscriber)
    subscriber.assert_elements("g")
    subscriber.assert_not_ended()
    subscriber.request(1)
    subscriber.assert_completed()


def test_expand_subscribes_to_one_publisher_after_the_other() -> None:
    made: dict[str, ManualPublisher[str]] = {}

    def inner(name: str) -> Publisher[str]:
        return made.setdefault(name, ManualPublisher())

    subscriber: ManualSubscriber[str] = ManualSubscriber(request=UNBOUNDED)
    Flow.of("a", "b").expand(inner).subscribe(subscriber)
    assert list(made) == ["a"]
    made["a"].next("c")
    made["a"].complete()
    assert list(made) == ["a", "b"]
    made["b"].complete()
    assert list(made) == ["a", "b", "c"]
    made["c"].complete()
    subscriber.assert_elements("a", "b", "c")
    subscriber.assert_completed()


def test_expand_takes_from_several_publishers_at_a_time() -> None:
    made: dict[str, ManualPublisher[str]] = {}

    def inner(name: str) -> Publisher[str]:
        return made.setdefault(name, ManualPublisher())

    subscriber: ManualSubscriber[str] = ManualSubscriber(request=UNBOUNDED)
    Flow.of("a", "b", "c").expand(inner, concurrency=2).subscribe(subscriber)
    assert list(made) == ["a", "b"]
    made["b"].next("d")
    made["a"].next("e")
    subscriber.assert_elements("a", "b", "c", "d", "e")
    made["b"].complete()
    assert list(made) == ["a", "b", "c"]
    subscriber.cancel()
    assert made["a"].cancelled
    assert made["c"].cancelled


def test_expand_says_how_many_elements_it_can_remember() -> None:
    discarded: list[int] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=UNBOUNDED)
    flow = Flow.from_iterable(count()).expand(lambda x: Flow[int].empty(), capacity=3)
    flow.do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.assert_elements(0, 1, 2)
    subscriber.assert_failed(OverflowError, match="expand has given 3 elements .* larger capacity")
    assert discarded == [3]


def test_expand_discards_nothing_that_was_delivered() -> None:
    discarded: list[str] = []
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=3)
    Flow.of("a").expand(children).do_on_discard(discarded.append).subscribe(subscriber)
    subscriber.cancel()
    subscriber.assert_elements("a", "b", "c")
    assert discarded == []


def test_expand_discards_what_was_not_delivered_and_not_what_is_still_to_be_expanded() -> None:
    upstream, discarded = ManualPublisher[str](), list[str]()
    subscriber: ManualSubscriber[str] = ManualSubscriber(request=1)
    ahead = Flow.from_publisher(upstream).publish_on(CallingThread())
    ahead.expand(children).do_on_discard(discarded.append).subscribe(subscriber)
    upstream.next("a", "b")
    upstream.complete()  # so the run looks for the end, also at what is to be expanded
    subscriber.cancel()
    subscriber.assert_elements("a")
    assert discarded == ["b"]


def test_expand_lets_others_through_besides_an_endless_flow() -> None:
    flow = Flow.of(1, 2).expand(lambda x: Flow.from_iterable(count(x * 10_000)), concurrency=2)
    received = flow.take(6 * TURN).to_list().run_sync()
    assert {x // 10_000 for x in received or ()} >= {1, 2}


@pytest.mark.parametrize("demand", [UNBOUNDED, 1], ids=["with demand", "without demand"])
def test_expand_passes_an_error_of_upstream_on(demand: int) -> None:
    upstream, subscriber = ManualPublisher[int](), ManualSubscriber[int](request=demand)
    Flow.from_publisher(upstream).expand(Flow.of).subscribe(subscriber)
    upstream.next(1)
    upstream.error(OSError("upstream"))
    subscriber.assert_elements(1)
    subscriber.assert_failed(OSError, match="upstream")


@pytest.mark.parametrize("concurrency", [1, 2])
def test_expand_fails_with_a_publisher_and_cancels_the_others(concurrency: int) -> None:
    upstream, inner = ManualPublisher[int](), ManualPublisher[int]()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=UNBOUNDED)
    flow = Flow.from_publisher(upstream).expand(lambda x: inner, concurrency)
    flow.subscribe(subscriber)
    upstream.next(1)
    assert inner.subscribed == (concurrency == 2)
    if concurrency == 1:
        upstream.complete()
    inner.error(OSError("inner"))
    subscriber.assert_failed(OSError, match="inner")
    assert upstream.cancelled == (concurrency == 2)


def test_expand_names_itself_where_its_function_fails() -> None:
    def fail(x: Any) -> Any:
        raise KeyError(x)

    with pytest.raises(KeyError) as raised:
        Flow.of("a").expand(fail).run_sync()
    assert raised.value.__notes__[0].startswith("in expand, assembled at")


def test_expand_refuses_what_is_no_publisher() -> None:
    with pytest.raises(TypeError, match="expand needs a publisher, not None"):
        Flow.of(1).expand(lambda x: None).run_sync()  # type: ignore[arg-type, return-value]
    with pytest.raises(
        TypeError, match=r"expand needs a publisher, not \[1\]; from_iterable makes"
    ):
        Flow.of(1).expand(lambda x: [x]).run_sync()  # type: ignore[arg-type, return-value]
