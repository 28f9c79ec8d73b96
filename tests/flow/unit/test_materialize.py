"""Signals as elements, and back again."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import UNBOUNDED, Flow, IterablePublisher
from penstock.flow import OnComplete, OnError, OnNext
from penstock.testing import ManualPublisher, ManualSubscriber


def test_the_end_is_an_element_that_needs_demand_and_the_end_after_it_needs_none() -> None:
    subscriber = ManualSubscriber[Any](request=2)
    Flow.of(1, 2).materialize().subscribe(subscriber)
    assert subscriber.elements == [OnNext(1), OnNext(2)]
    assert not subscriber.ended
    subscriber.request(1)
    assert subscriber.elements[2:] == [OnComplete()]
    assert subscriber.completed


def test_an_error_is_an_element_and_then_the_flow_completes() -> None:
    error = OSError("lost")
    publisher, subscriber = ManualPublisher[int](), ManualSubscriber[Any](request=1)
    Flow.from_publisher(publisher).materialize().subscribe(subscriber)
    publisher.error(error)
    assert subscriber.elements == [OnError(error)]
    assert subscriber.completed


def test_an_error_of_a_function_upstream_has_its_note() -> None:
    signals = Flow.of("2", "x").map(int).materialize().to_list().run_sync()
    assert signals is not None
    assert isinstance(signals[-1], OnError)
    assert signals[-1].error.__notes__[0].startswith("in map, assembled at")


def test_what_went_to_elements_comes_back() -> None:
    subscriber = ManualSubscriber[int](request=UNBOUNDED)
    flow = Flow.concat(Flow.of(1, 2), Flow.error(OSError("lost"))).materialize()
    flow.dematerialize().subscribe(subscriber)
    assert subscriber.elements == [1, 2]
    assert isinstance(subscriber.error, OSError)


def test_dematerialize_ends_with_the_first_signal_that_is_an_end() -> None:
    publisher, subscriber = ManualPublisher[Any](), ManualSubscriber[Any](request=9)
    Flow.from_publisher(publisher).dematerialize().subscribe(subscriber)
    publisher.next(OnNext(1), OnComplete())
    assert subscriber.elements == [1]
    assert subscriber.completed
    assert publisher.cancelled


def test_dematerialize_ends_with_upstream_without_such_a_signal() -> None:
    assert Flow.of(OnNext(1)).dematerialize().to_list().run_sync() == [1]


@pytest.mark.parametrize("element", [1, "text", OnNext, None])
def test_dematerialize_names_an_element_that_is_no_signal(element: Any) -> None:
    subscriber = ManualSubscriber[Any](request=9)
    Flow.from_iterable([OnNext(7), element]).dematerialize().subscribe(subscriber)
    assert subscriber.elements == [7]
    assert isinstance(subscriber.error, TypeError)
    assert "element" in str(subscriber.error)


def test_dematerialize_refuses_an_element_that_is_none() -> None:
    subscriber = ManualSubscriber[Any](request=9)
    Flow.of(OnNext(None)).dematerialize().subscribe(subscriber)
    assert isinstance(subscriber.error, TypeError)


def test_the_signals_are_those_that_a_subscriber_of_the_testing_tools_records() -> None:
    subscriber = ManualSubscriber[int](request=UNBOUNDED)
    Flow.range(3).subscribe(subscriber)
    _, *signals = subscriber.signals
    assert Flow.range(3).materialize().to_list().run_sync() == signals


def test_one_stage_in_several_inner_flows_ends_each_of_them() -> None:
    inner = Flow.from_publisher(IterablePublisher([1])).materialize()
    flow = Flow.range(3).flat_map(lambda _: inner)
    subscriber = ManualSubscriber[Any]()
    flow.subscribe(subscriber)
    for _ in range(6):
        subscriber.request(1)
    assert subscriber.elements.count(OnNext(1)) == subscriber.elements.count(OnComplete()) == 3
    assert subscriber.completed
