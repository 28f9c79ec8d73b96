"""What a subscriber sees, for any schedule of its calls and of the executor's tasks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TypeAlias

from hypothesis import given
from hypothesis import strategies as st

from penstock.api import Subscriber, Subscription
from penstock.core import BaseSubscription
from penstock.runtime import Executor, VirtualTime


class Numbers(BaseSubscription[int]):
    """Sends the numbers below ``end``, and completes once there is demand beyond them."""

    def __init__(self, end: int, subscriber: Subscriber[int], executor: Executor | None) -> None:
        super().__init__(subscriber, executor)
        self._numbers = iter(range(end))
        self.released = 0

    def _serve(self) -> None:
        wanted = self.demand.outstanding
        if self._emit(islice(self._numbers, wanted)) < wanted:
            self._complete()

    def _release(self) -> None:
        self.released += 1


@dataclass(frozen=True)
class Request:
    n: int


@dataclass(frozen=True)
class Cancel:
    pass


@dataclass(frozen=True)
class Run:
    """The executor runs its next task."""


Call: TypeAlias = Request | Cancel | None
Step: TypeAlias = Request | Cancel | Run

REQUESTS = st.builds(Request, st.integers(1, 8))
REACTIONS = st.lists(st.one_of(st.none(), st.none(), REQUESTS, st.just(Cancel())), max_size=20)
STEPS = st.lists(st.one_of(REQUESTS, st.just(Run()), st.just(Run()), st.just(Cancel())))


class Scripted:
    """Answers each element by its next reaction, and checks each signal as it comes."""

    subscription: Subscription

    def __init__(self, reactions: list[Call]) -> None:
        self.reactions: Iterator[Call] = iter(reactions)
        self.requested = 0
        self.received = 0
        self.subscribed = 0
        self.completed = False
        self.cancelled = False
        self.inside = False

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscribed += 1
        self.subscription = subscription

    def on_next(self, element: int) -> None:
        assert not self.inside
        self.inside = True
        assert self.subscribed == 1
        assert not self.completed
        assert not self.cancelled
        assert element == self.received
        self.received += 1
        assert self.received <= self.requested
        self.call(next(self.reactions, None))
        self.inside = False

    def on_error(self, error: Exception) -> None:
        raise AssertionError(f"nothing failed, but there is {error!r}")

    def on_complete(self) -> None:
        assert not self.inside
        assert not self.completed
        assert not self.cancelled
        self.completed = True

    def call(self, call: Call) -> None:
        match call:
            case Request(n):
                if not self.cancelled:
                    self.requested += n
                self.subscription.request(n)
            case Cancel():
                self.cancelled = self.cancelled or not self.completed
                self.subscription.cancel()


def check_the_end(stream: Numbers, subscriber: Scripted, end: int) -> None:
    assert subscriber.subscribed == 1
    assert stream.released == (subscriber.cancelled or subscriber.completed)
    if not subscriber.cancelled:
        assert subscriber.received == min(end, subscriber.requested)
        assert subscriber.completed is (subscriber.requested > end)
    assert stream.demand.delivered == subscriber.received


@given(st.integers(0, 15), REACTIONS, STEPS)
def test_on_the_calling_thread_a_subscriber_gets_what_it_asked_for(
    end: int, reactions: list[Call], steps: list[Step]
) -> None:
    subscriber = Scripted(reactions)
    stream = Numbers(end, subscriber, None)
    stream.wake()
    for step in steps:
        if not isinstance(step, Run):
            subscriber.call(step)
    check_the_end(stream, subscriber, end)


@given(st.integers(0, 15), REACTIONS, STEPS)
def test_on_an_executor_a_subscriber_gets_what_it_asked_for(
    end: int, reactions: list[Call], steps: list[Step]
) -> None:
    time = VirtualTime()
    subscriber = Scripted(reactions)
    stream = Numbers(end, subscriber, time)
    stream.wake()
    time.settle()
    for step in steps:
        if isinstance(step, Run):
            time.step()
        else:
            subscriber.call(step)
    time.settle()
    check_the_end(stream, subscriber, end)
