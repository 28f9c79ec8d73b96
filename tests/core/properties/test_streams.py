"""Random requests, cancels and schedules against the obvious model: a slice of a list."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNBOUNDED, ExecutorPublisher, IterablePublisher
from penstock.api import Publisher
from penstock.runtime import Executor, VirtualTime
from tests.rules.consumers import Async
from tests.rules.parties import Recorder, Source
from tests.rules.subjects import (
    broadcast,
    executor_publisher,
    identity,
    identity_downstream,
    iterable_publisher,
)

Build = Callable[[Iterable[Any], Executor], Publisher[Any]]

PUBLISHERS: dict[str, Build] = {
    "iterable publisher": lambda iterable, _: iterable_publisher(iterable, None),
    "executor publisher": executor_publisher,
    "identity": lambda iterable, _: identity(iterable, None),
    "identity on an executor": identity,
    "identity downstream of an executor": identity_downstream,
    "broadcast": lambda iterable, _: broadcast(iterable, None),
    "broadcast on an executor": broadcast,
}
EVERY_PUBLISHER = pytest.mark.parametrize("build", PUBLISHERS.values(), ids=list(PUBLISHERS))

CANCEL, STEP = "cancel", "step"
DEMANDS = st.integers(1, 9) | st.sampled_from([UNBOUNDED, 2**63, 10**30])
SIZES = st.integers(0, 30)


@EVERY_PUBLISHER
@given(
    size=SIZES,
    known=st.booleans(),
    script=st.lists(DEMANDS | st.just(CANCEL) | st.just(STEP), max_size=12),
)
def test_what_arrives_is_what_was_requested_until_the_cancel(
    build: Build, size: int, known: bool, script: list[int | str]
) -> None:
    time, source = VirtualTime(), Source(range(size))
    recorder = Recorder()
    build(range(size) if known else source, time).subscribe(recorder)
    time.settle()
    at_cancel: int | None = None
    for act in script:
        if act == CANCEL:
            recorder.cancel()
            at_cancel = len(recorder.elements) if at_cancel is None else at_cancel
        elif act == STEP:
            time.step()
        else:
            recorder.request(act)
    time.settle()
    assert recorder.faults == []
    wanted = min(recorder.requested, size)
    expected = wanted if at_cancel is None else at_cancel
    assert recorder.elements == list(range(expected))
    # A size that is known completes the stream with the last element, another one with the next
    # request after it.
    reached = size if known else size + 1
    assert recorder.completed is (at_cancel is None and recorder.requested >= reached) or (
        at_cancel == size
    )
    assert source.pulled <= wanted


@EVERY_PUBLISHER
@given(size=SIZES, first=DEMANDS, reactions=st.lists(st.integers(0, 3), max_size=30))
def test_requests_from_within_on_next_are_served_to_the_end(
    build: Build, size: int, first: int, reactions: list[int]
) -> None:
    time = VirtualTime()

    def react(me: Recorder) -> None:
        position = len(me.elements) - 1
        demand = reactions[position] if position < len(reactions) else 0
        if demand:
            me.request(demand)

    recorder = Recorder(first, on_next=react)
    build(Source(range(size)), time).subscribe(recorder)
    time.settle()
    assert recorder.faults == []
    assert recorder.elements == list(range(min(recorder.requested, size)))
    assert recorder.completed is (recorder.requested > size)


@EVERY_PUBLISHER
@given(size=SIZES, demand=DEMANDS, k=st.integers(1, 12))
def test_a_cancel_within_on_next_ends_the_stream_there(
    build: Build, size: int, demand: int, k: int
) -> None:
    time, source = VirtualTime(), Source(range(size))
    recorder = Recorder(demand, on_next=lambda me: me.cancel() if len(me.elements) == k else None)
    build(source, time).subscribe(recorder)
    time.settle()
    assert recorder.faults == []
    assert recorder.elements == list(range(min(demand, size, k)))
    assert recorder.completed is (demand > size and k > size)
    if len(recorder.elements) == k:
        assert source.closed == 1


@EVERY_PUBLISHER
@given(size=SIZES, legal=st.lists(st.integers(1, 9), max_size=4), wrong=st.integers(max_value=0))
def test_an_illegal_request_ends_the_stream_there(
    build: Build, size: int, legal: list[int], wrong: int
) -> None:
    time, source = VirtualTime(), Source(range(size))
    recorder = Recorder()
    build(source, time).subscribe(recorder)
    time.settle()
    for n in legal:
        recorder.request(n)
        time.settle()
    before, done = list(recorder.elements), recorder.completed
    recorder.request(wrong)
    recorder.request(5)
    time.settle()
    assert recorder.faults == []
    assert recorder.elements == before
    assert isinstance(recorder.error, ValueError) is not done
    assert source.closed == 1


@given(
    size=st.integers(0, 60),
    prefetch=st.integers(1, 9),
    batch=st.integers(1, 9),
    steps=st.integers(0, 40),
    keep=st.integers(1, 70),
)
def test_an_async_subscriber_takes_elements_in_order_until_it_stops(
    size: int, prefetch: int, batch: int, steps: int, keep: int
) -> None:
    time, source = VirtualTime(), Source(range(size))
    subscriber = Async(time, lambda element: element != keep - 1, prefetch=prefetch)
    ExecutorPublisher(source, time, batch=batch).subscribe(subscriber)
    for _ in range(steps):
        time.step()
        assert source.pulled - len(subscriber.elements) <= prefetch
    taken = len(subscriber.elements)
    stopped = subscriber.completed_times == 0 and steps % 2 == 0
    if stopped:
        subscriber.stop()
    time.settle()
    assert subscriber.elements == list(range(taken if stopped else min(size, keep)))
    assert subscriber.peak <= prefetch
    assert source.closed == source.opened


@given(shares=st.lists(st.integers(1, 5), min_size=1, max_size=8), size=SIZES)
def test_subscribers_of_a_one_shot_iterator_share_its_elements(
    shares: list[int], size: int
) -> None:
    publisher = IterablePublisher(iter(range(size)))
    recorders = [Recorder(share) for share in shares]
    for recorder in recorders:
        publisher.subscribe(recorder)
    received = [element for recorder in recorders for element in recorder.elements]
    assert received == list(range(min(size, sum(shares))))
