"""A replay against the obvious model: a list, and from where in it each subscriber reads."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock import Flow
from penstock.testing import ManualPublisher, ManualSubscriber


@dataclass
class Reader:
    """What the model knows of a subscriber: it reads from ``start`` as much as it requested."""

    subscriber: ManualSubscriber[int]
    start: int
    requested: int


class ReplayMachine(RuleBasedStateMachine):
    """Subscribers come and go, all of them at times, while a source goes on.

    ``taken``   how many elements the run has taken: all of them while nobody is there, else as many
                as the one who wants most wants
    ``wanted``  how many somebody wanted, since the last time that nobody was there
    """

    @initialize(kept=st.integers(1, 4))
    def start(self, kept: int) -> None:
        self.kept = kept
        self.publisher = ManualPublisher[int]()
        self.shared = Flow.from_publisher(self.publisher).replay(kept)
        self.started = False
        self.sent: list[int] = []
        self.readers: list[Reader] = []
        self.taken = 0
        self.wanted = 0

    @rule(demand=st.integers(0, 6))
    def join(self, demand: int) -> None:
        reader = Reader(ManualSubscriber(request=demand), max(self.taken - self.kept, 0), demand)
        self.shared.subscribe(reader.subscriber)
        self.readers.append(reader)
        self.started = True
        self.take()

    @precondition(lambda self: self.readers)
    @rule(which=st.integers(0, 99), demand=st.integers(1, 6))
    def request(self, which: int, demand: int) -> None:
        reader = self.readers[which % len(self.readers)]
        reader.requested += demand
        reader.subscriber.request(demand)
        self.take()

    @precondition(lambda self: self.readers)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        self.readers.pop(which % len(self.readers)).subscriber.cancel()
        self.take()

    @precondition(lambda self: self.started and self.publisher.outstanding)
    @rule(burst=st.integers(1, 5))
    def send(self, burst: int) -> None:
        for _ in range(min(burst, self.publisher.outstanding)):
            self.sent.append(len(self.sent))
            self.publisher.next(self.sent[-1])
            self.take()

    def take(self) -> None:
        if self.readers:
            wants = (reader.start + reader.requested for reader in self.readers)
            self.wanted = max(self.wanted, *wants)
            self.taken = max(self.taken, min(self.wanted, len(self.sent)))
        else:
            self.wanted = 0
            self.taken = len(self.sent)

    @invariant()
    def every_reader_has_its_slice(self) -> None:
        for reader in self.readers:
            there = self.sent[reader.start : self.taken]
            assert reader.subscriber.elements == there[: reader.requested]
            reader.subscriber.assert_no_rule_broken()

    @invariant()
    def what_is_asked_for_is_bounded_and_never_nothing_without_readers(self) -> None:
        if self.started:
            assert self.publisher.outstanding <= 256
            assert self.readers or self.publisher.outstanding


def test_a_replay_gives_each_subscriber_its_slice_and_goes_on_without_any() -> None:
    run_state_machine_as_test(
        ReplayMachine, settings=settings(max_examples=60, stateful_step_count=40)
    )
