"""The function ``guard``: what it takes, what it makes of it, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.api import Processor, Publisher, Subscriber
from penstock.core import IdentityProcessor
from penstock.examples import IterablePublisher
from penstock.guard import GuardedProcessor, GuardedPublisher, GuardedSubscriber, guard
from tests.guard.unit import broken_publishers as broken
from tests.guard.unit.conformant import Recorder


def test_a_publisher_stays_a_publisher_and_nothing_else() -> None:
    guarded = guard(IterablePublisher([1]))
    assert type(guarded) is GuardedPublisher
    assert isinstance(guarded, Publisher)
    assert not isinstance(guarded, Subscriber)


def test_a_subscriber_stays_a_subscriber_and_nothing_else() -> None:
    guarded = guard(Recorder[int]())
    assert type(guarded) is GuardedSubscriber
    assert isinstance(guarded, Subscriber)
    assert not isinstance(guarded, Publisher)


def test_a_processor_stays_a_processor() -> None:
    guarded = guard(IdentityProcessor[int]())
    assert type(guarded) is GuardedProcessor
    assert isinstance(guarded, Processor)


class SubscriberWithoutAnEnd:
    def on_subscribe(self, subscription: object) -> None: ...

    def on_next(self, element: object) -> None: ...


@pytest.mark.parametrize(
    ("party", "lacks"),
    [
        (SubscriberWithoutAnEnd(), "lacks on_error, on_complete"),
        (object(), "lacks on_subscribe, on_next, on_error, on_complete"),
        (None, "NoneType is neither"),
    ],
)
def test_something_that_is_no_party_is_refused_with_what_it_lacks(party: Any, lacks: str) -> None:
    with pytest.raises(TypeError, match=lacks):
        guard(party)


@pytest.mark.parametrize(
    ("option", "error", "message"),
    [
        ({"name": 3}, TypeError, "name must be a str or None, not 3"),
        ({"on_violation": 3}, TypeError, "on_violation must be callable or None, not 3"),
        ({"recursion_limit": 0}, ValueError, "recursion_limit must be at least 1, not 0"),
    ],
    ids=["name", "on_violation", "recursion_limit"],
)
def test_a_bad_option_is_refused_at_once(
    option: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        guard(IterablePublisher([1]), **option)


def test_the_guard_shows_what_it_guards() -> None:
    assert repr(guard(IterablePublisher([1]))) == "guard(publisher IterablePublisher)"
    assert repr(guard(Recorder[int](), name="sink")) == "guard(subscriber sink)"


def test_the_recursion_limit_is_an_option() -> None:
    def depth_of(limit: int) -> int:
        publisher = guard(
            broken.Recursive(elements=100), recursion_limit=limit, on_violation=lambda _: None
        )
        subscriber = Deepening()
        publisher.subscribe(subscriber)
        return subscriber.deepest

    assert [depth_of(1), depth_of(5)] == [1, 5]


class Deepening(Recorder[int]):
    """Asks from within ``on_subscribe`` and ``on_next``; measures how deep that leads."""

    def __init__(self) -> None:
        super().__init__(asks_for=1)
        self.depth = self.deepest = 0

    def on_next(self, element: int) -> None:
        self.depth += 1
        self.deepest = max(self.depth, self.deepest)
        self.request(1)
        self.depth -= 1
