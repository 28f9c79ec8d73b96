"""Spark as a processor: it keeps the rules as any other does."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Flow, Subscriber, Subscription
from penstock.spark import SparkProcessor
from penstock.tck import verify_processor
from penstock.tck.jvm.official_kit import Subject, subject_of
from penstock.tck.jvm.runner import judge
from penstock.testing import ManualPublisher, ManualSubscriber

SECONDS = 60.0
PATIENCE = 30.0
"""Of the official kit, in seconds of the clock; it has to start Spark, too."""

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(1_800)]


class Identity:
    """Numbers through Spark and back: rows are made upstream of it, and undone downstream."""

    def __init__(self) -> None:
        self._through: SparkProcessor = SparkProcessor("number long", name="identity")
        self._downstream = Flow.from_publisher(self._through).map(lambda row: row.number)

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        self._downstream.subscribe(subscriber)

    def on_subscribe(self, subscription: Subscription) -> None:
        self._through.on_subscribe(subscription)

    def on_next(self, element: Any) -> None:
        self._through.on_next(None if element is None else (element,))

    def on_error(self, error: Exception) -> None:
        self._through.on_error(error)

    def on_complete(self) -> None:
        self._through.on_complete()


def identities() -> list[Subject]:
    return [subject_of("processor", Identity, {})]


def test_elements_pass_in_order() -> None:
    identity = Identity()
    Flow.range(300).subscribe(identity)
    assert Flow.from_publisher(identity).to_list().run_sync() == [*range(300)]


def test_a_transform_says_what_happens_on_spark() -> None:
    double = SparkProcessor(
        "number long", lambda flow: flow.map(lambda row: (row.number * 2,)), name="double"
    )
    Flow.of((1,), (2,)).subscribe(double)
    rows = Flow.from_publisher(double).to_list().run_sync() or []
    assert [row.number for row in rows] == [2, 4]


def test_a_second_subscriber_is_refused() -> None:
    identity = Identity()
    source: ManualPublisher[int] = ManualPublisher()
    source.subscribe(identity)
    first: ManualSubscriber[int] = ManualSubscriber()
    second: ManualSubscriber[int] = ManualSubscriber()
    identity.subscribe(first)
    identity.subscribe(second)
    assert isinstance(second.error, RuntimeError)
    first.cancel()


@pytest.mark.full
def test_it_keeps_all_rules() -> None:
    verify_processor(Identity, answers_within=SECONDS).raise_if_failed()


@pytest.mark.full
@pytest.mark.outside_judge
def test_the_official_kit_finds_nothing() -> None:
    # Fresh: a copy of this process would speak to Spark on the same connections as this one.
    (report,) = judge(identities, fresh=True, limit=1_500, patience=PATIENCE)
    report.raise_if_failed()


def test_it_never_sends_more_than_was_requested() -> None:
    verify_processor(Identity, rules=["1.1"], answers_within=SECONDS).raise_if_failed()
