"""One run for several subscribers: what each gets, when it starts and stops, and its pace."""

from __future__ import annotations

import gc
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from typing import Any
from weakref import ref

import pytest

from penstock import (
    UNBOUNDED,
    Flow,
    IterablePublisher,
    ThreadPool,
    VirtualTime,
    collect_undelivered,
)
from penstock.flow.multicast.shared_flow import SharedFlow
from penstock.tck import verify_publisher
from penstock.testing import ManualPublisher, ManualSubscriber, marble
from tests.flow.unit.watched_time import WatchedTime
from tests.quick import quick

Manual = ManualSubscriber[int]


def reader(of: Flow[int], request: int = UNBOUNDED) -> Manual:
    """A new subscriber of a flow."""
    subscriber = Manual(request=request)
    of.subscribe(subscriber)
    return subscriber


class Source:
    """A flow that is led by hand."""

    def __init__(self) -> None:
        self.publisher = ManualPublisher[int]()
        self.flow = Flow.from_publisher(self.publisher)

    @property
    def runs(self) -> int:
        return len(self.publisher.subscriptions)


class Raising(Manual):
    """Fails at an element."""

    def __init__(self, at: int) -> None:
        super().__init__(request=UNBOUNDED)
        self._at = at

    def on_next(self, element: int) -> None:
        super().on_next(element)
        if element == self._at:
            raise OSError("full")


class Reacting(Manual):
    """Calls something after each element."""

    def __init__(self, react: Callable[[int], object], request: int = UNBOUNDED) -> None:
        super().__init__(request=request)
        self._react = react

    def on_next(self, element: int) -> None:
        super().on_next(element)
        self._react(element)


# publish, connect, auto_connect.


def test_a_published_flow_starts_when_it_is_connected() -> None:
    source = Source()
    shared = source.flow.publish()
    readers = [reader(shared), reader(shared)]
    assert source.runs == 0
    shared.connect()
    source.publisher.next(1, 2)
    source.publisher.complete()
    for each in readers:
        each.assert_elements(1, 2)
        each.assert_completed()
    assert source.runs == 1


def test_connecting_twice_starts_one_run() -> None:
    source = Source()
    shared = source.flow.publish()
    shared.connect()
    shared.connect()
    assert source.runs == 1


def test_a_run_without_subscribers_waits_for_one() -> None:
    source = Source()
    shared = source.flow.publish()
    shared.connect()
    assert source.publisher.requested == 0
    reader(shared, request=3)
    assert source.publisher.requested == 3


def test_a_flow_downstream_that_takes_a_few_elements_asks_for_no_more() -> None:
    source = Source()
    taking = reader(source.flow.share().take(2))
    assert source.publisher.requested == 2
    source.publisher.next(1, 2)
    taking.assert_completed()


def test_a_late_subscriber_gets_what_comes_after_it() -> None:
    source = Source()
    shared = source.flow.publish()
    first = reader(shared)
    shared.connect()
    source.publisher.next(1)
    second = reader(shared)
    source.publisher.next(2)
    first.assert_elements(1, 2)
    second.assert_elements(2)


def test_a_subscriber_that_comes_within_a_row_gets_the_next_element() -> None:
    shared = Flow.range(5).publish()
    late = Manual(request=UNBOUNDED)
    first = Reacting(lambda x: shared.subscribe(late) if x == 2 else None)
    shared.subscribe(first)
    shared.connect()
    first.assert_elements(0, 1, 2, 3, 4)
    late.assert_elements(3, 4)
    late.assert_completed()


def test_a_subscriber_that_comes_within_the_last_row_sees_the_end() -> None:
    shared = Flow.range(3).publish()
    late = Manual(request=1)
    shared.subscribe(Reacting(lambda x: shared.subscribe(late) if x == 2 else None))
    shared.connect()
    late.assert_elements()
    late.assert_completed()


def test_a_subscriber_after_the_end_gets_the_end() -> None:
    shared = Flow.range(3).publish()
    reader(shared)
    shared.connect()
    late = reader(shared, request=0)
    late.assert_elements()
    late.assert_completed()


def test_a_subscriber_after_a_failure_gets_the_error() -> None:
    shared = Flow.error(OSError("lost")).publish()
    shared.connect()
    reader(shared, request=0).assert_failed(OSError, match="lost")


def test_a_connection_that_is_cancelled_stops_the_run_for_all() -> None:
    source = Source()
    shared = source.flow.publish()
    readers = [reader(shared), reader(shared)]
    connection = shared.connect()
    source.publisher.next(1)
    connection.cancel()
    connection.cancel()
    assert source.publisher.cancelled
    for each in readers:
        each.assert_failed(RuntimeError, match="publish: the connection was cancelled")


def test_a_cancelled_connection_is_followed_by_another_run_when_it_is_connected_again() -> None:
    source = Source()
    shared = source.flow.publish()
    shared.connect().cancel()
    late = reader(shared)
    assert source.runs == 1
    second = shared.connect()
    assert source.runs == 2
    source.publisher.next(1)
    late.assert_elements(1)
    second.cancel()
    late.assert_failed(RuntimeError, match="publish: the connection was cancelled")


def test_a_connection_that_is_cancelled_late_leaves_the_next_run_alone() -> None:
    source = Source()
    shared = source.flow.publish()
    first = shared.connect()
    first.cancel()
    shared.connect()
    first.cancel()
    late = reader(shared)
    source.publisher.next(1)
    late.assert_elements(1)


AGAIN: dict[str, Callable[[Flow[int]], SharedFlow[int]]] = {
    "auto_connect": lambda flow: flow.publish().auto_connect(),
    "replay": lambda flow: flow.replay(2),
    "cache": lambda flow: flow.cache(),
}


@pytest.mark.parametrize("apply", AGAIN.values(), ids=list(AGAIN))
def test_the_first_one_after_a_cancelled_connection_starts_another_run(
    apply: Callable[[Flow[int]], SharedFlow[int]],
) -> None:
    source = Source()
    shared = apply(source.flow)
    reader(shared)
    source.publisher.next(1)
    shared.connect().cancel()
    late = reader(shared)
    assert source.runs == 2
    source.publisher.next(2)
    late.assert_elements(2)


def test_a_run_that_has_ended_is_not_connected_again() -> None:
    source = Source()
    shared = source.flow.publish()
    shared.connect()
    source.publisher.complete()
    shared.connect()
    assert source.runs == 1
    reader(shared).assert_completed()


def test_a_connection_can_be_cancelled_within_a_row() -> None:
    pulled: list[int] = []
    shared = Flow.range(100).do_on_next(pulled.append).publish()
    subscriber = Reacting(lambda x: connection.cancel() if x == 2 else None, request=0)
    shared.subscribe(subscriber)
    connection = shared.connect()
    subscriber.request(10)
    subscriber.assert_elements(0, 1, 2)
    subscriber.assert_failed(RuntimeError)
    assert pulled == [0, 1, 2]


def test_auto_connect_starts_with_so_many_subscribers() -> None:
    source = Source()
    shared = source.flow.publish().auto_connect(2)
    first = reader(shared)
    assert source.runs == 0
    second = reader(shared)
    assert source.runs == 1
    source.publisher.next(1)
    first.assert_elements(1)
    second.assert_elements(1)


def test_auto_connect_goes_on_without_subscribers() -> None:
    source = Source()
    shared = source.flow.publish().auto_connect()
    reader(shared).cancel()
    assert not source.publisher.cancelled
    late = reader(shared)
    source.publisher.next(1)
    late.assert_elements(1)


def test_variants_of_a_published_flow_have_runs_of_their_own() -> None:
    source = Source()
    published = source.flow.publish()
    reader(published.auto_connect())
    reader(published.ref_count())
    published.connect()
    assert source.runs == 3


# share and ref_count.


def test_a_shared_flow_runs_from_the_first_to_the_last_subscriber() -> None:
    source = Source()
    shared = source.flow.share()
    first, second = reader(shared), reader(shared)
    source.publisher.next(1)
    first.cancel()
    source.publisher.next(2)
    first.assert_elements(1)
    second.assert_elements(1, 2)
    assert not source.publisher.cancelled
    second.cancel()
    assert source.publisher.cancelled


@pytest.mark.parametrize("ending", ["complete", "error", "cancel"])
def test_a_shared_flow_starts_anew_when_it_has_ended(ending: str) -> None:
    source = Source()
    shared = source.flow.share()
    first = reader(shared)
    source.publisher.next(1)
    if ending == "complete":
        source.publisher.complete()
    elif ending == "error":
        source.publisher.error(OSError())
    else:
        first.cancel()
    second = reader(shared)
    assert source.runs == 2
    source.publisher.next(2)
    first.assert_elements(1)
    second.assert_elements(2)


KINDS_OF_SOURCE: dict[str, Callable[[VirtualTime], Flow[str]]] = {
    "never waits": lambda time: Flow.of("a", "b", "c"),
    "waits": lambda time: Flow.from_publisher(marble("-a-b-c|", time=time)),
}
EACH_SOURCE = pytest.mark.parametrize("source", KINDS_OF_SOURCE.values(), ids=list(KINDS_OF_SOURCE))


def all_of(flow: Flow[str], time: VirtualTime) -> list[str]:
    subscriber = ManualSubscriber[str](request=UNBOUNDED, time=time)
    flow.subscribe(subscriber)
    time.run()
    subscriber.assert_completed()
    return subscriber.elements


@EACH_SOURCE
def test_one_who_comes_in_the_signal_in_which_the_last_one_leaves_gets_another_run(
    source: Callable[[VirtualTime], Flow[str]],
) -> None:
    time = VirtualTime()
    shared = source(time).share()
    assert all_of(shared.take(1).repeat(3), time) == ["a", "a", "a"]
    assert all_of(Flow.concat(shared.take(1), shared), time) == ["a", "a", "b", "c"]


@EACH_SOURCE
def test_with_a_grace_one_who_comes_then_joins_the_run(
    source: Callable[[VirtualTime], Flow[str]],
) -> None:
    time = VirtualTime()
    shared = source(time).share(grace=1, clock=time)
    assert all_of(Flow.concat(shared.take(1), shared), time) == ["a", "b", "c"]


@EACH_SOURCE
def test_a_source_is_cancelled_before_another_run_subscribes_to_it(
    source: Callable[[VirtualTime], Flow[str]],
) -> None:
    time = VirtualTime()
    entered: list[bool] = []

    @contextmanager
    def alone() -> Iterator[None]:
        assert not any(entered)
        entered.append(True)
        try:
            yield
        finally:
            entered[-1] = False

    shared = Flow.using(alone, lambda _: source(time)).share()
    assert all_of(shared.take(1).repeat(3), time) == ["a", "a", "a"]
    assert entered == [False] * 3


def test_ref_count_starts_when_so_many_are_there_at_a_time() -> None:
    source = Source()
    shared = source.flow.publish().ref_count(2)
    first = reader(shared)
    first.cancel()
    second = reader(shared)
    assert source.runs == 0
    third = reader(shared)
    assert source.runs == 1
    source.publisher.next(1)
    second.assert_elements(1)
    third.assert_elements(1)


def test_a_run_goes_on_for_a_grace_without_subscribers() -> None:
    source, time = Source(), VirtualTime()
    shared = source.flow.share(grace=10, clock=time)
    reader(shared).cancel()
    time.advance(9)
    second = reader(shared)
    time.advance(60)
    source.publisher.next(1)
    second.assert_elements(1)
    assert source.runs == 1
    second.cancel()
    time.advance(10)
    assert source.publisher.cancelled


def test_a_grace_begins_with_the_last_time_that_the_last_one_left() -> None:
    source, time = Source(), WatchedTime()
    shared = source.flow.share(grace=timedelta(seconds=10), clock=time)
    reader(shared).cancel()
    time.advance(9)
    reader(shared).cancel()
    assert time.waiting == 1
    time.advance(9)
    assert not source.publisher.cancelled
    time.advance(1)
    assert source.publisher.cancelled


def test_no_timer_waits_for_a_run_that_has_ended() -> None:
    source, time = Source(), WatchedTime()
    shared = source.flow.share(grace=10, clock=time)
    reader(shared)
    source.publisher.complete()
    assert time.waiting == 0


# replay and cache.


def test_latecomers_get_the_last_elements_first() -> None:
    source = Source()
    shared = source.flow.replay(2)
    first = reader(shared)
    source.publisher.next(1, 2, 3)
    late = reader(shared, request=1)
    late.assert_elements(2)
    source.publisher.next(4)
    late.request(10)
    late.assert_elements(2, 3, 4)
    first.assert_elements(1, 2, 3, 4)


@pytest.mark.parametrize("failing", [False, True])
def test_latecomers_get_the_last_elements_before_the_end(failing: bool) -> None:
    source = Source()
    shared = source.flow.replay(2)
    reader(shared)
    source.publisher.next(1, 2, 3)
    if failing:
        source.publisher.error(OSError("lost"))
    else:
        source.publisher.complete()
    late = reader(shared, request=1)
    late.assert_elements(2)
    late.assert_not_ended()
    late.request(1)
    late.assert_elements(2, 3)
    if failing:
        late.assert_failed(OSError)
    else:
        late.assert_completed()


def test_a_latecomer_within_a_row_gets_the_last_elements_and_no_more() -> None:
    shared = Flow.range(6).replay(2)
    late = Manual(request=UNBOUNDED)
    first = Reacting(lambda x: shared.subscribe(late) if x == 3 else None)
    shared.subscribe(first)
    first.assert_elements(*range(6))
    late.assert_elements(2, 3, 4, 5)
    late.assert_completed()


def test_elements_that_came_long_ago_are_not_replayed() -> None:
    source, time = Source(), VirtualTime()
    shared = source.flow.replay(10, within=5, clock=time)
    reader(shared)
    for moment in range(4):
        source.publisher.next(moment)
        time.advance(2)
    reader(shared).assert_elements(2, 3)
    time.advance(60)
    reader(shared).assert_elements()
    source.publisher.complete()
    late = reader(shared)
    late.assert_elements()
    late.assert_completed()


def test_a_replayed_run_goes_on_without_subscribers() -> None:
    source = Source()
    shared = source.flow.replay(1)
    first = reader(shared, request=9)
    source.publisher.next(1)
    first.cancel()
    source.publisher.next(2, 3, 4)
    late = reader(shared, request=9)
    late.assert_elements(4)
    source.publisher.next(5)
    late.assert_elements(4, 5)
    assert source.runs == 1


def test_what_comes_without_subscribers_is_replayed_for_a_time() -> None:
    source, time = Source(), VirtualTime()
    shared = source.flow.replay(10, within=5, clock=time)
    reader(shared, request=1).cancel()
    for moment in range(4):
        source.publisher.next(moment)
        time.advance(2)
    reader(shared).assert_elements(2, 3)


def test_a_replay_within_a_time_holds_no_more_than_its_elements() -> None:
    shared = Flow.range(5_000).replay(10, within=3600, clock=VirtualTime())
    counting = shared.limit_rate(1).count()
    tracemalloc.start()
    try:
        counting.run_sync()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 200_000
    reader(shared).assert_elements(*range(4_990, 5_000))


@pytest.mark.parametrize("failing", [False, True])
def test_a_replayed_run_ends_without_subscribers(failing: bool) -> None:
    source = Source()
    shared = source.flow.replay(2)
    reader(shared, request=1).cancel()
    source.publisher.next(1, 2, 3)
    if failing:
        source.publisher.error(OSError("lost"))
    else:
        source.publisher.complete()
    late = reader(shared)
    late.assert_elements(2, 3)
    if failing:
        late.assert_failed(OSError)
    else:
        late.assert_completed()


def test_a_replayed_run_that_is_connected_needs_no_subscriber() -> None:
    source = Source()
    shared = source.flow.replay(1)
    shared.connect()
    source.publisher.next(1, 2)
    reader(shared).assert_elements(2)


def test_a_replayed_run_goes_on_during_its_grace() -> None:
    source, time = Source(), VirtualTime()
    shared = source.flow.replay(1).ref_count(grace=10, clock=time)
    reader(shared, request=1).cancel()
    source.publisher.next(1, 2)
    reader(shared).assert_elements(2)


def test_a_replayed_run_asks_for_256_elements_at_a_time_without_subscribers() -> None:
    source = Source()
    shared = source.flow.replay(1)
    reader(shared, request=2).cancel()
    for number in range(1_000):
        assert 0 < source.publisher.outstanding <= 256
        source.publisher.next(number)
    late = reader(shared, request=1)
    late.assert_elements(999)
    assert source.publisher.outstanding <= 256


def test_who_leaves_a_replay_need_not_wait_for_a_synchronous_publisher() -> None:
    time, pulled = VirtualTime(), list[int]()
    source = Flow.from_publisher(IterablePublisher(range(1_000))).do_on_next(pulled.append)
    shared = source.replay(2, clock=time)
    reader(shared, request=1).cancel()
    assert len(pulled) <= 1 + 256
    time.advance(0)
    late = reader(shared)
    late.assert_elements(998, 999)
    late.assert_completed()


def test_an_iterable_that_is_replayed_waits_for_the_next_subscriber() -> None:
    pulled: list[int] = []
    shared = Flow.range(1_000).do_on_next(pulled.append).replay(1)
    reader(shared, request=2).cancel()
    assert pulled == [0, 1]
    reader(shared, request=3).assert_elements(1, 2, 3)


@pytest.mark.parametrize(
    "share",
    [
        lambda flow: flow.publish().auto_connect(),
        lambda flow: flow.share(grace=60, clock=VirtualTime()),
        lambda flow: flow.cache(),
    ],
    ids=["auto_connect", "share with grace", "cache"],
)
def test_what_does_not_forget_waits_without_subscribers(
    share: Callable[[Flow[int]], SharedFlow[int]],
) -> None:
    source = Source()
    shared = share(source.flow)
    reader(shared, request=2).cancel()
    assert source.publisher.requested == 2
    late = reader(shared, request=3)
    source.publisher.next(1, 2, 3)
    late.assert_elements(1, 2, 3)


def test_a_cached_flow_runs_once() -> None:
    runs: list[int] = []
    shared = Flow.defer(lambda: Flow.of(*runs.__iadd__([1]), 2, 3)).cache()
    assert [shared.to_list().run_sync() for _ in range(3)] == [[1, 2, 3]] * 3
    assert runs == [1]


def test_a_cache_that_is_exactly_full_completes() -> None:
    shared = Flow.range(3).cache(3)
    for each in (reader(shared), reader(shared)):
        each.assert_elements(0, 1, 2)
        each.assert_completed()


@pytest.mark.parametrize("request_", [1, UNBOUNDED])
def test_a_cache_that_is_too_small_fails_after_what_it_can_hold(request_: int) -> None:
    pulled: list[int] = []
    shared = Flow.range(100).do_on_next(pulled.append).cache(3)
    subscriber = reader(shared, request=request_)
    subscriber.request(10)
    for each in (subscriber, reader(shared)):
        each.assert_elements(0, 1, 2)
        each.assert_failed(OverflowError, match="cache: more than 3 elements; give a larger")
    assert pulled == [0, 1, 2, 3]


# The pace.


def test_upstream_is_asked_for_what_the_one_who_wants_most_wants() -> None:
    source = Source()
    shared = source.flow.publish()
    slow, fast = reader(shared, request=1), reader(shared, request=5)
    shared.connect()
    assert source.publisher.requested == 5
    source.publisher.next(*range(5))
    slow.assert_elements(0)
    fast.assert_elements(0, 1, 2, 3, 4)
    slow.request(2)
    slow.assert_elements(0, 1, 2)
    assert source.publisher.requested == 5


def test_upstream_is_not_asked_for_more_while_a_row_is_sent() -> None:
    source = Source()
    shared = source.flow.publish()
    reader(shared, request=300)
    shared.connect()
    source.publisher.next(*range(source.publisher.outstanding))
    while source.publisher.outstanding:
        source.publisher.next(*range(source.publisher.outstanding))
    assert source.publisher.requested == 300


def test_the_slowest_subscriber_holds_up_the_others() -> None:
    shared = Flow.range(1000).publish()
    slow, fast = reader(shared, request=1), reader(shared)
    shared.connect()
    assert len(fast.elements) <= 1 + 256
    slow.request(100)
    assert 100 < len(fast.elements) <= 101 + 256
    slow.cancel()
    assert fast.elements == list(range(1000))
    fast.assert_completed()


@pytest.mark.parametrize(
    "policy",
    [
        lambda flow: flow.on_backpressure_latest(),
        lambda flow: flow.on_backpressure_drop(),
        lambda flow: flow.on_backpressure_buffer(10, overflow="drop_oldest"),
    ],
    ids=["latest", "drop", "buffer"],
)
def test_a_policy_of_its_own_keeps_a_slow_subscriber_from_holding_up_others(
    policy: Callable[[Flow[int]], Flow[int]],
) -> None:
    shared = Flow.range(1000).publish()
    slow, fast = reader(policy(shared), request=1), reader(shared)
    shared.connect()
    assert fast.elements == list(range(1000))
    slow.assert_elements(0)


def test_subscribers_with_different_demand_get_the_same_elements() -> None:
    shared = Flow.range(700).map(lambda x: x * 2).publish()
    by_one = Reacting(lambda _: by_one.request(1), request=1)
    by_seven = Reacting(lambda x: by_seven.request(7) if x % 14 == 12 else None, request=7)
    shared.subscribe(by_one)
    shared.subscribe(by_seven)
    all_at_once = reader(shared)
    shared.connect()
    for each in (by_one, by_seven, all_at_once):
        assert each.elements == list(range(0, 1400, 2))
        each.assert_completed()
        each.assert_no_rule_broken()


def test_a_completion_does_not_wait_for_demand() -> None:
    shared = Flow.range(2).publish()
    subscribers = [reader(shared, request=2), reader(shared, request=2)]
    shared.connect()
    for each in subscribers:
        each.assert_completed()


# Leaving, failing.


def test_a_subscriber_that_cancels_within_a_row_gets_no_more() -> None:
    shared = Flow.range(10).publish()
    one = Reacting(lambda x: one.cancel() if x == 2 else None)
    before, after = reader(shared), None
    shared.subscribe(one)
    after = reader(shared)
    shared.connect()
    one.assert_elements(0, 1, 2)
    for each in (before, after):
        assert each.elements == list(range(10))
        each.assert_completed()


def test_nothing_more_is_pulled_when_the_last_one_cancels() -> None:
    pulled: list[int] = []
    shared = Flow.range(10).do_on_next(pulled.append).share()
    one = Reacting(lambda x: one.cancel() if x == 2 else None)
    shared.subscribe(one)
    assert pulled == [0, 1, 2]


def test_a_subscriber_that_raises_leaves_the_others_alone() -> None:
    shared = Flow.range(10).publish()
    raising = [Raising(2), Raising(2), Raising(5)]
    readers = [reader(shared)]
    for failing in raising:
        shared.subscribe(failing)
        readers.append(reader(shared))
    with collect_undelivered() as undelivered:
        shared.connect()
    for each in readers:
        assert each.elements == list(range(10))
        each.assert_completed()
    assert [each.elements for each in raising] == [[0, 1, 2], [0, 1, 2], [0, 1, 2, 3, 4, 5]]
    assert [str(each.error) for each in undelivered] == ["full"] * 3


def test_subscribers_that_share_one_function_are_told_apart() -> None:
    received: list[int] = []

    class Shared(Manual):
        on_next = staticmethod(received.append)  # type: ignore[assignment]

    shared = Flow.range(2).publish()
    subscribers = [Shared(request=UNBOUNDED), Shared(request=UNBOUNDED)]
    for each in subscribers:
        shared.subscribe(each)
    shared.connect()
    assert received == [0, 0, 1, 1]


def test_an_interrupt_passes_through_and_no_element_is_lost() -> None:
    class Interrupting(Manual):
        def on_next(self, element: int) -> None:
            if element == 1:
                raise KeyboardInterrupt

    shared = Flow.range(3).publish()
    before = reader(shared)
    shared.subscribe(Interrupting(request=UNBOUNDED))
    after = reader(shared, request=2)
    with pytest.raises(KeyboardInterrupt):
        shared.connect()
    after.request(1)
    for each in (before, after):
        each.assert_elements(0, 1, 2)
        each.assert_completed()


def test_one_who_is_interrupted_in_its_last_signal_has_left() -> None:
    class Interrupting(Manual):
        def on_complete(self) -> None:
            raise KeyboardInterrupt

    shared = Flow.range(3).publish()
    shared.subscribe(Interrupting(request=UNBOUNDED))
    after = reader(shared)
    with pytest.raises(KeyboardInterrupt):
        shared.connect()
    after.assert_completed()
    assert shared._sharing.shared_run.subscriptions == []


def test_an_error_comes_after_the_elements_before_it() -> None:
    source = Source()
    shared = source.flow.publish()
    slow, fast = reader(shared, request=1), reader(shared)
    shared.connect()
    source.publisher.next(1, 2)
    source.publisher.error(OSError("lost"))
    fast.assert_elements(1, 2)
    fast.assert_failed(OSError)
    slow.assert_not_ended()
    slow.request(1)
    slow.assert_elements(1, 2)
    slow.assert_failed(OSError)


def test_an_error_names_the_operator_in_which_it_arose() -> None:
    shared = Flow.of(0).map(lambda x: 1 // x).publish()
    subscribers = [reader(shared), reader(shared)]
    shared.connect()
    for each in subscribers:
        each.assert_failed(ZeroDivisionError)
        assert each.error is not None
        assert [note.partition(",")[0] for note in each.error.__notes__] == ["in map"]


def test_none_is_not_an_element_of_a_shared_flow() -> None:
    shared = Flow.of(1, 2).map(lambda x: x if x == 1 else None).publish()
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=UNBOUNDED)
    shared.subscribe(subscriber)
    shared.connect()
    subscriber.assert_elements(1)
    subscriber.assert_failed(TypeError, match="None")


def test_a_source_that_cannot_be_closed_does_not_harm_who_cancels() -> None:
    source = Flow.using(Stuck, lambda _: Flow.range(5)).share()
    subscriber = reader(source, request=1)
    with collect_undelivered() as undelivered:
        subscriber.cancel()
    assert [str(each.error) for each in undelivered] == ["stuck"]


class Stuck:
    """A resource that cannot be closed."""

    def __enter__(self) -> Stuck:
        return self

    def __exit__(self, *reason: object) -> None:
        raise OSError("stuck")


def test_the_run_has_the_context_of_who_connected() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="nobody")
    seen: list[str] = []
    source = Source()
    shared = source.flow.do_on_next(lambda _: seen.append(variable.get())).publish()
    reader(shared)
    token = variable.set("who connected")
    shared.connect()
    variable.reset(token)
    source.publisher.next(1)
    assert seen == ["who connected"]


def test_subscribers_on_other_threads_get_all_elements() -> None:
    with ThreadPool(2) as pool:
        shared = Flow.range(5000).publish().auto_connect(3)
        lists: list[list[int]] = []
        over = threading.Semaphore(0)

        def keep(elements: list[int]) -> None:
            lists.append(elements)
            over.release()

        for _ in range(3):
            shared.publish_on(pool, prefetch=16).to_list().for_each(keep).subscribe(
                ManualSubscriber(request=UNBOUNDED)
            )
        for _ in range(3):
            assert over.acquire(timeout=60)
    assert lists == [list(range(5000))] * 3


def test_a_subscriber_that_is_subscribed_already_is_refused() -> None:
    shared = Flow.range(3).publish()
    subscriber = reader(shared)
    shared.subscribe(subscriber)
    subscriber.assert_failed(RuntimeError, match="subscribed already")


# Arguments.


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda flow: flow.publish().auto_connect(0), ValueError, "auto_connect: subscribers must"),
        (lambda flow: flow.publish().ref_count("2"), TypeError, "ref_count: subscribers must"),
        (lambda flow: flow.publish().ref_count(grace=-1), ValueError, "ref_count: grace must be 0"),
        (lambda flow: flow.share(grace=-1), ValueError, "share: grace must be 0 seconds or more"),
        (lambda flow: flow.share(grace="soon"), TypeError, "share: grace must be seconds"),
        (lambda flow: flow.share(clock=3), TypeError, "share needs a clock"),
        (lambda flow: flow.replay(0), ValueError, "replay: n must be at least 1"),
        (lambda flow: flow.replay(1.5), TypeError, "replay: n must be an int"),
        (lambda flow: flow.replay(1, within=0), ValueError, "replay: within must be above 0"),
        (lambda flow: flow.replay(1, clock=3), TypeError, "replay needs a clock"),
        (lambda flow: flow.cache(0), ValueError, "cache: capacity must be at least 1"),
        (lambda flow: flow.publish().subscribe(None), TypeError, "subscriber is None"),
    ],
)
def test_what_makes_no_sense_is_refused_at_once(
    call: Callable[[Any], object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        call(Flow.of(1))


# Nothing is left over.


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Element:
    """Something to which weak references can be made."""


Share = Callable[[Flow[Element]], SharedFlow[Element]]

SHARINGS: dict[str, Share] = {
    "share": lambda flow: flow.share(),
    "share with grace": lambda flow: flow.share(grace=5, clock=VirtualTime()),
    "auto_connect": lambda flow: flow.publish().auto_connect(),
    "cache": lambda flow: flow.cache(),
}


@pytest.mark.usefixtures("no_collector")
@pytest.mark.parametrize("share", SHARINGS.values(), ids=list(SHARINGS))
@pytest.mark.parametrize("ending", ["complete", "error", "cancel"])
def test_nothing_of_a_run_outlives_the_flow(share: Share, ending: str) -> None:
    publisher = ManualPublisher[Element]()
    shared = share(Flow.from_publisher(publisher))
    subscribers = [ManualSubscriber[Element](request=UNBOUNDED) for _ in range(2)]
    for subscriber in subscribers:
        shared.subscribe(subscriber)
    element = Element()
    watched: list[Callable[[], object]] = [ref(element), ref(shared), *map(ref, subscribers)]
    publisher.next(element)
    for subscriber in subscribers if ending == "cancel" else ():
        subscriber.cancel()
    if ending == "error":
        publisher.error(OSError())
    elif not publisher.cancelled:
        publisher.complete()  # a run that goes on without subscribers is referred to by its source
    del element, shared, subscriber, subscribers
    del publisher  # which knows all that have subscribed to it
    assert [watch() for watch in watched] == [None] * 4


@pytest.mark.usefixtures("no_collector")
def test_elements_that_all_have_are_not_kept() -> None:
    source = ManualPublisher[Element]()
    shared = Flow.from_publisher(source).publish().auto_connect(2)
    received: list[object] = []
    for _ in range(2):
        shared.for_each(received.append).subscribe(ManualSubscriber(request=1))
    element = Element()
    watch = ref(element)
    source.next(element)
    del element
    assert len(received) == 2
    received.clear()
    assert watch() is None


# The kit.


JUDGED: dict[str, Callable[[int], Flow[int]]] = {
    "auto_connect": lambda n: Flow.range(n).publish().auto_connect(),
    "downstream of auto_connect": lambda n: (
        Flow.range(n).map(lambda x: x).publish().auto_connect().map(lambda x: x)
    ),
    "cache": lambda n: Flow.range(n).cache(),
    "replay": lambda n: Flow.range(n).replay(5),
}


@pytest.mark.usefixtures("search_briefly")
@pytest.mark.parametrize("name", quick(JUDGED, ["cache"]))
def test_the_kit_finds_nothing(name: str) -> None:
    make = JUDGED[name]
    report = verify_publisher(make, max_elements=300)
    assert report.passed, "\n".join(map(str, report.failures))


@pytest.mark.parametrize(
    ("share", "ahead"),
    [
        (lambda flow: flow.share(), 256),
        (lambda flow: flow.publish().auto_connect(), 256),
        (lambda flow: flow.replay(10), 266),
        (lambda flow: flow.cache(), 1_000),
    ],
    ids=["share", "publish", "replay", "cache"],
)
def test_a_fast_subscriber_is_so_far_ahead_of_the_slowest(
    share: Callable[[Flow[int]], SharedFlow[int]], ahead: int
) -> None:
    shared = share(Flow.range(1_000))
    slow = reader(shared, request=0)
    fast = reader(shared)
    assert len(fast.elements) == ahead
    slow.request(UNBOUNDED)
    assert fast.elements == slow.elements == list(range(1_000))


@pytest.mark.parametrize("ends", ["complete", "fail"])
def test_what_came_to_nobody_before_the_end_waits_for_the_next_subscriber(ends: str) -> None:
    source: ManualPublisher[int] = ManualPublisher()
    shared = Flow.from_publisher(source).publish()
    first = reader(shared)
    shared.connect()
    first.cancel()
    source.next(1, 2, 3)
    error = ValueError("torn")
    source.complete() if ends == "complete" else source.error(error)
    late = reader(shared)
    assert late.elements == [1, 2, 3]
    assert late.completed if ends == "complete" else late.error is error


@pytest.mark.parametrize(
    "apply",
    [Flow.publish, Flow.share, lambda flow: flow.replay(1)],
    ids=["publish", "share", "replay"],
)
def test_no_more_is_made_than_is_wanted_when_upstream_has_ended(
    apply: Callable[[Flow[int]], SharedFlow[int]],
) -> None:
    made: list[int] = []

    def many(_: int) -> Iterator[int]:
        for number in range(1_000):
            made.append(number)
            yield number

    discarded: list[int] = []
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).flat_map_iterable(many).do_on_discard(discarded.append)
    shared = apply(flow)
    subscriber = reader(shared, request=1)
    if apply is Flow.publish:
        shared.connect()
    source.next(0)
    source.complete()
    assert subscriber.elements == [0]
    assert len(made) == 2  # one more than is wanted shows that it is not the end
    subscriber.request(1)
    assert subscriber.elements == [0, 1]
    assert len(made) == 3
    if apply is Flow.share:
        subscriber.cancel()
        assert discarded == [2]
