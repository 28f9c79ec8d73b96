"""``default_if_empty`` and ``switch_if_empty``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Flow, IterablePublisher, ThreadPool
from penstock.tck import verify_operator
from penstock.testing import ManualPublisher, ManualSubscriber


def test_the_default_waits_for_demand_and_is_the_last_element() -> None:
    subscriber: ManualSubscriber[str] = ManualSubscriber()
    Flow.empty().default_if_empty("nothing").subscribe(subscriber)
    subscriber.assert_elements()
    subscriber.request(1)
    subscriber.assert_elements("nothing")
    subscriber.assert_completed()


def test_what_is_there_completes_without_demand_after_the_last_element() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=2)
    Flow.of(1, 2).default_if_empty(0).subscribe(subscriber)
    subscriber.assert_elements(1, 2)
    subscriber.assert_completed()


def test_an_error_is_no_empty_flow() -> None:
    with pytest.raises(OSError, match="down"):
        Flow.error(OSError("down")).default_if_empty(0).run_sync()


def test_the_other_publisher_is_subscribed_to_only_if_it_is_needed() -> None:
    other: ManualPublisher[int] = ManualPublisher()
    assert Flow.of(1).switch_if_empty(other).to_list().run_sync() == [1]
    assert not other.subscribed


def test_the_other_publisher_is_asked_for_what_is_wanted_and_cancelled() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    other: ManualPublisher[int] = ManualPublisher()
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=3)
    Flow.from_publisher(first).switch_if_empty(other).subscribe(subscriber)
    assert not other.subscribed
    first.complete()
    assert other.requested == 3
    other.next(7)
    subscriber.assert_elements(7)
    subscriber.cancel()
    assert other.cancelled


def test_the_other_publisher_completes_the_stream_without_demand() -> None:
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    Flow.empty().switch_if_empty(IterablePublisher(())).subscribe(subscriber)
    subscriber.assert_completed()


def test_an_error_of_the_other_publisher_ends_the_stream() -> None:
    with pytest.raises(OSError, match="down"):
        Flow.empty().switch_if_empty(Flow.error(OSError("down"))).run_sync()


def test_a_flow_on_other_threads_can_take_the_place_of_an_empty_one() -> None:
    with ThreadPool(2) as threads:
        empty = Flow.range(1_000).publish_on(threads).filter(lambda x: x < 0)
        other = Flow.range(1_000).publish_on(threads)
        assert empty.switch_if_empty(other).to_list().run_sync() == list(range(1_000))


FLOW: Any = Flow.of(1)
"""For what a type checker would refuse."""


@pytest.mark.parametrize(
    ("assemble", "words"),
    [
        (lambda: FLOW.default_if_empty(None), "default_if_empty needs an element"),
        (lambda: FLOW.switch_if_empty([1]), r"switch_if_empty needs a publisher, not \[1\]"),
    ],
)
def test_bad_input_is_refused_at_assembly(assemble: Callable[[], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        assemble()


@pytest.mark.full
def test_default_if_empty_keeps_the_rules() -> None:
    verify_operator(
        lambda source: Flow.from_publisher(source).default_if_empty(-1),
        expected=lambda elements: elements or [-1],
    ).raise_if_failed()
