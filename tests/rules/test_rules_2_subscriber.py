"""Chapter 2: what our subscribers owe to their publishers, and how our publishers bear others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import pytest

from penstock import (
    UNBOUNDED,
    AsyncSubscriber,
    Broadcast,
    ExecutorPublisher,
    IdentityProcessor,
    IterablePublisher,
    SyncSubscriber,
)
from penstock.rules import RuleViolation
from penstock.runtime import ThreadPool, Undelivered, VirtualTime, set_undelivered_hook
from tests.rules.consumers import Async, Consumer, Make, Sync
from tests.rules.parties import (
    NOTHING,
    PATIENCE,
    Recorder,
    Source,
    SpiedPublisher,
    SpySubscription,
    raises,
    together,
)
from tests.rules.subjects import Engine, OnThreads, Subject


def subscribed(make_consumer: Make) -> tuple[Consumer, SpySubscription]:
    """A consumer and its subscription."""
    consumer, spy = make_consumer(), SpySubscription()
    consumer.subscriber.on_subscribe(spy)
    consumer.settle()
    return consumer, spy


def feed(consumer: Consumer, elements: Iterable[object]) -> None:
    """Send the elements, each once all before are taken."""
    for element in elements:
        consumer.subscriber.on_next(element)
        consumer.settle()


# 2.1


def test_rule_2_01_a_subscriber_asks_for_what_it_wants(make_consumer: Make) -> None:
    consumer, spy = subscribed(make_consumer)
    for element in range(50):
        assert spy.requested > element
        feed(consumer, [element])
    assert consumer.elements == list(range(50))


def test_rule_2_01_a_subscriber_asks_for_no_more_than_it_has_room_for(make_consumer: Make) -> None:
    consumer, spy = subscribed(make_consumer)
    for element in range(50):
        assert spy.requested - element <= 4
        feed(consumer, [element])


def test_rule_2_01_an_element_too_many_ends_the_stream_of_a_sync_subscriber() -> None:
    def send_another(_: object) -> bool:
        subscriber.on_next(1)
        return True

    subscriber, spy = Sync(send_another), SpySubscription()
    subscriber.on_subscribe(spy)
    subscriber.on_next(0)
    assert_overrun(subscriber, spy)
    assert subscriber.elements == [0]


def test_rule_2_01_an_element_too_many_ends_the_stream_of_an_async_subscriber() -> None:
    time, spy = VirtualTime(), SpySubscription()
    subscriber = Async(time, prefetch=4)
    subscriber.on_subscribe(spy)
    time.settle()
    for element in range(5):
        subscriber.on_next(element)
    time.settle()
    assert_overrun(subscriber, spy)
    assert subscriber.elements == [0, 1, 2, 3]


@pytest.mark.parametrize("processor", [IdentityProcessor, Broadcast], ids=["identity", "broadcast"])
def test_rule_2_01_an_element_too_many_ends_the_stream_of_a_processor(
    processor: Callable[..., Any],
) -> None:
    subject, recorder, spy = processor(), Recorder(2), SpySubscription()
    subject.subscribe(recorder)
    subject.on_subscribe(spy)
    for element in range(4):
        subject.on_next(element)
    assert_overrun(recorder, spy)
    assert recorder.elements == [0, 1]


def assert_overrun(outcome: Sync | Async | Recorder, spy: SpySubscription) -> None:
    assert isinstance(outcome.error, RuleViolation)
    assert outcome.error.rule.number == "1.1"
    assert spy.cancelled == 1


# 2.2


def test_rule_2_02_a_publisher_does_not_wait_for_a_slow_async_subscriber() -> None:
    started, go_on = threading.Event(), threading.Event()

    def slowly(_: object) -> bool:
        started.set()
        return go_on.wait(PATIENCE)

    with ThreadPool() as pool:
        engine = OnThreads(pool)
        subscriber = Async(engine.watched, slowly)
        subscriber.on_subscribe(SpySubscription())
        engine.settle()
        subscriber.on_next(0)
        assert started.wait(PATIENCE)
        # receive is running, and yet these return:
        subscriber.on_next(1)
        subscriber.on_next(2)
        subscriber.on_complete()
        assert subscriber.elements == [0]
        go_on.set()
        engine.settle()
    assert subscriber.elements == [0, 1, 2]
    assert subscriber.completed_times == 1


def test_rule_2_02_nothing_of_an_async_subscriber_runs_within_a_signal() -> None:
    time, spy = VirtualTime(), SpySubscription()
    subscriber = Async(time)
    subscriber.on_subscribe(spy)
    assert spy.calls == []
    time.settle()
    subscriber.on_next(0)
    subscriber.on_complete()
    assert (subscriber.elements, subscriber.completed_times) == ([], 0)
    time.settle()
    assert (subscriber.elements, subscriber.completed_times) == ([0], 1)


# 2.3


@pytest.mark.parametrize("demanded", [True, False])
@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["on_complete", "on_error"])
def test_rule_2_03_a_terminal_signal_leads_to_no_call_upstream(
    make_consumer: Make, error: Exception | None, demanded: bool
) -> None:
    consumer, spy = subscribed(make_consumer)
    if demanded:
        feed(consumer, range(2))
    before = list(spy.calls)
    end(consumer, error)
    consumer.settle()
    assert spy.calls == before


def end(consumer: Consumer, error: Exception | None) -> None:
    """Send the terminal signal."""
    if error is None:
        consumer.subscriber.on_complete()
    else:
        consumer.subscriber.on_error(error)


# 2.4


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
def test_rule_2_04_an_ended_stream_is_not_called_again(
    make_consumer: Make, error: Exception | None
) -> None:
    consumer, spy = subscribed(make_consumer)
    end(consumer, error)
    consumer.settle()
    before = list(spy.calls)
    if isinstance(consumer.outcome, Recorder):
        consumer.outcome.request(5)
        consumer.outcome.cancel()
    if isinstance(consumer.outcome, Async):
        consumer.outcome.stop()
    feed(consumer, [7])  # not allowed by 1.7, and harmless
    end(consumer, KeyError("late"))
    consumer.settle()
    assert spy.calls == before
    assert consumer.elements == []
    assert consumer.error is error
    assert consumer.completed is (error is None)


def test_rule_2_04_a_subscription_that_comes_after_the_end_is_cancelled(
    make_consumer: Make,
) -> None:
    consumer, _ = subscribed(make_consumer)
    consumer.subscriber.on_complete()
    consumer.settle()
    late = SpySubscription()
    consumer.subscriber.on_subscribe(late)
    consumer.settle()
    assert late.calls == ["cancel"]


# 2.5


def test_rule_2_05_a_second_subscription_is_cancelled_and_the_first_goes_on(
    make_consumer: Make,
) -> None:
    consumer, first = subscribed(make_consumer)
    second = SpySubscription()
    consumer.subscriber.on_subscribe(second)
    consumer.settle()
    feed(consumer, range(6))
    consumer.subscriber.on_complete()
    consumer.settle()
    assert second.calls == ["cancel"]
    assert first.cancelled == 0
    assert consumer.elements == list(range(6))
    assert consumer.completed


def test_rule_2_05_a_second_subscription_that_cannot_be_cancelled_is_reported(
    make_consumer: Make, undelivered: list[Undelivered]
) -> None:
    consumer, _ = subscribed(make_consumer)
    error = OSError("cannot cancel")
    consumer.subscriber.on_subscribe(SpySubscription(on_cancel=raiser(error)))
    consumer.settle()
    assert [lost.error for lost in undelivered] == [error]
    assert "rule 3.15" in str(undelivered.pop())


def raiser(error: BaseException) -> Callable[..., Any]:
    """A function that raises ``error``, whatever it is given."""

    def call(*_: object) -> Any:
        raise error

    return call


# 2.6


def test_rule_2_06_a_stream_that_is_not_wanted_any_more_is_cancelled(make_consumer: Make) -> None:
    consumer = make_consumer(lambda element: element != 2)
    spy = SpySubscription()
    consumer.subscriber.on_subscribe(spy)
    consumer.settle()
    feed(consumer, range(3))
    assert spy.cancelled == 1
    assert consumer.elements == [0, 1, 2]
    assert consumer.error is None
    assert not consumer.completed


def test_rule_2_06_a_stream_is_cancelled_once_however_it_is_given_up(make_consumer: Make) -> None:
    consumer = make_consumer(lambda element: element != 0)
    spy = SpySubscription()
    consumer.subscriber.on_subscribe(spy)
    consumer.settle()
    feed(consumer, range(3))  # two more that were on their way
    if isinstance(consumer.outcome, Recorder):
        consumer.outcome.cancel()
    if isinstance(consumer.outcome, Async):
        consumer.outcome.stop()
    consumer.settle()
    assert spy.cancelled == 1


@pytest.mark.parametrize("processor", [IdentityProcessor, Broadcast], ids=["identity", "broadcast"])
def test_rule_2_06_a_processor_whose_subscriber_left_before_it_was_subscribed_cancels(
    processor: Callable[..., Any],
) -> None:
    options = {"shuts_down_when_idle": True} if processor is Broadcast else {}
    subject, recorder, spy = processor(**options), Recorder(5), SpySubscription()
    subject.subscribe(recorder)
    recorder.cancel()
    subject.on_subscribe(spy)
    assert spy.calls == ["cancel"]


def test_rule_2_06_an_async_subscriber_can_be_stopped_at_any_moment(engine: Engine) -> None:
    assert engine.executor is not None
    before, after = Async(engine.executor), Async(engine.executor)
    first, second = SpySubscription(), SpySubscription()
    before.stop()
    engine.settle()
    before.on_subscribe(first)
    after.on_subscribe(second)
    engine.settle()
    after.stop()
    engine.settle()
    assert first.calls == ["cancel"]
    assert second.calls == ["request(4)", "cancel"]
    assert after.completed_times == 0


# 2.7


@pytest.mark.parametrize("processor", [IdentityProcessor, Broadcast], ids=["identity", "broadcast"])
def test_rule_2_07_calls_upstream_stay_serial_while_threads_request_downstream(
    processor: Callable[..., Any],
) -> None:
    with ThreadPool(2) as pool:
        engine = OnThreads(pool)
        subject = processor(8, executor=engine.executor)
        upstream = SpiedPublisher(ExecutorPublisher(range(1_000), engine.watched, batch=3))
        upstream.subscribe(subject)
        recorder = Recorder()
        subject.subscribe(recorder)
        engine.settle()

        def request_150() -> None:
            for _ in range(150):
                recorder.request(1)

        together(request_150, request_150)
        engine.settle()
        together(request_150, recorder.cancel)
        engine.settle()
    assert upstream.spy.overlaps == 0
    assert recorder.elements[:300] == list(range(300))
    assert recorder.faults == []


def test_rule_2_07_an_async_subscriber_stopped_by_another_thread_calls_serially() -> None:
    with ThreadPool(2) as pool:
        engine = OnThreads(pool)
        for _ in range(20):
            subscriber = Async(engine.watched)
            upstream = SpiedPublisher(ExecutorPublisher(range(300), engine.watched, batch=3))
            together(partial(upstream.subscribe, subscriber), subscriber.stop)
            engine.settle()
            assert upstream.spy.overlaps == 0
            assert upstream.spy.cancelled == 1
            assert subscriber.elements == list(range(len(subscriber.elements)))


# 2.8


def test_rule_2_08_elements_after_cancel_are_ignored(make_consumer: Make) -> None:
    consumer = make_consumer(lambda _: False)
    spy = SpySubscription()
    consumer.subscriber.on_subscribe(spy)
    consumer.settle()
    feed(consumer, range(3))
    consumer.subscriber.on_complete()
    consumer.settle()
    assert consumer.elements == [0]
    assert consumer.error is None
    assert not consumer.completed
    assert spy.cancelled == 1


# 2.9


@pytest.mark.parametrize("elements", [0, 3])
def test_rule_2_09_completion_comes_with_and_without_elements(
    make_consumer: Make, elements: int
) -> None:
    consumer, _ = subscribed(make_consumer)
    feed(consumer, range(elements))
    consumer.subscriber.on_complete()
    consumer.settle()
    assert consumer.elements == list(range(elements))
    assert consumer.completed
    assert consumer.error is None


@pytest.mark.parametrize("processor", [IdentityProcessor, Broadcast], ids=["identity", "broadcast"])
def test_rule_2_09_completion_passes_a_processor_that_nobody_asked_for_anything(
    processor: Callable[..., Any],
) -> None:
    subject, recorder, spy = processor(), Recorder(), SpySubscription()
    subject.subscribe(recorder)
    subject.on_subscribe(spy)
    subject.on_complete()
    assert spy.calls == []
    assert recorder.signals == ["on_subscribe", "on_complete"]


# 2.10


@pytest.mark.parametrize("elements", [0, 3])
def test_rule_2_10_an_error_comes_with_and_without_elements(
    make_consumer: Make, elements: int
) -> None:
    consumer, _ = subscribed(make_consumer)
    error = OSError("gone")
    feed(consumer, range(elements))
    consumer.subscriber.on_error(error)
    consumer.settle()
    assert consumer.elements == list(range(elements))
    assert consumer.error is error
    assert not consumer.completed


@pytest.mark.parametrize("processor", [IdentityProcessor, Broadcast], ids=["identity", "broadcast"])
def test_rule_2_10_an_error_passes_a_processor_that_nobody_asked_for_anything(
    processor: Callable[..., Any],
) -> None:
    subject, recorder, error = processor(), Recorder(), OSError("gone")
    subject.subscribe(recorder)
    subject.on_subscribe(SpySubscription())
    subject.on_error(error)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert recorder.error is error


# 2.11


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
def test_rule_2_11_signals_are_processed_in_the_order_of_the_calls(
    engine: Engine, error: Exception | None
) -> None:
    assert engine.executor is not None
    subscriber = Async(engine.executor, prefetch=8)
    ExecutorPublisher(Source(range(500), error), engine.executor, batch=7).subscribe(subscriber)
    engine.settle()
    assert subscriber.elements == list(range(500))
    assert subscriber.error is error
    assert subscriber.completed_times == (0 if error else 1)
    assert subscriber.peak <= 8
    assert subscriber.buffered == 0


def test_rule_2_11_elements_that_came_before_an_error_are_processed_before_it() -> None:
    time = VirtualTime()
    subscriber = Async(time)
    subscriber.on_subscribe(SpySubscription())
    time.settle()
    for element in range(3):
        subscriber.on_next(element)
    subscriber.on_error(OSError("gone"))
    time.settle()
    assert subscriber.elements == [0, 1, 2]
    assert subscriber.error is not None


# 2.12


def test_rule_2_12_on_subscribe_comes_once(subject: Subject) -> None:
    recorder = subject.subscribe(range(50), Recorder(1))
    together(*[partial(recorder.request, 3)] * 3)
    subject.settle()
    recorder.cancel()
    recorder.request(1)
    subject.settle()
    assert recorder.signals.count("on_subscribe") == 1


def test_rule_2_12_a_processor_is_subscribed_to_its_source_once() -> None:
    source = Source(range(9))
    hub = Broadcast[object](source=IterablePublisher(source))
    for _ in range(3):
        hub.subscribe(Recorder(2))
    assert source.opened == 1


# 2.13


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_rule_2_13_none_as_argument_is_refused_at_once(make_consumer: Make, signal: str) -> None:
    consumer, spy = subscribed(make_consumer)
    with pytest.raises(TypeError, match=rf"{signal} got None.*rule 2\.13"):
        getattr(consumer.subscriber, signal)(NOTHING)
    feed(consumer, range(2))
    consumer.subscriber.on_complete()
    consumer.settle()
    assert consumer.elements == [0, 1]
    assert consumer.completed
    assert spy.cancelled == 0


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_rule_2_13_a_subscriber_that_raises_counts_as_cancelled(
    subject: Subject, signal: str, undelivered: list[Undelivered]
) -> None:
    source = Source([0, 1], OSError("gone") if signal == "on_error" else None)
    bad = KeyError("bad")
    recorder = subject.subscribe(source, Recorder(9, **{signal: raises(bad)}))
    recorder.request(1)
    recorder.cancel()
    subject.settle()
    assert recorder.signals.count(signal) == 1
    assert recorder.signals[-1] == signal
    assert source.closed == source.opened
    (lost,) = undelivered
    assert lost.error is bad
    assert signal in lost.what
    assert "rule 2.13" in lost.what
    undelivered.clear()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_rule_2_13_a_subscriber_that_raises_disturbs_no_other(
    signal: str, undelivered: list[Undelivered]
) -> None:
    error = OSError("gone") if signal == "on_error" else None
    hub = Broadcast[object](source=IterablePublisher(Source(range(9), error)))
    before, bad, after = Recorder(), Recorder(0, **{signal: raises(KeyError("bad"))}), Recorder()
    for recorder in (before, bad, after):
        hub.subscribe(recorder)
    for _ in range(10):
        for recorder in (before, bad, after):
            recorder.request(1)
    for recorder in (before, after):
        assert recorder.elements == list(range(9))
        assert recorder.ended
        assert recorder.faults == []
    assert bad.signals[-1] == signal
    assert len(undelivered) == 1
    undelivered.clear()


def test_rule_2_13_a_hook_that_raises_does_not_reach_the_publisher(
    subject: Subject, caplog: pytest.LogCaptureFixture
) -> None:
    previous = set_undelivered_hook(raiser(KeyError("bad hook")))
    try:
        source = Source(range(3))
        recorder = subject.subscribe(source, Recorder(9, on_next=raises(KeyError("bad"))))
    finally:
        set_undelivered_hook(previous)
    assert recorder.elements == [0]
    assert source.closed == 1
    assert len(caplog.records) == 2  # the hook's error, and the one that it was given


BROKEN = KeyError("broken")


def break_down(_: object) -> bool:
    raise BROKEN


def test_rule_2_13_an_exception_in_receive_cancels_and_reaches_failed(make_receiver: Make) -> None:
    consumer = make_receiver(break_down)
    spy = SpySubscription()
    consumer.subscriber.on_subscribe(spy)
    consumer.settle()
    feed(consumer, range(2))
    assert consumer.elements == [0]
    assert consumer.error is BROKEN
    assert spy.cancelled == 1


class Careless(SyncSubscriber[object]):
    """Forgets to answer, and overrides nothing."""

    def receive(self, element: object) -> bool:
        return NOTHING  # type: ignore[no-any-return]


class CarelessAsync(AsyncSubscriber[object]):
    """The same on an executor."""

    def receive(self, element: object) -> bool:
        return NOTHING  # type: ignore[no-any-return]


def test_rule_2_13_an_answer_that_is_no_bool_is_an_error_that_reaches_the_hook(
    undelivered: list[Undelivered],
) -> None:
    time = VirtualTime()
    for subscriber in (Careless(), CarelessAsync(time)):
        spy = SpySubscription()
        subscriber.on_subscribe(spy)
        time.settle()
        subscriber.on_next(0)
        time.settle()
        assert spy.cancelled == 1
        (lost,) = undelivered
        assert isinstance(lost.error, TypeError)
        assert "must return True to go on or False to stop, not None" in str(lost.error)
        assert type(subscriber).__name__ in lost.what
        undelivered.clear()


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
def test_rule_2_13_what_the_user_raises_at_the_end_goes_to_the_hook(
    undelivered: list[Undelivered], error: Exception | None
) -> None:
    time, bad = VirtualTime(), KeyError("bad")
    for subscriber in (Sync(), Async(time)):
        subscriber.completed = raiser(bad)  # type: ignore[method-assign]
        subscriber.failed = raiser(bad)  # type: ignore[method-assign]
        subscriber.on_subscribe(SpySubscription())
        time.settle()
        if error is None:
            subscriber.on_complete()
        else:
            subscriber.on_error(error)
        time.settle()
        assert [lost.error for lost in undelivered] == [bad]
        undelivered.clear()


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_rule_2_13_a_keyboard_interrupt_passes_through_and_ends_the_stream(
    calling_thread_subject: Subject, signal: str
) -> None:
    source = Source([0, 1], OSError("gone") if signal == "on_error" else None)
    recorder = Recorder(9, **{signal: raises(KeyboardInterrupt())})
    with pytest.raises(KeyboardInterrupt):
        calling_thread_subject.subscribe(source, recorder)
    before = list(recorder.signals)
    recorder.request(5)
    recorder.cancel()
    assert recorder.signals == before
    assert before[-1] == signal
    assert source.closed == source.opened


def test_rule_2_13_a_keyboard_interrupt_in_receive_passes_through() -> None:
    source = Source(range(3))
    with pytest.raises(KeyboardInterrupt):
        IterablePublisher(source).subscribe(Sync(raiser(KeyboardInterrupt())))
    assert source.closed == 1


def test_rule_2_13_a_system_exit_on_a_pool_is_reported_and_ends_the_stream(
    undelivered: list[Undelivered],
) -> None:
    source, leaving = Source(range(3)), SystemExit(1)
    with ThreadPool() as pool:
        engine = OnThreads(pool)
        recorder = Recorder(UNBOUNDED, on_next=raises(leaving))
        ExecutorPublisher(source, engine.watched).subscribe(recorder)
    assert recorder.elements == [0]
    assert source.closed == 1
    assert [lost.error for lost in undelivered] == [leaving]
    undelivered.clear()
