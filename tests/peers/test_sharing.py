"""Shared flows against models of their documentation: who has subscribed when gets what.

A run of the source gives a number in the middle of each second. Subscribers with unbounded demand
come and leave at random seconds; in the same one, they come before others leave.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from penstock import UNBOUNDED, Flow, VirtualTime
from penstock.flow.multicast.shared_flow import Connection, SharedFlow
from penstock.testing import ManualSubscriber, marble
from tests.peers.connections import LENGTH, Guest, ModelRun, SharedModel

Visit = tuple[int, int]
"""After how many seconds one comes, and after how many it leaves."""
Model = Callable[[int, list[Visit]], list[int]]
"""What the visit at an index gets."""

DIAGRAM: Final = "-0-1-2-3-4-5-6-(7|)"
LAST: Final = 30
VISITS = st.lists(
    st.tuples(st.integers(0, 14), st.integers(1, 12)).map(lambda pair: (pair[0], sum(pair))),
    min_size=1,
    max_size=6,
)


def numbers(begun: int, since: int, until: int) -> list[int]:
    """What a run gives between two moments."""
    return [number for number in range(LENGTH) if since <= begun + number < until]


def share_gives(index: int, visits: list[Visit]) -> list[int]:
    """The run that goes on when one comes, else a new one: it stops with its last subscriber."""
    came, left = visits[index]
    begun: int | None = None
    for second in range(came + 1):
        if begun is not None and second >= begun + LENGTH:
            begun = None
        if begun is not None and not any(begun <= each < second <= end for each, end in visits):
            begun = None
        if begun is None and any(each == second for each, _ in visits):
            begun = second
    assert begun is not None
    return numbers(begun, came, left)


def replay_gives(index: int, visits: list[Visit]) -> list[int]:
    """The last two of the one run, which begins with the first visit, and what comes then."""
    came, left = visits[index]
    begun = min(first for first, _ in visits)
    return numbers(begun, 0, came)[-2:] + numbers(begun, came, left)


SHARED: dict[str, tuple[Callable[[Flow[str]], SharedFlow[str]], Model]] = {
    "share": (lambda flow: flow.share(), share_gives),
    "replay": (lambda flow: flow.replay(2), replay_gives),
}


@pytest.mark.parametrize("name", SHARED)
@given(visits=VISITS)
def test_everybody_gets_what_the_documentation_says(name: str, visits: list[Visit]) -> None:
    apply, gives = SHARED[name]
    received = visited(apply, visits)
    assert received == [gives(index, visits) for index in range(len(visits))]


def visited(apply: Callable[[Flow[str]], SharedFlow[str]], visits: list[Visit]) -> list[list[int]]:
    """What came to each of the visits."""
    time = VirtualTime()
    shared = apply(Flow.from_publisher(marble(DIAGRAM, time=time, frame=0.5)))
    subscribers: list[ManualSubscriber[Any]] = [
        ManualSubscriber(request=UNBOUNDED, time=time) for _ in visits
    ]
    for second in range(LAST):
        for subscriber, (came, _) in zip(subscribers, visits, strict=True):
            if came == second:
                shared.subscribe(subscriber)
        for subscriber, (_, left) in zip(subscribers, visits, strict=True):
            if left == second:
                subscriber.close()
        time.run(until=second + 1)
    for subscriber in subscribers:
        subscriber.assert_no_rule_broken()
    return [[int(element) for element in each.elements] for each in subscribers]


class Kind(NamedTuple):
    """A way to share a flow, and how the model says it."""

    apply: Callable[[Flow[str]], SharedFlow[str]]
    starts: int | None
    stops: bool


KINDS: Final = (
    Kind(lambda flow: flow.publish(), starts=None, stops=False),
    Kind(lambda flow: flow.publish().auto_connect(2), starts=2, stops=False),
    Kind(lambda flow: flow.publish().ref_count(2), starts=2, stops=True),
    Kind(lambda flow: flow.share(), starts=1, stops=True),
)


class SharedMachine(RuleBasedStateMachine):
    """Subscribers come and go, and so do connections, as one may do with ``connect``."""

    @initialize(kind=st.sampled_from(KINDS))
    def begin(self, kind: Kind) -> None:
        self.time = VirtualTime()
        source = Flow.from_publisher(marble(DIAGRAM, time=self.time, frame=0.5))
        self.shared = kind.apply(source)
        self.model = SharedModel(kind.starts, stops=kind.stops)
        self.guests: list[tuple[ManualSubscriber[str], Guest]] = []
        self.connections: list[tuple[Connection, ModelRun]] = []

    @rule()
    def come(self) -> None:
        subscriber = ManualSubscriber[str](request=UNBOUNDED, time=self.time)
        self.guests.append((subscriber, self.model.subscribe()))
        self.shared.subscribe(subscriber)

    @precondition(lambda self: self.guests)
    @rule(which=st.integers(0, 99))
    def leave(self, which: int) -> None:
        subscriber, guest = self.guests[which % len(self.guests)]
        self.model.leave(guest)
        subscriber.close()

    @rule()
    def connect(self) -> None:
        self.connections.append((self.shared.connect(), self.model.connect()))

    @precondition(lambda self: self.connections)
    @rule(which=st.integers(0, 99))
    def disconnect(self, which: int) -> None:
        connection, run = self.connections[which % len(self.connections)]
        self.model.disconnect(run)
        connection.cancel()

    @rule(seconds=st.integers(1, LENGTH))
    def wait(self, seconds: int) -> None:
        for _ in range(seconds):
            self.model.pass_second()
        self.time.advance(seconds)

    @invariant()
    def everybody_got_what_the_model_says(self) -> None:
        for subscriber, guest in self.guests:
            assert [int(each) for each in subscriber.elements] == guest.received
            assert ending_of(subscriber) == guest.ending

    def teardown(self) -> None:
        for subscriber, _ in self.guests:
            subscriber.assert_no_rule_broken()


def ending_of(subscriber: ManualSubscriber[str]) -> str:
    if subscriber.error is not None:
        assert isinstance(subscriber.error, RuntimeError)
        return "failed"
    return "completed" if subscriber.completed else ""


def test_connections_do_what_the_documentation_says() -> None:
    run_state_machine_as_test(
        SharedMachine, settings=settings(max_examples=60, stateful_step_count=20)
    )


@pytest.mark.full
@pytest.mark.timeout(600)
def test_many_connections_do_what_the_documentation_says() -> None:
    run_state_machine_as_test(
        SharedMachine, settings=settings(max_examples=1_500, stateful_step_count=40)
    )
