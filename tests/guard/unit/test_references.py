"""Rule 3.13 with a guard in between: nobody is kept alive by it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from penstock.api import Publisher, Subscriber
from penstock.examples import IterablePublisher
from penstock.guard import guard
from tests.guard.unit import broken_publishers as broken
from tests.guard.unit import broken_subscribers
from tests.guard.unit.conformant import ByHand, Recorder


@pytest.fixture(autouse=True)
def without_garbage_collection() -> Iterator[None]:
    """What is dropped has to die at once, not because the collector finds it some day."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Hoarder(ByHand[int]):
    """Breaks rule 3.13: keeps every subscriber for ever."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[Subscriber[int]] = []

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self.kept.append(subscriber)
        super().subscribe(subscriber)


def test_a_cancelled_subscriber_dies_though_the_publisher_keeps_what_it_got() -> None:
    party = Hoarder()
    publisher = guard(party)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    subscriber.cancel()
    watch = weakref.ref(subscriber)
    del subscriber
    assert watch() is None
    assert party.kept


@pytest.mark.parametrize("ending", ["on_error", "on_complete", "violation"])
def test_a_subscriber_dies_after_the_end_though_the_publisher_keeps_what_it_got(
    ending: str,
) -> None:
    party = Hoarder()
    publisher = guard(party, on_violation=lambda _: None)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    if ending == "on_error":
        party.fail(OSError())
    elif ending == "on_complete":
        party.complete()
    else:
        party.send(1, 2)
    watch = weakref.ref(subscriber)
    del subscriber
    assert watch() is None


@pytest.mark.parametrize(
    "party", [broken.FailsTooEarly(), broken.RaisesInSubscribe()], ids=["early", "raises"]
)
def test_a_subscriber_dies_whose_stream_never_began(party: Publisher[int]) -> None:
    publisher = guard(party, on_violation=lambda _: None)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    watch = weakref.ref(subscriber)
    del subscriber
    assert watch() is None
    assert publisher.violations


def test_raising_the_violation_does_not_tie_the_subscriber_to_the_guard() -> None:
    publisher = guard(broken.OneTooMany(), on_violation=lambda _: None)
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    with pytest.raises(RuntimeError):
        raise subscriber.error
    watch = weakref.ref(subscriber)
    del subscriber
    assert watch() is None
    assert publisher.violations


@pytest.mark.parametrize("signal", ["on_next", "on_complete"])
def test_a_guarded_subscriber_that_raised_dies_though_the_guard_lives(signal: str) -> None:
    party = broken_subscribers.Raises(signal)
    subscriber = guard(party, on_violation=lambda _: None)
    IterablePublisher([1]).subscribe(subscriber)
    watch = weakref.ref(party)
    del party
    assert watch() is None
    assert subscriber.violations


def test_a_guarded_subscriber_dies_after_the_end_though_the_guard_lives() -> None:
    party: Recorder[int] = Recorder(asks_for=1)
    subscriber = guard(party)
    IterablePublisher([1]).subscribe(subscriber)
    watch = weakref.ref(party)
    del party
    assert watch() is None
    assert subscriber.violations == ()


def test_a_guarded_subscriber_that_cancelled_dies_with_its_guard() -> None:
    party: Recorder[int] = Recorder(asks_for=1)
    subscriber = guard(party)
    IterablePublisher([1, 2]).subscribe(subscriber)
    party.cancel()
    watch = weakref.ref(party)
    del party, subscriber
    assert watch() is None


def test_a_guarded_stream_dies_with_the_two_parties_that_it_joins() -> None:
    publisher = guard(IterablePublisher([1, 2]))
    subscriber: Recorder[int] = Recorder(asks_for=1)
    publisher.subscribe(subscriber)
    assert subscriber.subscription is not None
    watch = weakref.ref(subscriber)
    subscriber.cancel()
    del subscriber
    assert watch() is None
    assert len(publisher._streams) == 0
