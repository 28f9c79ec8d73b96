"""What a subscriber asks for, for any capacity and any schedule of demand and elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from penstock.api import UNBOUNDED
from penstock.core import COMPLETED, BaseSubscriber
from penstock.rules import RuleViolation

CAPACITIES = st.integers(1, 20)


@dataclass(frozen=True)
class Want:
    """Downstream asks for more."""

    more: int


@dataclass(frozen=True)
class Send:
    """The publisher sends some of what it owes."""

    most: int


@dataclass(frozen=True)
class Take:
    """The owner has finished some of what it holds."""

    most: int


Step: TypeAlias = Want | Send | Take

STEPS = st.lists(
    st.one_of(
        st.builds(Want, st.one_of(st.integers(1, 30), st.just(UNBOUNDED))),
        st.builds(Send, st.integers(1, 30)),
        st.builds(Take, st.integers(1, 30)),
    ),
    max_size=60,
)


class Stream:
    """An honest publisher, a subscriber, and an owner that refills it after each step.

    ``hasty`` publishers send all they owe from within ``request`` (rule 3.10).
    """

    def __init__(self, capacity: int, *, hasty: bool = False) -> None:
        self.subscriber = BaseSubscriber(capacity)
        self.hasty = hasty
        self.wanted = 0
        self.owed = 0
        self.here = 0
        self.taken = 0
        self.requests: list[int] = []
        assert self.subscriber.accept(self)

    def request(self, n: int) -> None:
        assert n >= 1
        self.requests.append(n)
        self.owed += n
        self.check_bounds()
        if self.hasty:
            self.send(self.owed)

    def cancel(self) -> None:
        raise AssertionError("nobody cancelled")

    def do(self, step: Step) -> None:
        match step:
            case Want(more):
                self.wanted = min(self.wanted + more, UNBOUNDED)
            case Send(most):
                self.send(min(most, self.owed))
            case Take(most):
                done = min(most, self.here)
                self.here -= done
                self.taken += done
        self.refill()

    def send(self, number: int) -> None:
        for _ in range(number):
            self.owed -= 1
            self.here += 1
            assert self.subscriber.admit()

    def refill(self) -> None:
        asked_before = len(self.requests)
        room = self.taken + self.subscriber.capacity
        self.subscriber.refill(wanted=self.wanted, taken=self.taken)
        self.check_bounds()
        self.check_portion(self.requests[asked_before:], capacity_is_the_limit=self.wanted >= room)
        assert self.owed or self.here or sum(self.requests) == self.wanted, "it stands still"

    def check_bounds(self) -> None:
        assert self.owed + self.here <= self.subscriber.capacity
        assert sum(self.requests) <= self.wanted

    def check_portion(self, requests: list[int], *, capacity_is_the_limit: bool) -> None:
        if capacity_is_the_limit:
            least = self.subscriber.capacity * 3 / 4
            assert all(request >= least for request in requests)
        else:
            assert sum(self.requests) == self.wanted


@given(CAPACITIES, STEPS, st.booleans())
def test_never_more_than_the_capacity_is_here_or_on_its_way(
    capacity: int, steps: list[Step], hasty: bool
) -> None:
    stream = Stream(capacity, hasty=hasty)
    for step in steps:
        stream.do(step)
    assert stream.subscriber.ending is None


@given(CAPACITIES, STEPS)
def test_all_that_is_wanted_comes_in_the_end(capacity: int, steps: list[Step]) -> None:
    stream = Stream(capacity)
    for step in steps:
        stream.do(step)
    wanted = min(stream.wanted, stream.taken + 100)
    while stream.taken < wanted:
        taken = stream.taken
        stream.do(Send(capacity))
        stream.do(Take(capacity))
        assert stream.taken > taken


@given(CAPACITIES, STEPS)
def test_rule_1_1_an_element_beyond_the_demand_is_always_caught(
    capacity: int, steps: list[Step]
) -> None:
    stream = Stream(capacity)
    for step in steps:
        stream.do(step)
    stream.send(stream.owed)
    assert not stream.subscriber.admit()
    assert isinstance(stream.subscriber.ending, RuleViolation)
    assert stream.subscriber.ending.rule.number == "1.1"


@given(CAPACITIES, STEPS, st.integers(0, 60))
def test_after_the_end_nothing_is_asked_for_or_admitted(
    capacity: int, steps: list[Step], end_at: int
) -> None:
    stream = Stream(capacity)
    for step in steps[:end_at]:
        stream.do(step)
    stream.subscriber.end(COMPLETED)
    requests = len(stream.requests)
    stream.subscriber.refill(wanted=UNBOUNDED, taken=stream.taken + stream.here)
    assert not stream.subscriber.admit()
    assert not stream.subscriber.admit(unasked=True)
    assert len(stream.requests) == requests
    assert stream.subscriber.ending is COMPLETED
