"""Chapter 3: what our subscriptions do for their subscribers, on every engine."""

from __future__ import annotations

import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from functools import partial
from typing import Any

import pytest

from penstock import (
    UNBOUNDED,
    Broadcast,
    ExecutorPublisher,
    IdentityProcessor,
    IterablePublisher,
)
from penstock.api import Publisher
from penstock.flow.multicast.broadcast import BroadcastState
from penstock.rules import RuleViolation
from penstock.runtime import CallingThread, ThreadPool, Undelivered
from tests.rules.consumers import Async, Make, Sync
from tests.rules.parties import (
    PATIENCE,
    Recorder,
    Source,
    SpySubscription,
    failing_after,
    raises,
    together,
)
from tests.rules.subjects import OnThreads, Subject

# 3.1


def test_rule_3_01_an_async_subscriber_calls_its_subscription_on_its_own_executor() -> None:
    spy = SpySubscription()
    with ThreadPool(name="mine") as pool:
        engine = OnThreads(pool)
        subscriber = Async(engine.watched)
        subscriber.on_subscribe(spy)
        engine.settle()
        for element in range(4):
            subscriber.on_next(element)
            engine.settle()
        subscriber.stop()
        engine.settle()
    assert spy.cancelled == 1
    assert {name.partition("_")[0] for name in spy.threads} == {"mine"}


def test_rule_3_01_a_sync_subscriber_calls_its_subscription_within_signals_only() -> None:
    spy = SpySubscription()
    subscriber = Sync(lambda element: element != 1)
    assert spy.calls == []
    subscriber.on_subscribe(spy)
    assert spy.calls == ["request(1)"]
    subscriber.on_next(0)
    assert spy.calls == ["request(1)", "request(1)"]
    subscriber.on_next(1)
    assert spy.calls == ["request(1)", "request(1)", "cancel"]


# 3.2


def test_rule_3_02_request_may_be_called_in_on_subscribe_and_in_on_next(subject: Subject) -> None:
    recorder = Recorder(1, on_next=lambda me: me.request(1))
    subject.subscribe(range(6), recorder)
    assert recorder.elements == list(range(6))
    assert recorder.completed


@pytest.mark.parametrize("calls", [1, 5])
def test_rule_3_02_several_requests_in_one_signal_are_all_served(
    subject: Subject, calls: int
) -> None:
    def request_often(me: Recorder) -> None:
        for _ in range(calls):
            me.request(2)

    recorder = Recorder(on_subscribe=request_often)
    subject.subscribe(Source(range(50)), recorder)
    assert recorder.elements == list(range(2 * calls))


# 3.3


@contextmanager
def stack_of_200_more_frames() -> Iterator[None]:
    """A subject that goes deeper than that fails with RecursionError."""
    depth, frame = 0, sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(depth + 200)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def test_rule_3_03_ten_thousand_requests_from_on_next_need_no_deep_stack(
    calling_thread_subject: Subject,
) -> None:
    recorder = Recorder(1, on_next=lambda me: me.request(1))
    with stack_of_200_more_frames():
        calling_thread_subject.subscribe(range(10_000), recorder)
    assert recorder.elements == list(range(10_000))
    assert recorder.completed


def chain() -> Publisher[int]:
    """Five stages, all on the calling thread."""
    first, last = IdentityProcessor[int](4), IdentityProcessor[int](1)
    hub = Broadcast[int](4, source=first)
    ExecutorPublisher(range(10_000), CallingThread(), batch=7).subscribe(first)
    hub.subscribe(last)
    return last


def test_rule_3_03_a_chain_of_processors_needs_no_deep_stack() -> None:
    recorder = Recorder(1, on_next=lambda me: me.request(1))
    with stack_of_200_more_frames():
        chain().subscribe(recorder)
    assert recorder.elements == list(range(10_000))
    assert recorder.faults == []


def test_rule_3_03_two_subscribers_that_request_for_each_other_need_no_deep_stack() -> None:
    hub = Broadcast[int](1, source=IterablePublisher(range(10_000)))
    first = Recorder(on_next=lambda _: second.request(1))
    second = Recorder(on_next=lambda _: first.request(1))
    hub.subscribe(first)
    hub.subscribe(second)
    with stack_of_200_more_frames():
        first.request(1)
    assert first.elements == second.elements == list(range(10_000))
    assert first.faults == second.faults == []


@pytest.mark.parametrize("base_class", ["sync", "async"])
def test_rule_3_03_the_base_classes_need_no_deep_stack(base_class: str) -> None:
    subscriber = Sync() if base_class == "sync" else Async(CallingThread(), prefetch=1)
    with stack_of_200_more_frames():
        IterablePublisher(range(10_000)).subscribe(subscriber)
    assert subscriber.elements == list(range(10_000))


# 3.4


def test_rule_3_04_request_returns_while_a_signal_is_running(subject: Subject) -> None:
    with running_signal(subject) as recorder:
        recorder.request(2)
        assert recorder.elements == [0]
    assert recorder.elements == [0, 1, 2]


@contextmanager
def running_signal(subject: Subject) -> Iterator[Recorder]:
    """A recorder of a long stream that another thread keeps in its first ``on_next``."""
    inside, leave = threading.Event(), threading.Event()

    def stay(_: Recorder) -> None:
        inside.set()
        assert leave.wait(PATIENCE)

    recorder = subject.subscribe(range(100), Recorder(on_next=stay))

    def drive() -> None:
        recorder.request(1)
        subject.settle()

    driver = threading.Thread(target=drive)
    driver.start()
    try:
        assert inside.wait(PATIENCE)
        yield recorder
    finally:
        leave.set()
        driver.join(PATIENCE)
    subject.settle()


def test_rule_3_04_request_leaves_the_work_to_the_executor() -> None:
    source = Source(range(10))
    started, leave = threading.Event(), threading.Event()
    with ThreadPool() as pool:
        engine = OnThreads(pool)
        recorder = Recorder()
        ExecutorPublisher(source, engine.watched).subscribe(recorder)
        engine.settle()
        pool.execute(started.set)
        pool.execute(partial(leave.wait, PATIENCE))
        assert started.wait(PATIENCE)
        recorder.request(5)
        assert source.pulled == 0
        leave.set()
        engine.settle()
    assert source.pulled == 5


# 3.5


def test_rule_3_05_cancel_returns_while_a_signal_is_running(subject: Subject) -> None:
    with running_signal(subject) as recorder:
        recorder.request(50)
        recorder.cancel()
    assert recorder.elements == [0]


def test_rule_3_05_cancel_from_many_threads_closes_the_source_once(subject: Subject) -> None:
    source = Source(range(50))
    recorder = subject.subscribe(source, Recorder(3))
    together(*[recorder.cancel] * 8)
    subject.settle()
    assert source.closed == 1
    assert recorder.elements == [0, 1, 2]


def test_rule_3_05_cancel_while_others_request_stops_the_stream(subject: Subject) -> None:
    source = Source(range(1_000))
    recorder = subject.subscribe(source, Recorder(1))
    together(recorder.cancel, recorder.cancel, *[partial(recorder.request, 100)] * 2)
    subject.settle()
    received = list(recorder.elements)
    recorder.request(10)
    subject.settle()
    assert recorder.elements == received == list(range(len(received)))
    assert source.closed == 1


# 3.6


@pytest.mark.parametrize("n", [1, UNBOUNDED, 0, -1, True, 1.5, None])
@pytest.mark.parametrize("k", [0, 1, 5])
def test_rule_3_06_request_after_cancel_does_nothing(subject: Subject, k: int, n: object) -> None:
    recorder = subject.subscribe(range(50), Recorder(k))
    recorder.cancel()
    before = list(recorder.signals)
    recorder.request(n)
    subject.settle()
    assert recorder.signals == before
    assert recorder.elements == list(range(k))


# 3.7


@pytest.mark.parametrize("k", [0, 1, 5])
def test_rule_3_07_cancel_after_cancel_does_nothing(subject: Subject, k: int) -> None:
    source = Source(range(50))
    recorder = subject.subscribe(source, Recorder(k))
    for _ in range(3):
        recorder.cancel()
    subject.settle()
    recorder.cancel()
    subject.settle()
    assert source.closed == 1
    assert recorder.elements == list(range(k))
    assert not recorder.ended


# 3.8


def test_rule_3_08_requests_add_up(subject: Subject) -> None:
    recorder = subject.subscribe(range(100), Recorder())
    for n in (3, 1, 8, 2):
        recorder.request(n)
    subject.settle()
    assert recorder.elements == list(range(14))


def test_rule_3_08_no_demand_is_left_unserved_while_there_are_elements(subject: Subject) -> None:
    recorder = subject.subscribe(Source(range(64)), Recorder())
    for n in range(1, 10):
        recorder.request(n)
        subject.settle()
        assert len(recorder.elements) == recorder.requested


# 3.9


@pytest.mark.parametrize("n", [0, -1, -5, -(2**63), -(10**30)])
def test_rule_3_09_request_of_no_elements_signals_value_error(subject: Subject, n: int) -> None:
    source = Source(range(50))
    recorder = subject.subscribe(source, Recorder(2))
    recorder.request(n)
    subject.settle()
    assert recorder.elements == [0, 1]
    assert type(recorder.error) is ValueError
    assert f"request({n})" in str(recorder.error)
    assert "rule 3.9" in str(recorder.error)
    assert source.closed == 1


@pytest.mark.parametrize("n", [True, False, 1.5, float("nan"), "3", None, [1]], ids=repr)
def test_rule_3_09_request_of_something_that_is_no_int_signals_type_error(
    subject: Subject, n: object
) -> None:
    source = Source(range(50))
    recorder = subject.subscribe(source, Recorder(2))
    recorder.request(n)
    subject.settle()
    assert recorder.elements == [0, 1]
    assert type(recorder.error) is TypeError
    assert f"request({n!r})" in str(recorder.error)
    assert "rule 3.9" in str(recorder.error)
    assert source.closed == 1


class Portion(IntEnum):
    """Integers all the same."""

    NONE = 0
    SMALL = 2


def test_rule_3_09_a_subclass_of_int_counts_as_an_int(subject: Subject) -> None:
    recorder = subject.subscribe(range(50), Recorder())
    recorder.request(Portion.SMALL)
    subject.settle()
    assert recorder.elements == [0, 1]
    recorder.request(Portion.NONE)
    subject.settle()
    assert type(recorder.error) is ValueError


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next"])
def test_rule_3_09_an_illegal_request_within_a_signal_ends_the_stream_after_it(
    subject: Subject, signal: str
) -> None:
    source = Source(range(50))
    recorder = Recorder(3, **{signal: lambda me: me.request(0)})
    subject.subscribe(source, recorder)
    elements = [] if signal == "on_subscribe" else ["on_next"]
    expected = ["on_subscribe", *elements, "on_error"]
    assert recorder.signals == expected
    assert source.closed == source.opened


def test_rule_3_09_an_illegal_request_is_answered_once(subject: Subject) -> None:
    recorder = subject.subscribe(range(50), Recorder(1))
    together(*[partial(recorder.request, -1)] * 4)
    subject.settle()
    assert recorder.signals == ["on_subscribe", "on_next", "on_error"]


def test_rule_3_09_an_illegal_request_ends_the_stream_of_one_subscriber_only() -> None:
    hub = Broadcast[int](source=IterablePublisher(range(6)))
    wrong, right = Recorder(), Recorder()
    hub.subscribe(wrong)
    hub.subscribe(right)
    wrong.request(0)
    right.request(UNBOUNDED)
    assert isinstance(wrong.error, ValueError)
    assert right.elements == list(range(6))


# 3.10, 3.11


def test_rule_3_10_our_subscribers_bear_on_next_within_request(make_consumer: Make) -> None:
    consumer = make_consumer()
    left = list(range(40))

    def send(n: int) -> None:
        for _ in range(min(n, len(left))):
            consumer.subscriber.on_next(left.pop(0))

    consumer.subscriber.on_subscribe(SpySubscription(on_request=send))
    consumer.settle()
    assert consumer.elements == list(range(40))


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["on_complete", "on_error"])
@pytest.mark.parametrize("elements", [0, 1, 3])
def test_rule_3_11_our_subscribers_bear_the_end_within_request(
    make_consumer: Make, elements: int, error: Exception | None
) -> None:
    consumer = make_consumer()
    left = list(range(elements))

    def send_and_end(n: int) -> None:
        for _ in range(min(n, len(left))):
            consumer.subscriber.on_next(left.pop(0))
        if left:
            return
        if error is None:
            consumer.subscriber.on_complete()
        else:
            consumer.subscriber.on_error(error)

    spy = SpySubscription(on_request=send_and_end)
    consumer.subscriber.on_subscribe(spy)
    consumer.settle()
    assert spy.cancelled == 0
    assert consumer.error is error
    assert consumer.completed is (error is None)
    if error is None:
        assert consumer.elements == list(range(elements))


# 3.12


@pytest.mark.parametrize("k", range(6))
def test_rule_3_12_cancel_stops_the_source_at_any_point(subject: Subject, k: int) -> None:
    source = Source(range(50))
    recorder = subject.subscribe(source, Recorder(k))
    recorder.cancel()
    subject.settle()
    assert recorder.elements == list(range(k))
    assert source.pulled == k
    assert source.closed == 1


def test_rule_3_12_cancel_in_on_subscribe_stops_the_source_before_it_starts(
    subject: Subject,
) -> None:
    source = Source(range(50))
    recorder = subject.subscribe(source, Recorder(5, on_subscribe=Recorder.cancel))
    assert recorder.signals == ["on_subscribe"]
    assert source.pulled == 0
    assert source.closed == source.opened


@pytest.mark.parametrize("k", [1, 3, 4, 5])
def test_rule_3_12_a_cancel_within_on_next_takes_nothing_more_from_the_source(
    iteration_subject: Subject, k: int
) -> None:
    source = Source(range(50))
    recorder = Recorder(20, on_next=lambda me: me.cancel() if len(me.elements) == k else None)
    iteration_subject.subscribe(source, recorder)
    assert source.pulled == k
    assert source.closed == 1


# 3.13


@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize(
    "reactions",
    [
        {"on_subscribe": Recorder.cancel},
        {"on_next": Recorder.cancel},
        {"on_next": lambda me: me.request(0)},
        {},
    ],
    ids=["in on_subscribe", "in on_next", "by an illegal request", "between signals"],
)
def test_rule_3_13_a_subscriber_is_free_after_its_cancel(
    subject: Subject, reactions: dict[str, Callable[[Recorder], object]]
) -> None:
    publisher = subject.publisher(range(50))
    recorder = subject.watch(Recorder(2, **reactions))
    publisher.subscribe(recorder)
    subject.settle()
    if not reactions:
        recorder.cancel()
        subject.settle()
    reference = weakref.ref(recorder)
    del recorder
    assert reference() is None
    del publisher


@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize(
    "fault",
    [lambda: failing_after([0], OSError("gone")), lambda: [0, None]],
    ids=["source that raises", "None in the source"],
)
def test_rule_3_13_a_subscriber_that_keeps_the_error_is_free(
    subject: Subject, fault: Callable[[], Iterable[object]]
) -> None:
    publisher = subject.publisher(fault())
    recorder = subject.watch(Recorder(5))
    publisher.subscribe(recorder)
    subject.settle()
    assert recorder.error is not None
    reference = weakref.ref(recorder)
    del recorder
    assert reference() is None
    del publisher


@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_rule_3_13_a_subscriber_that_raised_is_free_once_the_hook_is_done(
    subject: Subject, signal: str, undelivered: list[Undelivered]
) -> None:
    failing = failing_after([0], OSError("gone"))
    publisher = subject.publisher(failing if signal == "on_error" else [0])
    recorder = subject.watch(Recorder(5, **{signal: break_down}))
    publisher.subscribe(recorder)
    subject.settle()
    reference = weakref.ref(recorder)
    del recorder
    undelivered.pop()
    assert reference() is None
    del publisher


def break_down(_: Recorder) -> None:
    raise KeyError("bad")  # a new one: a recorder that kept it would keep itself alive


@pytest.mark.usefixtures("without_gc")
def test_rule_3_13_the_refused_twin_of_a_broadcast_is_free() -> None:
    hub = Broadcast[int](source=IterablePublisher(range(9)))
    recorder = Recorder(1)
    hub.subscribe(recorder)
    hub.subscribe(recorder)
    assert recorder.error is not None
    reference = weakref.ref(recorder)
    del recorder
    assert reference() is None


@pytest.mark.usefixtures("without_gc")
def test_rule_3_13_a_refused_second_subscriber_is_free() -> None:
    processor = IdentityProcessor[int]()
    processor.subscribe(Recorder())
    recorder = Recorder()
    processor.subscribe(recorder)
    assert recorder.error is not None
    reference = weakref.ref(recorder)
    del recorder
    assert reference() is None


class Element:
    """Something that can be weakly referred to."""


@pytest.mark.usefixtures("without_gc")
def test_rule_3_13_elements_on_their_way_are_free_after_a_cancel(subject: Subject) -> None:
    elements = [Element() for _ in range(20)]
    references = [weakref.ref(element) for element in elements]
    publisher = subject.publisher(iter_and_forget(elements))
    recorder = subject.watch(
        Recorder(10, on_next=lambda me: me.cancel() if len(me.elements) == 2 else None)
    )
    publisher.subscribe(recorder)
    subject.settle()
    recorder.elements.clear()
    elements.clear()
    assert [reference() for reference in references] == [None] * 20
    del publisher


def iter_and_forget(elements: list[Element]) -> Iterator[Element]:
    while elements:
        yield elements.pop(0)


# 3.14


def test_rule_3_14_the_last_cancel_shuts_a_broadcast_down_where_that_was_asked_for() -> None:
    source = Source(range(50))
    hub = Broadcast[object](source=IterablePublisher(source), shuts_down_when_idle=True)
    first, second = Recorder(1), Recorder(1)
    hub.subscribe(first)
    hub.subscribe(second)
    states = [hub.state]
    for recorder in (first, second):
        recorder.cancel()
        states.append(hub.state)
    assert states == [BroadcastState.ACTIVE, BroadcastState.ACTIVE, BroadcastState.SHUT_DOWN]
    assert source.closed == 1
    late = Recorder(1)
    hub.subscribe(late)
    assert late.signals == ["on_subscribe", "on_error"]
    assert isinstance(late.error, RuntimeError)
    assert "rule 3.14" in str(late.error)


def test_rule_3_14_the_last_cancel_leaves_a_broadcast_alive_otherwise() -> None:
    source = Source(range(50))
    hub = Broadcast[object](source=IterablePublisher(source))
    first, second = Recorder(1), Recorder(1)
    hub.subscribe(first)
    first.cancel()
    assert hub.state is BroadcastState.ACTIVE
    assert source.closed == 0
    hub.subscribe(second)
    assert second.elements == [1]


# 3.15


@pytest.mark.parametrize("by", ["cancel", "error", "completion", "illegal request"])
def test_rule_3_15_a_source_that_cannot_be_closed_goes_to_the_hook(
    subject: Subject, by: str, undelivered: list[Undelivered]
) -> None:
    error = OSError("cannot close")
    source = Source(range(2), KeyError("gone") if by == "error" else None, error)
    recorder = subject.subscribe(source, Recorder(1))
    if by == "cancel":
        recorder.cancel()
    else:
        recorder.request(0 if by == "illegal request" else 9)
    subject.settle()
    recorder.cancel()
    assert source.closed == 1
    (lost,) = undelivered
    assert lost.error is error
    assert "rule 3.15" in lost.what
    undelivered.clear()


def test_rule_3_15_an_upstream_cancel_that_raises_goes_to_the_hook(
    make_consumer: Make, undelivered: list[Undelivered]
) -> None:
    error = OSError("cannot cancel")

    def refuse() -> None:
        raise error

    consumer = make_consumer(lambda _: False)
    consumer.subscriber.on_subscribe(SpySubscription(on_cancel=refuse))
    consumer.settle()
    consumer.subscriber.on_next(0)
    consumer.settle()
    assert [lost.error for lost in undelivered] == [error]
    assert "rule 3.15" in undelivered.pop().what


def test_rule_3_15_a_keyboard_interrupt_on_closing_passes_through(
    calling_thread_subject: Subject,
) -> None:
    def interrupted() -> Iterator[int]:
        try:
            yield 0
            yield 1
        finally:
            raise KeyboardInterrupt

    class Interrupted:
        def __iter__(self) -> Iterator[int]:
            return interrupted()

    recorder = calling_thread_subject.subscribe(Interrupted(), Recorder(1))
    with pytest.raises(KeyboardInterrupt):
        recorder.cancel()
    assert recorder.elements == [0]


# 3.16


def test_rule_3_16_request_returns_normally_when_the_source_raises(subject: Subject) -> None:
    recorder = subject.subscribe(failing_after([0], OSError("gone")), Recorder())
    recorder.request(5)
    subject.settle()
    recorder.request(5)
    assert isinstance(recorder.error, OSError)


def test_rule_3_16_request_returns_normally_when_the_subscriber_raises(
    subject: Subject, undelivered: list[Undelivered]
) -> None:
    recorder = subject.subscribe(range(9), Recorder(on_next=raises(KeyError("bad"))))
    recorder.request(5)
    subject.settle()
    recorder.request(5)
    assert recorder.elements == [0]
    assert len(undelivered) == 1
    undelivered.clear()


def test_rule_3_16_a_keyboard_interrupt_of_the_source_passes_through(
    calling_thread_subject: Subject,
) -> None:
    source = Source([0], KeyboardInterrupt())
    recorder = calling_thread_subject.subscribe(source, Recorder())
    recorder.request(1)
    with pytest.raises(KeyboardInterrupt):
        recorder.request(1)
    assert recorder.elements == [0]


@pytest.mark.parametrize("processor", [IdentityProcessor, Broadcast], ids=["identity", "broadcast"])
def test_rule_3_16_an_upstream_request_that_raises_fails_the_stream_of_a_processor(
    processor: Callable[..., Any],
) -> None:
    subject, recorder = processor(), Recorder()
    spy = SpySubscription(on_request=refuse_request)
    subject.subscribe(recorder)
    subject.on_subscribe(spy)
    recorder.request(2)
    assert isinstance(recorder.error, RuleViolation)
    assert recorder.error.rule.number == "3.16"
    assert spy.calls == ["request(2)", "cancel"]


def refuse_request(_: int) -> None:
    raise OSError("cannot request")


def test_rule_3_16_an_upstream_request_that_raises_fails_a_sync_subscriber() -> None:
    spy, subscriber = SpySubscription(on_request=refuse_request), Sync()
    subscriber.on_subscribe(spy)
    assert isinstance(subscriber.error, RuleViolation)
    assert subscriber.error.rule.number == "3.16"
    assert spy.calls == ["request(1)", "cancel"]


# 3.17


@pytest.mark.parametrize(
    "requests",
    [
        (UNBOUNDED,),
        (2**63,),
        (10**30,),
        (UNBOUNDED, UNBOUNDED),
        (UNBOUNDED - 1, 5),
        (2**62, 2**62, 2**62),
        (1, 10**30, 1),
    ],
)
def test_rule_3_17_any_demand_is_fine(subject: Subject, requests: tuple[int, ...]) -> None:
    recorder = subject.subscribe(range(50), Recorder())
    for n in requests:
        recorder.request(n)
    subject.settle()
    assert recorder.elements == list(range(50))
    assert recorder.completed


def test_rule_3_17_unbounded_demand_from_within_on_next_is_fine(subject: Subject) -> None:
    recorder = Recorder(UNBOUNDED, on_next=lambda me: me.request(UNBOUNDED))
    subject.subscribe(range(50), recorder)
    assert recorder.elements == list(range(50))
    assert recorder.completed


def test_rule_3_17_any_number_of_requests_is_fine(subject: Subject) -> None:
    recorder = subject.subscribe(range(3_000), Recorder())
    for _ in range(2_000):
        recorder.request(1)
    subject.settle()
    assert recorder.elements == list(range(2_000))
