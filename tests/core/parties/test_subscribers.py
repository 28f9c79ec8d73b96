"""What the base classes for subscribers do besides keeping the rules."""

from __future__ import annotations

import contextvars
import threading
from functools import partial
from itertools import count
from typing import Any

import pytest

from penstock import AsyncSubscriber, ExecutorPublisher, IterablePublisher, SyncSubscriber
from penstock.rules import RuleViolation
from penstock.runtime import CallingThread, ThreadPool, Undelivered, VirtualTime
from tests.core.unit.parties import Rejecting, interrupted
from tests.rules.consumers import Async, Sync
from tests.rules.parties import PATIENCE, Source, SpySubscription
from tests.rules.subjects import Engine, OnThreads

pytestmark = pytest.mark.usefixtures("undelivered")


class SyncIgnoring(SyncSubscriber[object]):
    """Handles elements only."""

    def receive(self, element: object) -> bool:
        return True


class AsyncIgnoring(AsyncSubscriber[object]):
    """The same on an executor."""

    def receive(self, element: object) -> bool:
        return True


@pytest.mark.parametrize("base_class", ["sync", "async"])
def test_an_error_that_nobody_handles_goes_to_the_hook_once(
    base_class: str, undelivered: list[Undelivered]
) -> None:
    subscriber = SyncIgnoring() if base_class == "sync" else AsyncIgnoring(CallingThread())
    source = Source(range(3), OSError("gone"))
    IterablePublisher(source).subscribe(subscriber)
    (lost,) = undelivered
    assert lost.error is source.error
    assert lost.what == f"{type(subscriber).__name__} does not handle errors"
    undelivered.clear()


def test_a_sync_subscriber_asks_for_one_element_at_a_time() -> None:
    subscriber, spy = Sync(), SpySubscription()
    subscriber.on_subscribe(spy)
    for element in range(3):
        subscriber.on_next(element)
    assert spy.calls == ["request(1)"] * 4


class TimedSync(SyncSubscriber[float]):
    """Takes as long for an element as it says."""

    def __init__(self) -> None:
        self.now = 1_000.0
        super().__init__(largest=8, clock=lambda: self.now)

    def receive(self, element: float) -> bool:
        self.now += element
        return True


def test_a_sync_subscriber_asks_for_more_at_once_as_long_as_they_are_taken_quickly() -> None:
    subscriber, spy = TimedSync(), SpySubscription()
    subscriber.on_subscribe(spy)
    for _ in range(30):
        subscriber.on_next(0.0)
    assert subscriber.room == 8
    assert spy.calls[0] == "request(1)"
    assert spy.calls[-1] == "request(6)"  # three quarters of what there is room for
    for _ in range(30):
        subscriber.on_next(0.03)
    assert subscriber.room == 1
    assert spy.calls[-1] == "request(1)"
    assert sum(int(call[8:-1]) for call in spy.calls) == 61


def test_one_that_takes_milliseconds_for_an_element_is_asked_for_few_at_once() -> None:
    subscriber, spy = TimedSync(), SpySubscription()
    subscriber.on_subscribe(spy)
    for _ in range(50):
        subscriber.on_next(0.0015)
    assert subscriber.room == 4


class Timed(AsyncSubscriber[float]):
    """Takes as long for an element as it says."""

    def __init__(self) -> None:
        self.now = 0.0
        super().__init__(CallingThread(), prefetch=4, largest=16, clock=lambda: self.now)

    def receive(self, element: float) -> bool:
        self.now += element
        return True


def test_an_async_subscriber_has_room_for_more_as_long_as_it_is_quick() -> None:
    subscriber = Timed()
    publisher = PublishedAtOnce()
    publisher.seconds = 0.0
    publisher.subscribe(subscriber)
    publisher.give(6)
    assert publisher.held[0] == 4
    assert publisher.held[-1] == 12  # three quarters of what there is room for
    publisher.seconds = 0.03
    publisher.give(9)
    assert publisher.held[-1] == 3


class PublishedAtOnce:
    """A publisher that gives all that was asked for, when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.wanted = 0
        self.held: list[int] = []

    def subscribe(self, subscriber: Any) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self.wanted += n

    def cancel(self) -> None:
        pass

    def give(self, times: int) -> None:
        for _ in range(times):
            self.held.append(self.wanted)
            number, self.wanted = self.wanted, 0
            self.subscriber._find_idle()  # so that it takes all of them in one round
            for _ in range(number):
                self.subscriber.on_next(self.seconds)
            self.subscriber.release()


def test_an_async_subscriber_asks_for_its_prefetch_and_refills_in_portions() -> None:
    time, spy = VirtualTime(), SpySubscription()
    subscriber = Async(time, prefetch=8)
    subscriber.on_subscribe(spy)
    time.settle()
    for element in range(20):
        subscriber.on_next(element)
        time.settle()
    assert spy.calls == ["request(8)", "request(6)", "request(6)", "request(6)"]


@pytest.mark.parametrize("prefetch", [1, 2, 3, 4, 16])
def test_an_async_subscriber_never_holds_more_than_its_prefetch(prefetch: int) -> None:
    time = VirtualTime()
    subscriber = Async(time, prefetch=prefetch)
    ExecutorPublisher(range(100), time, batch=5).subscribe(subscriber)
    while time.step():
        assert subscriber.buffered <= prefetch
    assert subscriber.elements == list(range(100))
    assert 0 < subscriber.peak <= prefetch


def test_one_can_wait_for_the_end_of_an_async_subscriber() -> None:
    with ThreadPool(2) as pool:
        go_on = threading.Event()
        subscriber = Async(pool, lambda _: go_on.wait(PATIENCE))
        ExecutorPublisher(range(30), pool).subscribe(subscriber)
        assert not subscriber.wait(0)
        go_on.set()
        assert subscriber.wait(PATIENCE)
        assert subscriber.elements == list(range(30))
        assert subscriber.completed_times == 1


def test_waiting_ends_when_the_subscriber_is_stopped() -> None:
    with ThreadPool() as pool:
        subscriber = Async(pool)
        subscriber.stop()
        assert subscriber.wait(PATIENCE)


def test_stopping_from_within_receive_takes_nothing_more(engine: Engine) -> None:
    assert engine.executor is not None

    def stop_at_two(element: object) -> bool:
        if element == 2:
            subscriber.stop()
        return True

    subscriber, source = Async(engine.executor, stop_at_two), Source(range(50))
    IterablePublisher(source).subscribe(subscriber)
    engine.settle()
    assert subscriber.elements == [0, 1, 2]
    assert subscriber.completed_times == 0
    assert source.closed == 1


def test_an_error_in_receive_counts_though_the_stream_has_ended_meanwhile() -> None:
    error = KeyError("of receive")

    def fail(_: object) -> bool:
        raise error

    time = VirtualTime()
    subscriber = Async(time, fail)
    IterablePublisher([1, 2, 3]).subscribe(subscriber)
    time.settle()
    assert subscriber.elements == [1]
    assert subscriber.error is error
    assert subscriber.completed_times == 0


def test_who_takes_no_more_is_not_told_of_a_completion_that_has_come_meanwhile() -> None:
    time = VirtualTime()
    subscriber = Async(time, lambda _: False)
    IterablePublisher([1, 2, 3]).subscribe(subscriber)
    time.settle()
    assert subscriber.elements == [1]
    assert subscriber.completed_times == 0
    assert subscriber.wait(0)


def test_who_is_stopped_before_the_last_elements_is_not_told_of_the_completion() -> None:
    time = VirtualTime()
    subscriber = Async(time)
    subscriber.on_subscribe(SpySubscription())
    time.settle()
    subscriber.on_next(0)
    subscriber.on_complete()
    subscriber.stop()
    time.settle()
    assert subscriber.elements == []
    assert subscriber.completed_times == 0
    assert subscriber.wait(0)


def test_a_signal_handler_may_stop_an_async_subscriber_at_any_place() -> None:
    for place in count(1):
        subscriber, spy = Async(CallingThread()), SpySubscription()
        subscriber.on_subscribe(spy)
        if not interrupted(place, subscriber.stop, partial(subscriber.on_next, 0)):
            break
        assert spy.cancelled == 1
        assert subscriber.wait(0)
    assert place > 20


def test_an_executor_that_refuses_in_mid_stream_is_an_error_and_no_completion() -> None:
    time = VirtualTime()
    executor = Rejecting(time, after=1)
    subscriber, source = Async(executor, prefetch=2), Source(range(4))
    IterablePublisher(source).subscribe(subscriber)
    time.settle()
    assert subscriber.elements == [0, 1]
    assert subscriber.error is executor.error
    assert subscriber.completed_times == 0
    assert source.closed == 1


def test_a_pool_that_is_closed_in_mid_stream_is_an_error_and_no_completion() -> None:
    taking, go_on = threading.Event(), threading.Event()

    def slowly(_: object) -> bool:
        taking.set()
        return go_on.wait(PATIENCE)

    with ThreadPool() as pool:
        engine = OnThreads(pool)
        subscriber = Async(engine.watched, slowly)
        subscriber.on_subscribe(SpySubscription())
        engine.settle()
        subscriber.on_next(0)
        assert taking.wait(PATIENCE)
        subscriber.on_next(1)
        subscriber.on_complete()
        pool.close(wait=False)
        go_on.set()
    assert subscriber.elements == [0]
    assert isinstance(subscriber.error, RuntimeError)
    assert subscriber.completed_times == 0


def test_rule_3_16_a_request_that_raises_fails_an_async_subscriber_and_cancels() -> None:
    def refuse(_: int) -> None:
        raise OSError("not today")

    time, spy = VirtualTime(), SpySubscription(on_request=refuse)
    subscriber = Async(time)
    subscriber.on_subscribe(spy)
    time.settle()
    assert isinstance(subscriber.error, RuleViolation)
    assert subscriber.error.rule.number == "3.16"
    assert spy.calls == ["request(4)", "cancel"]


def test_system_exit_in_receive_cancels_the_stream(undelivered: list[Undelivered]) -> None:
    def leave_at_one(element: object) -> bool:
        if element == 1:
            raise SystemExit
        return True

    spy = SpySubscription()
    with ThreadPool() as pool:
        engine = OnThreads(pool)
        subscriber = Async(engine.watched, leave_at_one)
        subscriber.on_subscribe(spy)
        engine.settle()
        for element in range(4):
            subscriber.on_next(element)
        engine.settle()
    assert subscriber.elements == [0, 1]
    assert spy.cancelled == 1
    assert subscriber.wait(0)
    assert [type(lost.error) for lost in undelivered] == [SystemExit]
    undelivered.clear()


def test_system_exit_in_completed_does_not_tell_it_again(undelivered: list[Undelivered]) -> None:
    class Leaving(AsyncIgnoring):
        completed_times = 0

        def completed(self) -> None:
            self.completed_times += 1
            raise SystemExit

    with ThreadPool() as pool:
        engine = OnThreads(pool)
        subscriber = Leaving(engine.watched)
        subscriber.on_subscribe(SpySubscription())
        subscriber.on_complete()
        engine.settle()
        subscriber.stop()
        engine.settle()
    assert subscriber.completed_times == 1
    assert subscriber.wait(0)
    assert [type(lost.error) for lost in undelivered] == [SystemExit]
    undelivered.clear()


def test_an_executor_that_refuses_fails_an_async_subscriber_and_cancels() -> None:
    pool = ThreadPool()
    pool.close()
    subscriber, spy = Async(pool), SpySubscription()
    subscriber.on_subscribe(spy)
    assert isinstance(subscriber.error, RuntimeError)
    assert "takes no more tasks" in str(subscriber.error)
    assert spy.calls == ["cancel"]
    subscriber.on_next(0)
    subscriber.on_complete()
    subscriber.stop()
    assert subscriber.elements == []
    assert subscriber.completed_times == 0


WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def test_receive_has_the_context_of_the_place_where_the_subscriber_was_made(
    engine: Engine,
) -> None:
    seen: list[str] = []

    def note(_: object) -> bool:
        seen.append(WHO.get())
        return True

    def make() -> Async:
        WHO.set("the maker")
        assert engine.executor is not None
        return Async(engine.executor, note)

    subscriber = contextvars.copy_context().run(make)
    IterablePublisher(range(20)).subscribe(subscriber)
    engine.settle()
    assert seen == ["the maker"] * 20


@pytest.mark.parametrize(
    ("executor", "prefetch", "error"),
    [(None, 4, TypeError), (CallingThread(), 0, ValueError), (CallingThread(), "4", TypeError)],
    ids=["no executor", "no prefetch", "prefetch that is no int"],
)
def test_a_bad_option_is_an_error_at_assembly(
    executor: Any, prefetch: Any, error: type[Exception]
) -> None:
    with pytest.raises(error):
        Async(executor, prefetch=prefetch)


def test_a_stream_between_two_pools_arrives_whole() -> None:
    with ThreadPool(2) as upstream, ThreadPool(2) as downstream:
        engines = OnThreads(upstream), OnThreads(downstream)
        subscriber = Async(engines[1].watched, prefetch=5)
        ExecutorPublisher(range(1_000), engines[0].watched, batch=7).subscribe(subscriber)
        assert subscriber.wait(PATIENCE)
    assert subscriber.elements == list(range(1_000))
    assert subscriber.peak <= 5


def flushing(subscriber: Async) -> list[list[object]]:
    """What the subscriber has taken when each of its flushes is done."""
    taken: list[list[object]] = []
    subscriber.flush(lambda: taken.append(list(subscriber.elements)))
    return taken


def test_a_flush_is_done_when_all_that_has_come_is_taken() -> None:
    time = VirtualTime()
    subscriber = Async(time, prefetch=4)
    subscriber.on_subscribe(SpySubscription())
    time.settle()
    subscriber.on_next(0)
    subscriber.on_next(1)
    taken = flushing(subscriber)
    assert taken == []
    time.settle()
    assert taken == [[0, 1]]


def test_a_flush_of_a_stream_that_is_over_is_done_at_once() -> None:
    subscriber = Async(CallingThread())
    IterablePublisher(range(3)).subscribe(subscriber)
    assert flushing(subscriber) == [[0, 1, 2]]


def test_a_flush_is_done_although_the_executor_refuses() -> None:
    pool = ThreadPool()
    subscriber = Async(pool)
    pool.close()
    assert flushing(subscriber) == [[]]
    assert isinstance(subscriber.failure, RuntimeError)


def test_an_async_subscriber_knows_the_error_with_which_it_ended() -> None:
    def refuse(_: object) -> bool:
        raise OSError("no space left")

    subscriber = Async(CallingThread(), refuse)
    IterablePublisher(range(3)).subscribe(subscriber)
    assert str(subscriber.failure) == "no space left"
    completed = Async(CallingThread())
    IterablePublisher(range(3)).subscribe(completed)
    assert completed.failure is None
