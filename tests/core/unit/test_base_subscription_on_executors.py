"""The publisher's end on an executor: where signals come from, and what a rejection leads to."""

from __future__ import annotations

import threading

import pytest

from penstock.runtime import CallingThread, Executor, ThreadPool, VirtualTime, collect_undelivered
from tests.core.unit.parties import Elements, Inline, RecordingSubscriber, Rejecting, cancel
from tests.runtime.unit.threads import LIMIT


def test_no_signal_comes_before_the_executor_runs_its_task() -> None:
    time, subscriber = VirtualTime(), RecordingSubscriber()
    stream = Elements("ab", subscriber, time)
    stream.wake()
    assert subscriber.signals == []
    time.settle()
    assert subscriber.signals == ["on_subscribe"]
    stream.request(5)
    assert subscriber.signals == ["on_subscribe"]
    time.settle()
    assert subscriber.signals == ["on_subscribe", "a", "b", "on_complete"]


def test_all_signals_come_from_the_thread_of_the_executor() -> None:
    names: set[str] = set()
    done = threading.Event()

    def note() -> None:
        names.add(threading.current_thread().name)

    def finish() -> None:
        note()
        done.set()

    subscriber = RecordingSubscriber(
        on_subscribe=lambda: (note(), subscriber.subscription.request(3)),
        on_next=note,
        on_complete=finish,
    )
    with ThreadPool(1, name="turbine") as pool:
        Elements("ab", subscriber, pool).wake()
        assert done.wait(LIMIT)
    assert {name.partition("_")[0] for name in names} == {"turbine"}


@pytest.mark.parametrize("executor", [CallingThread(), Inline()], ids=["trampoline", "inline"])
def test_on_an_executor_that_runs_tasks_at_once_the_sequence_is_the_same(
    executor: Executor,
) -> None:
    subscriber = RecordingSubscriber(on_next=lambda: subscriber.subscription.request(1))
    stream = Elements("abcd", subscriber, executor)
    stream.wake()
    stream.request(1)
    assert subscriber.signals == ["on_subscribe", *"abcd", "on_complete"]


def test_rule_1_9_a_rejected_stream_gets_on_subscribe_and_then_the_error() -> None:
    executor, subscriber = Rejecting(), RecordingSubscriber()
    stream = Elements("ab", subscriber, executor)
    stream.wake()
    assert subscriber.signals == ["on_subscribe", executor.error]
    assert stream.released == 1


def test_a_rejected_stream_sends_nothing_though_on_subscribe_asked_for_it() -> None:
    executor = Rejecting()
    subscriber = RecordingSubscriber(on_subscribe=lambda: subscriber.subscription.request(5))
    stream = Elements("ab", subscriber, executor)
    stream.wake()
    assert subscriber.signals == ["on_subscribe", executor.error]
    stream.request(1)
    assert len(subscriber.signals) == 2
    assert stream.released == 1


def test_a_rejected_stream_that_is_cancelled_in_on_subscribe_gets_no_error() -> None:
    subscriber = RecordingSubscriber(on_subscribe=lambda: cancel(subscriber))
    stream = Elements("ab", subscriber, Rejecting())
    stream.wake()
    assert subscriber.signals == ["on_subscribe"]
    assert stream.released == 1


def test_a_rejection_in_the_middle_of_a_stream_ends_it_with_the_error() -> None:
    time, subscriber = VirtualTime(), RecordingSubscriber()
    executor = Rejecting(time, after=2)
    stream = Elements("abc", subscriber, executor)
    stream.wake()
    time.settle()
    stream.request(1)
    time.settle()
    stream.request(1)
    assert subscriber.signals == ["on_subscribe", "a", executor.error]
    assert stream.released == 1


def test_rule_3_15_cancelling_on_a_closed_pool_releases_without_an_error() -> None:
    subscribed = threading.Event()
    subscriber = RecordingSubscriber(on_subscribe=subscribed.set)
    with ThreadPool(1) as pool:
        stream = Elements("ab", subscriber, pool)
        stream.wake()
        assert subscribed.wait(LIMIT)
    with collect_undelivered() as lost:
        stream.cancel()
    assert subscriber.signals == ["on_subscribe"]
    assert stream.released == 1
    assert lost == []


def test_rule_3_16_a_request_on_a_closed_pool_is_answered_by_on_error() -> None:
    subscribed = threading.Event()
    subscriber = RecordingSubscriber(on_subscribe=subscribed.set)
    with ThreadPool(1) as pool:
        stream = Elements("ab", subscriber, pool)
        stream.wake()
        assert subscribed.wait(LIMIT)
    stream.request(1)
    assert type(subscriber.error) is RuntimeError
    assert "takes no more tasks" in str(subscriber.error)


def test_what_was_cancelled_before_the_executor_got_to_it_sends_only_on_subscribe() -> None:
    time, subscriber = VirtualTime(), RecordingSubscriber()
    stream = Elements("ab", subscriber, time)
    stream.wake()
    stream.request(2)
    stream.cancel()
    time.settle()
    assert subscriber.signals == ["on_subscribe"]
    assert stream.released == 1
