"""A broadcast against the obvious model: each subscriber reads its own slice of one list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

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

from penstock import UNBOUNDED, Broadcast
from penstock.flow.multicast.broadcast import BroadcastState
from penstock.runtime import VirtualTime
from tests.rules.parties import Recorder, SpySubscription


@dataclass
class Reader:
    """What the model knows of a subscriber: it reads from ``start`` as much as it requested."""

    recorder: Recorder
    start: int

    @property
    def position(self) -> int:
        return self.start + len(self.recorder.elements)

    @property
    def waits(self) -> bool:
        return self.recorder.requested > len(self.recorder.elements)


class BroadcastMachine(RuleBasedStateMachine):
    """Anybody may do anything that the rules allow, at any time."""

    @initialize(
        capacity=st.integers(1, 9),
        newcomers=st.sampled_from(["oldest", "next"]),
        eager=st.booleans(),
        on_executor=st.booleans(),
    )
    def start(
        self, capacity: int, newcomers: Literal["oldest", "next"], eager: bool, on_executor: bool
    ) -> None:
        self.time = VirtualTime()
        self.capacity = capacity
        self.newcomers = newcomers
        self.eager = eager
        self.broadcast = Broadcast[int](
            capacity,
            newcomers=newcomers,
            eager=eager,
            executor=self.time if on_executor else None,
        )
        self.spy = SpySubscription()
        self.broadcast.on_subscribe(self.spy)
        self.sent: list[int] = []
        self.readers: list[Reader] = []
        self.oldest = 0
        self.wanted = 0
        self.over = False

    @rule(demand=st.integers(0, 6))
    def join(self, demand: int) -> None:
        self.note_the_oldest()
        recorder = Recorder(demand)
        from_oldest = self.newcomers == "oldest" or not self.readers
        reader = Reader(recorder, self.oldest if from_oldest else len(self.sent))
        kept_for_the_first = not self.readers and self.oldest < len(self.sent)
        self.broadcast.subscribe(recorder)
        self.time.settle()
        if self.broadcast.state is BroadcastState.ACTIVE or kept_for_the_first:
            self.readers.append(reader)
        else:
            assert recorder.signals == ["on_subscribe", "on_complete"]

    @precondition(lambda self: self.readers)
    @rule(which=st.integers(0, 99), demand=st.integers(1, 6) | st.just(UNBOUNDED))
    def request(self, which: int, demand: int) -> None:
        self.readers[which % len(self.readers)].recorder.request(demand)
        self.time.settle()

    @precondition(lambda self: self.readers)
    @rule(which=st.integers(0, 99))
    def cancel(self, which: int) -> None:
        self.note_the_oldest()
        leaving = self.readers.pop(which % len(self.readers))
        self.wanted = max(self.wanted, leaving.start + leaving.recorder.requested)
        leaving.recorder.cancel()
        self.time.settle()
        assert not leaving.recorder.ended
        assert leaving.recorder.faults == []
        if not self.readers:
            self.oldest = leaving.position

    @precondition(lambda self: not self.over and self.spy.requested > len(self.sent))
    @rule(burst=st.integers(1, 5))
    def send(self, burst: int) -> None:
        for _ in range(min(burst, self.spy.requested - len(self.sent))):
            self.sent.append(len(self.sent))
            self.broadcast.on_next(self.sent[-1])
        self.time.settle()

    @precondition(lambda self: not self.over and len(self.sent) > 8)
    @rule()
    def complete(self) -> None:
        self.over = True
        self.broadcast.on_complete()
        self.time.settle()

    def note_the_oldest(self) -> None:
        if self.readers:
            self.oldest = min(reader.position for reader in self.readers)

    @invariant()
    def every_reader_has_its_slice(self) -> None:
        for reader in self.readers:
            there = self.sent[reader.start :]
            assert reader.recorder.elements == there[: reader.recorder.requested]
            assert reader.recorder.faults == []
            at_end = reader.position == len(self.sent)
            assert reader.recorder.completed is (self.over and at_end)
        had_readers = bool(self.readers)
        self.readers = [reader for reader in self.readers if not reader.recorder.completed]
        if had_readers and not self.readers:
            self.oldest = len(self.sent)  # the last of them has taken everything

    @invariant()
    def no_more_is_asked_for_than_fits_and_is_wanted(self) -> None:
        self.note_the_oldest()
        for reader in self.readers:
            self.wanted = max(self.wanted, reader.start + reader.recorder.requested)
        assert self.spy.requested <= self.oldest + self.capacity
        if not self.eager:
            assert self.spy.requested <= self.wanted

    @invariant()
    def nobody_waits_while_there_is_room(self) -> None:
        self.note_the_oldest()
        room = len(self.sent) - self.oldest < self.capacity
        if room and not self.over and any(reader.waits for reader in self.readers):
            assert self.spy.requested > len(self.sent)


def test_a_broadcast_gives_each_subscriber_its_slice_and_stalls_nobody() -> None:
    run_state_machine_as_test(
        BroadcastMachine, settings=settings(max_examples=60, stateful_step_count=40)
    )
