"""Every operator against its obvious model on lists: random elements and demand, cancel anywhere.

Each of them runs fused with its source, downstream of a source of unknown size, and downstream of
a foreign publisher.
"""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import UNBOUNDED, IterablePublisher, Subscription
from penstock.flow import Flow
from penstock.flow.engine.run_context import RunContext
from tests.flow.all_cases import ALL_CASES, EVERY_CASE
from tests.flow.case import Case
from tests.rules.parties import PATIENCE, Recorder

Build = Callable[[Iterable[int]], Flow[int]]

SOURCES: dict[str, Build] = {
    "fused": Flow.from_iterable,
    "fused, of unknown size": lambda elements: Flow.from_iterable(Watched(elements)),
    "downstream of a foreign publisher": lambda elements: Flow.from_publisher(
        IterablePublisher(elements)
    ),
}
EVERY_SOURCE = pytest.mark.parametrize("build", SOURCES.values(), ids=list(SOURCES))
ELEMENTS = st.lists(st.integers(0, 50), unique=True, max_size=12)
REQUESTS = st.lists(st.integers(1, 4) | st.just(UNBOUNDED), max_size=6)
REACTIONS = st.lists(st.integers(0, 2), max_size=12)
FEWER_EXAMPLES = settings(max_examples=settings().max_examples // 4)

GIVEN = [8, 3, 5, 10, 1, 4, 12, 7]
"""Distinct numbers, neither sorted nor all of one kind."""


class Receiver(Recorder):
    """A recorder that a test can wait for, since some flows run on other threads."""

    def __init__(self, first: int = 0, **reactions: Callable[[Recorder], object]) -> None:
        super().__init__(first, **reactions)
        self._subscribed = threading.Event()
        self._over = threading.Event()

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        self._subscribed.set()

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        self._over.set()

    def on_complete(self) -> None:
        super().on_complete()
        self._over.set()

    def cancel(self) -> None:
        super().cancel()
        self._over.set()

    def await_subscription(self) -> None:
        assert self._subscribed.wait(PATIENCE), "no subscription came"

    def await_end(self) -> None:
        assert self._over.wait(PATIENCE), f"no end came, only {self.signals}"


class Watched:
    """An iterable that knows how often it is being iterated, and how far it was."""

    def __init__(self, elements: Iterable[int]) -> None:
        self._elements = elements
        self._changed = threading.Condition()
        self.pulled = 0
        self.iterations = 0

    def __iter__(self) -> Iterator[int]:
        self._count(1)
        try:
            for element in self._elements:
                self.pulled += 1
                yield element
        finally:
            self._count(-1)

    def await_closed(self) -> None:
        with self._changed:
            closed = self._changed.wait_for(lambda: self.iterations == 0, PATIENCE)
            assert closed, f"{self.iterations} iterations were left open"

    def _count(self, change: int) -> None:
        with self._changed:
            self.iterations += change
            self._changed.notify_all()


class Tracked(int):
    """A number of which it is known how many live."""

    alive: ClassVar[int] = 0
    changed: ClassVar[threading.Condition] = threading.Condition()

    def __new__(cls, value: int) -> Tracked:
        with cls.changed:
            cls.alive += 1
        return super().__new__(cls, value)

    def __del__(self) -> None:
        with self.changed:
            type(self).alive -= 1
            self.changed.notify_all()

    @classmethod
    def await_freed(cls) -> None:
        with cls.changed:
            freed = cls.changed.wait_for(lambda: cls.alive == 0, PATIENCE)
            assert freed, f"{cls.alive} elements are still alive"


class Forgetful(Receiver):
    """A receiver that keeps no elements, and cancels after the given one."""

    def __init__(self, first: int, cancel_after: int) -> None:
        super().__init__(first)
        self.received = 0
        self._cancel_after = cancel_after

    def on_next(self, element: object) -> None:
        self.received += 1
        if self.received == self._cancel_after:
            self.cancel()


class TrackedNumbers:
    """An iterable that makes its elements when they are wanted."""

    def __init__(self, numbers: Iterable[int]) -> None:
        self._numbers = numbers

    def __iter__(self) -> Iterator[int]:
        return map(Tracked, self._numbers)


def is_beginning_of(received: list[Any], expected: list[Any], *, ordered: bool) -> bool:
    if ordered:
        return received == expected[: len(received)]
    return Counter(map(repr, received)) <= Counter(map(repr, expected))


@EVERY_CASE
@EVERY_SOURCE
@FEWER_EXAMPLES
@given(elements=ELEMENTS, requests=REQUESTS, reactions=REACTIONS)
def test_an_operator_gives_what_its_model_says_whatever_the_demand(
    case: Case, build: Build, elements: list[int], requests: list[int], reactions: list[int]
) -> None:
    def react(me: Recorder) -> None:
        position = len(me.elements) - 1
        if position < len(reactions) and reactions[position]:
            me.request(reactions[position])

    receiver = Receiver(on_next=react)
    case.apply(build(elements)).subscribe(receiver)
    receiver.await_subscription()
    for n in requests:
        receiver.request(n)
    receiver.request(len(case.model(elements)) + 1)
    receiver.await_end()
    assert receiver.faults == []
    assert receiver.error is None
    assert case.agrees(receiver.elements, elements)


@EVERY_CASE
@EVERY_SOURCE
def test_an_operator_asks_for_nothing_ahead_of_demand(case: Case, build: Build) -> None:
    watched, receiver = Watched(GIVEN), Receiver()
    case.apply(build(watched)).subscribe(receiver)
    receiver.await_subscription()
    assert watched.pulled <= case.prefetch
    assert receiver.elements == []
    receiver.cancel()


@EVERY_CASE
@EVERY_SOURCE
@pytest.mark.parametrize("within", [True, False], ids=["within on_next", "from outside"])
def test_a_cancel_ends_the_stream_at_any_point(
    case: Case, build: Build, within: bool, pytestconfig: pytest.Config
) -> None:
    expected = case.model(GIVEN)
    all_points = range(1, len(expected) + 1)
    for k in all_points if pytestconfig.getoption("full") else some_of(all_points):
        watched = Watched(GIVEN)
        flow = case.apply(build(watched))
        received = cancelled_within(flow, k) if within else cancelled_from_outside(flow, k)
        assert received.faults == []
        assert len(received.elements) == k
        assert is_beginning_of(received.elements, expected, ordered=case.ordered)
        if not case.keeps:
            watched.await_closed()


def some_of(points: range) -> list[int]:
    """All of a short stream. Of a long one, each point at its start, and those of each prime step.

    No turn that inner flows take, nor portion that they are asked for, is a multiple of it.
    """
    return [k for k in points if k <= 40 or k % 23 == 0 or k == points[-1]]


def cancelled_within(flow: Flow[Any], k: int) -> Receiver:
    receiver = Receiver(
        UNBOUNDED, on_next=lambda me: me.cancel() if len(me.elements) == k else None
    )
    flow.subscribe(receiver)
    receiver.await_end()
    return receiver


def cancelled_from_outside(flow: Flow[Any], k: int) -> Receiver:
    come = threading.Event()
    receiver = Receiver(on_next=lambda me: come.set() if len(me.elements) == k else None)
    flow.subscribe(receiver)
    receiver.await_subscription()
    receiver.request(k)
    assert come.wait(PATIENCE)
    receiver.cancel()
    return receiver


@EVERY_CASE
@EVERY_SOURCE
def test_a_source_is_closed_when_the_flow_has_completed(case: Case, build: Build) -> None:
    watched, receiver = Watched(GIVEN), Receiver(UNBOUNDED)
    case.apply(build(watched)).subscribe(receiver)
    receiver.await_end()
    watched.await_closed()


@EVERY_CASE
@EVERY_SOURCE
def test_a_run_that_is_over_waits_at_nothing(case: Case, build: Build) -> None:
    for cancel_after in range(4):
        receiver = Forgetful(UNBOUNDED, cancel_after)
        case.apply(build(GIVEN)).subscribe(receiver)
        receiver.await_end()
        run = receiver.subscription
        if isinstance(run, RunContext):  # and not a place in a shared one, which may go on
            await_nothing_at(run)


def await_nothing_at(run: RunContext) -> None:
    """The thread that runs it may still be closing its stages."""
    pause = threading.Event()
    for _ in range(int(PATIENCE * 1_000)):
        if not run.waiting_at:
            return
        pause.wait(0.001)
    raise AssertionError(f"it still waits at {run.waiting_at}")


FREEING = [case for case in ALL_CASES if not case.keeps]


@pytest.mark.parametrize("case", FREEING, ids=lambda case: case.name)
@EVERY_SOURCE
def test_elements_are_freed_when_a_run_is_over(case: Case, build: Build) -> None:
    gc.collect()
    gc.disable()
    try:
        for cancel_after in range(len(case.model(GIVEN)) + 2):
            flow = case.apply(build(TrackedNumbers(GIVEN)))
            receiver = Forgetful(UNBOUNDED, cancel_after)
            flow.subscribe(receiver)
            receiver.await_end()
            Tracked.await_freed()
            del flow  # not before: a flow may be run again, but keeps nothing of a run
    finally:
        gc.enable()
