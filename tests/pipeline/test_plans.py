"""Where a flow is known to give one element for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Flow, ThreadPool
from penstock.pipeline.engine import gives_one_for_each
from penstock.testing import ManualPublisher

Change = Callable[[Flow[Any]], Flow[Any]]


def source() -> Flow[int]:
    return Flow.from_iterable(range(3)).filter(lambda number: number != 1)


LEVEL: dict[str, Change] = {
    "nothing": lambda flow: flow,
    "map": lambda flow: flow.map(str),
    "look and map": lambda flow: flow.do_on_next(print).map(str),
    "publish_on and map": lambda flow: flow.publish_on(ThreadPool()).map(str),
    "map, limit_rate and publish_on": lambda flow: (
        flow.map(str).limit_rate(2).publish_on(ThreadPool())
    ),
}
OTHERS: dict[str, Change] = {
    "filter": lambda flow: flow.filter(bool),
    "buffer": lambda flow: flow.map(str).buffer(2),
    "filter upstream of publish_on": lambda flow: flow.filter(bool).publish_on(ThreadPool()),
    "filter downstream of publish_on": lambda flow: flow.publish_on(ThreadPool()).filter(bool),
    "merge": lambda flow: Flow.merge(flow, Flow.of(1)),
    "zip": lambda flow: Flow.zip(flow, flow),
    "another flow": lambda flow: Flow.of(1, 2),
}


@pytest.mark.parametrize("change", LEVEL.values(), ids=LEVEL)
def test_what_changes_each_element_alone_keeps_their_number(change: Change) -> None:
    flow = source()
    assert gives_one_for_each(change(flow), flow)


@pytest.mark.parametrize("change", OTHERS.values(), ids=OTHERS)
def test_of_all_else_nobody_knows_whether_it_does(change: Change) -> None:
    flow = source()
    assert not gives_one_for_each(change(flow), flow)


def test_a_flow_with_the_same_origin_may_lack_a_stage_of_the_other() -> None:
    origin = Flow.from_iterable(range(3))
    assert not gives_one_for_each(origin.map(str), origin.map(str))
    assert not gives_one_for_each(origin, origin.filter(bool))


def test_of_a_foreign_publisher_nothing_is_known() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    assert gives_one_for_each(publisher, publisher)
    assert not gives_one_for_each(publisher, Flow.of(1))
    assert not gives_one_for_each(Flow.of(1), publisher)
