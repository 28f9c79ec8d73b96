"""The bounded buffer against a list, for any series of calls."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock.core import BoundedBuffer


class BufferBesideAList(RuleBasedStateMachine):
    """Does everything twice, to a buffer and to a list."""

    buffer: BoundedBuffer[int]

    @initialize(capacity=st.integers(1, 6))
    def start(self, capacity: int) -> None:
        self.buffer = BoundedBuffer(capacity)
        self.model: list[int] = []
        self.capacity = capacity
        self.peak = 0

    @rule(element=st.integers())
    def offer(self, element: int) -> None:
        fits = len(self.model) < self.capacity
        assert self.buffer.offer(element) is fits
        if fits:
            self.model.append(element)
            self.peak = max(self.peak, len(self.model))

    @precondition(lambda self: len(self.model) < self.capacity)
    @rule(element=st.integers())
    def put(self, element: int) -> None:
        self.buffer.put(element)
        self.model.append(element)
        self.peak = max(self.peak, len(self.model))

    @precondition(lambda self: len(self.model) == self.capacity)
    @rule(element=st.integers())
    def put_too_many(self, element: int) -> None:
        with pytest.raises(OverflowError, match=f"{self.capacity} of {self.capacity}"):
            self.buffer.put(element)

    @rule(most=st.integers(0, 8))
    def take(self, most: int) -> None:
        assert self.buffer.take(most) == self.model[:most]
        del self.model[:most]

    @rule()
    def take_all(self) -> None:
        assert self.buffer.take() == self.model
        self.model.clear()

    @invariant()
    def counts_agree(self) -> None:
        assert len(self.buffer) == len(self.model) <= self.capacity
        assert self.buffer.room == self.capacity - len(self.model)
        assert self.buffer.peak == self.peak
        assert bool(self.buffer) is bool(self.model)


def test_a_buffer_does_what_a_list_with_a_bound_would_do() -> None:
    run_state_machine_as_test(BufferBesideAList)
