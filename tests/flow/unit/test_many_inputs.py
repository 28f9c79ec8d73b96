"""An operator with many inputs: those that wait cost next to nothing."""

from __future__ import annotations

import pytest

from penstock import UNBOUNDED, Flow
from penstock.flow.operators.inputs import InputElements
from penstock.testing import ManualPublisher, ManualSubscriber

INPUTS = 50


@pytest.fixture
def peeks(monkeypatch: pytest.MonkeyPatch) -> list[InputElements]:
    """Those that were pulled for what they have, in order."""
    pulled: list[InputElements] = []
    peek = InputElements.peek

    def noted(self: InputElements) -> bool:
        pulled.append(self)
        return peek(self)

    monkeypatch.setattr(InputElements, "peek", noted)
    return pulled


@pytest.fixture
def publishers() -> list[ManualPublisher[int]]:
    return [ManualPublisher() for _ in range(INPUTS)]


def merged(publishers: list[ManualPublisher[int]], subscriber: ManualSubscriber[int]) -> None:
    flow = Flow.from_iterable(publishers).flat_map(Flow.from_publisher, concurrency=INPUTS)
    flow.subscribe(subscriber)


def test_inputs_that_wait_are_not_pulled_for_the_elements_of_another(
    publishers: list[ManualPublisher[int]], peeks: list[InputElements]
) -> None:
    merged(publishers, subscriber := ManualSubscriber[int](request=UNBOUNDED))
    peeks.clear()
    for number in range(10):
        publishers[7].next(number)
    assert subscriber.elements == [*range(10)]
    assert len(set(peeks)) <= 2  # the one that has something, and the outer stream


def test_inputs_that_wait_are_asked_for_more_when_more_is_wanted(
    publishers: list[ManualPublisher[int]],
) -> None:
    merged(publishers, subscriber := ManualSubscriber[int](request=1))
    assert {publisher.requested for publisher in publishers} == {1}
    subscriber.request(4)
    assert {publisher.requested for publisher in publishers} == {5}


def test_inputs_that_wait_are_woken_by_what_is_deep_within(
    publishers: list[ManualPublisher[int]],
) -> None:
    halves = [publishers[:25], publishers[25:]]
    flow = Flow.from_iterable(halves).flat_map(
        lambda half: Flow.from_iterable(half).flat_map(
            lambda publisher: Flow.merge(publisher, Flow.never())
        )
    )
    flow.subscribe(subscriber := ManualSubscriber[int](request=UNBOUNDED))
    for number, publisher in enumerate(publishers):
        publisher.next(number)
    assert subscriber.elements == [*range(INPUTS)]
