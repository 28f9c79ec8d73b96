"""A guarded processor: both sides are watched, and both sides are unharmed."""

from __future__ import annotations

from penstock.api import Subscriber, Subscription
from penstock.core import IdentityProcessor
from penstock.examples import IterablePublisher
from penstock.flow.multicast.broadcast import Broadcast
from penstock.guard import GuardedProcessor, guard
from penstock.rules import RuleViolation
from tests.guard.unit.conformant import ByHand, OneByOne, Recorder


class CallsInComplete(IdentityProcessor[int]):
    """Breaks rule 2.3: cancels upstream from within ``on_complete``."""

    def on_subscribe(self, subscription: Subscription) -> None:
        self._upstream = subscription
        super().on_subscribe(subscription)

    def on_complete(self) -> None:
        self._upstream.cancel()
        super().on_complete()


class SendsTwice(IdentityProcessor[int]):
    """Breaks rule 1.1: sends each element once more, unasked."""

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self._downstream = subscriber
        super().subscribe(subscriber)

    def on_next(self, element: int) -> None:
        super().on_next(element)
        self._downstream.on_next(element)


class RaisesInOnNext(IdentityProcessor[int]):
    """Breaks rule 2.13: ``on_next`` raises."""

    def on_next(self, element: int) -> None:
        raise LookupError(element)


def guarded(processor: IdentityProcessor[int]) -> GuardedProcessor[int, int]:
    return guard(processor, on_violation=lambda _: None)


def rules(of: GuardedProcessor[int, int]) -> list[str]:
    return [violation.rule.number for violation in of.violations]


def test_a_conformant_processor_passes_everything_on() -> None:
    processor = guarded(IdentityProcessor())
    recorder: OneByOne[int] = OneByOne()
    processor.subscribe(recorder)
    IterablePublisher(range(50)).subscribe(processor)
    assert recorder.signals == ["on_subscribe", *range(50), "on_complete"]
    assert processor.violations == ()


def test_the_side_of_the_subscriber_is_watched() -> None:
    publisher: ByHand[int] = ByHand()
    processor = guarded(CallsInComplete())
    recorder: Recorder[int] = Recorder(asks_for=1)
    processor.subscribe(recorder)
    publisher.subscribe(processor)
    publisher.complete()
    assert rules(processor) == ["2.3"]
    assert publisher.calls == [1]


def test_the_side_of_the_publisher_is_watched() -> None:
    processor = guarded(SendsTwice())
    recorder: Recorder[int] = Recorder(asks_for=1)
    processor.subscribe(recorder)
    publisher: ByHand[int] = ByHand()
    publisher.subscribe(processor)
    publisher.send(1)
    assert rules(processor) == ["1.1"]
    assert recorder.signals[:-1] == ["on_subscribe", 1]
    assert publisher.calls == [1, "cancel"]


def test_the_subscribers_of_a_processor_that_raises_do_not_wait_for_ever() -> None:
    publisher: ByHand[int] = ByHand()
    processor = guarded(RaisesInOnNext())
    recorder: Recorder[int] = Recorder(asks_for=2)
    processor.subscribe(recorder)
    publisher.subscribe(processor)
    publisher.send(1)
    assert rules(processor) == ["2.13"]
    assert publisher.calls == [2, "cancel"]
    assert isinstance(recorder.error, RuleViolation)
    assert recorder.error.rule.number == "2.13"


def test_a_processor_that_raises_is_cancelled_upstream_even_if_nobody_is_subscribed() -> None:
    publisher: ByHand[int] = ByHand()
    processor = guarded(RaisesInOnNext())
    publisher.subscribe(processor)
    publisher.send(1)
    assert rules(processor) == ["2.13"]
    assert publisher.calls == ["cancel"]


def test_every_subscriber_of_a_broadcast_has_a_stream_of_its_own() -> None:
    processor = guard(Broadcast[int](), on_violation=lambda _: None)
    first: Recorder[int] = Recorder(asks_for=2)
    second: Recorder[int] = Recorder(asks_for=5)
    processor.subscribe(first)
    processor.subscribe(second)
    IterablePublisher([1, 2, 3]).subscribe(processor)
    first.request(1)
    assert first.signals == second.signals == ["on_subscribe", 1, 2, 3, "on_complete"]
    assert processor.violations == ()
