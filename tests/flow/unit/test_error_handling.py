"""Recovering from errors, trying again, repeating."""

from __future__ import annotations

import gc
import threading
import traceback
import weakref
from collections.abc import Callable
from datetime import timedelta
from itertools import islice
from typing import Any

import pytest

from penstock import (
    ExecutorPublisher,
    Flow,
    IterablePublisher,
    Retry,
    Subscriber,
    Subscription,
    ThreadPool,
    VirtualTime,
)
from penstock.runtime import Task, Timer
from penstock.tck import verify_operator, verify_publisher
from penstock.testing import ManualPublisher, ManualSubscriber

MANY = 5_000


class Runs:
    """A flow that counts its runs: each gives its number, and fails until ``good`` is reached."""

    def __init__(self, good: int | None = None) -> None:
        self.count = 0
        self._good = good

    def __call__(self) -> Flow[int]:
        self.count += 1
        number = self.count
        if number == self._good:
            return Flow.of(number)
        return Flow.of(number, 0).map(lambda x: number // x and number)

    @property
    def flow(self) -> Flow[int]:
        return Flow.defer(self)


class AtOnce:
    """A clock on which no time passes: it runs each task while it is being handed in."""

    def now(self) -> float:
        return 0

    def call_later(self, seconds: float, task: Task) -> Timer:
        task()
        return VirtualTime().call_later(0, task)


def subscribed(flow: Flow[Any], request: int = 0) -> ManualSubscriber[Any]:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
    flow.subscribe(subscriber)
    return subscriber


def notes(error: BaseException | None) -> list[str]:
    return list(getattr(error, "__notes__", []))


# What takes the place of an error.


def test_a_failure_is_replaced_by_what_the_function_makes_of_it() -> None:
    flow = Flow.of(4, 2, 0, 1).map(lambda x: 8 // x)
    resumed = flow.on_error_resume(lambda error: Flow.of(type(error)))
    assert resumed.to_list().run_sync() == [2, 4, ZeroDivisionError]


def test_an_origin_that_cannot_be_opened_is_recovered_from_too() -> None:
    assert Flow.error(OSError()).on_error_return(1).to_list().run_sync() == [1]


def test_the_function_sees_the_error_with_the_note_of_its_operator() -> None:
    flow = Flow.of(0).map(lambda x: 8 // x)
    seen = flow.on_error_resume(lambda error: Flow.of(*notes(error))).to_list().run_sync()
    assert seen is not None
    assert [str(note).partition(",")[0] for note in seen] == ["in map"]


def test_the_demand_that_is_left_is_asked_of_the_fallback() -> None:
    first: ManualPublisher[int] = ManualPublisher()
    fallback: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(first).on_error_resume(lambda error: fallback)
    subscriber = subscribed(flow, request=3)
    first.next(1)
    first.error(OSError())
    assert fallback.requested == 2
    fallback.next(2)
    subscriber.assert_elements(1, 2)
    subscriber.cancel()
    assert fallback.cancelled


def test_a_failure_needs_no_demand_to_be_recovered_from() -> None:
    fallback: ManualPublisher[int] = ManualPublisher()
    subscriber = subscribed(Flow.error(OSError()).on_error_resume(lambda error: fallback))
    assert fallback.subscribed
    assert fallback.requested == 0
    fallback.complete()
    subscriber.assert_completed()


def test_a_function_that_raises_fails_with_the_first_error_as_context() -> None:
    first = OSError("down")

    def fail(error: Exception) -> Flow[int]:
        raise KeyError("no fallback")

    subscriber = subscribed(Flow.error(first).on_error_resume(fail))
    subscriber.assert_failed(KeyError, match="no fallback")
    assert subscriber.error is not None
    assert subscriber.error.__context__ is first
    assert [note.partition(",")[0] for note in notes(subscriber.error)] == ["in on_error_resume"]


def test_a_function_that_raises_the_same_error_passes_it_on_with_one_note() -> None:
    def fail(error: Exception) -> Flow[int]:
        raise error

    subscriber = subscribed(Flow.of(0).map(lambda x: 8 // x).on_error_resume(fail), request=1)
    subscriber.assert_failed(ZeroDivisionError)
    assert subscriber.error is not None
    assert subscriber.error.__context__ is None
    assert [note.partition(",")[0] for note in notes(subscriber.error)] == ["in map"]


def test_a_function_that_returns_no_publisher_is_told_so() -> None:
    nothing: Any = None
    with pytest.raises(TypeError, match="on_error_resume needs a publisher, not None") as caught:
        Flow.error(OSError()).on_error_resume(lambda error: nothing).run_sync()
    assert isinstance(caught.value.__context__, OSError)


def test_an_error_of_the_fallback_ends_the_stream() -> None:
    flow = Flow.error(OSError()).on_error_resume(lambda error: Flow.error(KeyError("again")))
    with pytest.raises(KeyError, match="again") as caught:
        flow.run_sync()
    assert caught.value.__context__ is None


def test_errors_of_another_kind_pass() -> None:
    with pytest.raises(ZeroDivisionError):
        Flow.of(0).map(lambda x: 8 // x).on_error_return(1, only=(OSError, KeyError)).run_sync()


def test_a_returned_element_waits_for_demand_and_is_the_last_one() -> None:
    subscriber = subscribed(Flow.error(OSError()).on_error_return("instead"))
    subscriber.assert_elements()
    subscriber.request(1)
    subscriber.assert_elements("instead")
    subscriber.assert_completed()


def test_a_mapped_error_has_the_first_one_as_its_cause() -> None:
    flow = Flow.of(0).map(lambda x: 8 // x).on_error_map(lambda error: KeyError("no data"))
    subscriber = subscribed(flow, request=1)
    subscriber.assert_failed(KeyError, match="no data")
    assert subscriber.error is not None
    assert isinstance(subscriber.error.__cause__, ZeroDivisionError)
    assert [note.partition(",")[0] for note in notes(subscriber.error.__cause__)] == ["in map"]
    assert [note.partition(",")[0] for note in notes(subscriber.error)] == ["in on_error_map"]


def test_an_error_that_is_mapped_to_itself_is_passed_on() -> None:
    error = OSError("down")
    subscriber = subscribed(Flow.error(error).on_error_map(lambda same: same))
    assert subscriber.error is error
    assert error.__cause__ is None
    assert [note.partition(",")[0] for note in notes(error)] == ["in error"]


def test_a_function_that_raises_in_place_of_mapping_keeps_the_context() -> None:
    flow = Flow.error(OSError()).on_error_map(lambda error: KeyError(1 // 0))
    with pytest.raises(ZeroDivisionError) as caught:
        flow.run_sync()
    assert isinstance(caught.value.__context__, OSError)


def test_a_function_that_maps_to_something_else_is_told_so() -> None:
    something: Any = "no exception"
    with pytest.raises(TypeError, match="must return an exception, not 'no exception'"):
        Flow.error(OSError()).on_error_map(lambda error: something).run_sync()


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(
    "recover",
    [
        lambda flow: flow.on_error_return(1),
        lambda flow: flow.on_error_map(lambda error: error),
        lambda flow: flow.retry(3),
    ],
    ids=["on_error_return", "on_error_map", "retry"],
)
def test_an_interrupt_is_not_handled(
    kind: type[BaseException], recover: Callable[[Flow[int]], Flow[int]]
) -> None:
    calls: list[int] = []

    def interrupt(x: int) -> int:
        calls.append(x)
        raise kind

    with pytest.raises(kind):
        recover(Flow.of(1).map(interrupt)).run_sync()
    assert calls == [1]


def test_errors_from_other_threads_are_recovered_from() -> None:
    with ThreadPool(2) as threads:
        flow = Flow.range(MANY + 1).publish_on(threads).map(lambda x: x if x < MANY else 1 // 0)
        assert flow.publish_on(threads).on_error_return(-1).to_list().run_sync() == [
            *range(MANY),
            -1,
        ]


# Running again after an error.


def test_retry_runs_the_flow_anew_and_keeps_what_was_delivered() -> None:
    runs = Runs(good=3)
    subscriber = subscribed(runs.flow.retry(3), request=9)
    subscriber.assert_elements(1, 2, 3)
    subscriber.assert_completed()


def test_the_last_error_says_how_often_it_was_tried_and_names_its_operator_once() -> None:
    subscriber = subscribed(Runs().flow.retry(2), request=9)
    subscriber.assert_elements(1, 2, 3)
    subscriber.assert_failed(ZeroDivisionError)
    in_map, tried = notes(subscriber.error)
    assert in_map.startswith("in map, assembled at ")
    assert tried.startswith("tried 3 times by retry, assembled at ")
    assert __file__ in tried


def test_one_error_that_is_raised_again_and_again_collects_neither_notes_nor_frames() -> None:
    error = OSError("down")
    subscriber = subscribed(Flow.error(error).retry(50))
    assert subscriber.error is error
    assert len(notes(error)) == 2
    assert len(traceback.extract_tb(error.__traceback__)) == 0


def test_retry_with_zero_passes_the_first_error_on_as_it_is() -> None:
    error = OSError("down")
    assert subscribed(Flow.error(error).retry(0)).error is error
    assert [note.partition(",")[0] for note in notes(error)] == ["in error"]


def test_retry_needs_no_demand() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber = subscribed(Flow.from_publisher(publisher).retry(1))
    publisher.error(OSError())
    assert len(publisher.subscriptions) == 2
    assert publisher.requested == 0
    publisher.complete()
    subscriber.assert_completed()


def test_the_demand_that_a_failed_run_left_is_asked_of_the_next_one() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber = subscribed(Flow.from_publisher(publisher).retry(1), request=5)
    publisher.next(1, 2)
    publisher.error(OSError())
    assert publisher.requested == 3
    subscriber.cancel()
    assert publisher.cancelled


def test_retry_waits_on_the_clock_longer_each_time() -> None:
    time = VirtualTime()
    policy = Retry(times=4, backoff=1, factor=3, longest=10, jitter=0)
    began: list[float] = []

    def fail() -> Flow[int]:
        began.append(time.now())
        return Flow.error(OSError())

    subscriber = subscribed(Flow.defer(fail).retry(policy, clock=time))
    subscriber.assert_not_ended()
    time.run()
    subscriber.assert_failed(OSError)
    assert began == [0, 1, 4, 13, 23]


def test_a_cancel_while_it_waits_forgets_the_timer() -> None:
    time = VirtualTime()
    runs = Runs()
    subscriber = subscribed(runs.flow.retry(Retry(backoff=1), clock=time), request=9)
    subscriber.cancel()
    time.run()
    assert time.now() == 0
    assert runs.count == 1


def test_a_subscriber_is_let_go_when_it_cancels_while_retry_waits() -> None:
    time = VirtualTime()
    flow = Runs().flow.retry(Retry(backoff=1), clock=time)
    gc.collect()
    gc.disable()
    try:
        subscriber = subscribed(flow, request=9)
        gone = weakref.ref(subscriber)
        subscriber.cancel()
        del subscriber
        assert gone() is None
    finally:
        gc.enable()


def test_a_subscriber_is_released_when_it_cancels_after_an_error_that_was_handled() -> None:
    flow = Runs().flow.on_error_resume(lambda error: Flow.never())
    gc.collect()
    gc.disable()
    try:
        subscriber = subscribed(flow, request=9)
        gone = weakref.ref(subscriber)
        subscriber.cancel()
        del subscriber
        assert gone() is None
    finally:
        gc.enable()


def test_retry_waits_in_real_time_without_a_clock() -> None:
    runs = Runs(good=3)
    flow = runs.flow.retry(Retry(backoff=timedelta(milliseconds=1)))
    assert flow.to_list().run_sync() == [1, 2, 3]


def test_errors_that_the_policy_does_not_name_end_the_stream_at_once() -> None:
    runs = Runs()
    subscriber = subscribed(runs.flow.retry(Retry(backoff=0, only=(OSError, KeyError))), request=9)
    subscriber.assert_failed(ZeroDivisionError)
    assert runs.count == 1


def test_the_predicate_is_asked_about_each_error() -> None:
    runs = Runs()
    asked: list[Exception] = []

    def is_first(error: Exception) -> bool:
        asked.append(error)
        return len(asked) == 1

    subscriber = subscribed(runs.flow.retry(Retry(backoff=0, predicate=is_first)), request=9)
    subscriber.assert_failed(ZeroDivisionError)
    assert runs.count == 2
    assert subscriber.error is asked[1]
    assert "tried 2 times" in notes(subscriber.error)[-1]


def test_a_predicate_that_raises_fails_with_the_first_error_as_context() -> None:
    policy = Retry(predicate=lambda error: 1 // 0)
    subscriber = subscribed(Flow.error(OSError()).retry(policy))
    subscriber.assert_failed(ZeroDivisionError)
    assert subscriber.error is not None
    assert isinstance(subscriber.error.__context__, OSError)
    assert [note.partition(",")[0] for note in notes(subscriber.error)] == ["in retry"]


def test_a_retry_without_limit_and_without_waiting_can_be_cancelled_from_another_thread() -> None:
    runs = threading.Semaphore(0)

    def fail() -> Flow[int]:
        runs.release()
        raise OSError

    subscriber: ManualSubscriber[int] = ManualSubscriber()
    flow = Flow.defer(fail).retry(Retry(times=None, backoff=0))
    thread = threading.Thread(target=flow.subscribe, args=(subscriber,))
    thread.start()
    for _ in range(3):
        runs.acquire()
    subscriber.cancel()
    thread.join(60)
    assert not thread.is_alive()


def test_retry_goes_on_where_the_flow_upstream_of_it_runs() -> None:
    names: set[str] = set()
    attempts = iter([1, 1, 0])

    def fail_twice(x: int) -> int:
        if x == 10:
            x //= 1 - next(attempts)
        return x

    with ThreadPool(1) as threads:
        flow = Flow.range(20).publish_on(threads).map(fail_twice).retry(2)
        flow = flow.map(lambda x: note_thread(names) or x)
        assert flow.to_list().run_sync() == [*range(10), *range(10), *range(20)]
    assert threading.current_thread().name not in names
    assert len(names) == 1


def note_thread(names: set[str]) -> int:
    names.add(threading.current_thread().name)
    return 0


def test_a_publisher_on_other_threads_is_tried_again() -> None:
    failures = iter([True, True, False])

    def pass_on(x: int) -> int:
        if x == MANY - 1 and next(failures):
            raise OSError
        return x

    with ThreadPool(2) as threads:
        publisher = ExecutorPublisher(range(MANY), threads)
        flow = Flow.from_publisher(publisher).map(pass_on).retry(Retry(backoff=0.001))
        assert flow.count().run_sync() == 2 * (MANY - 1) + MANY


def test_delays_grow_by_the_factor_up_to_the_longest() -> None:
    policy = Retry(times=5, backoff=0.5, factor=2, longest=timedelta(seconds=3), jitter=0)
    assert list(policy.delays()) == [0.5, 1, 2, 3, 3]


def test_jitter_stays_within_its_share_and_below_the_longest() -> None:
    delays = list(Retry(times=500, backoff=2, factor=1, longest=2.5, jitter=0.5).delays())
    assert min(delays) >= 1
    assert max(delays) <= 2.5
    assert len(set(delays)) > 1


def test_delays_without_limit_never_overflow() -> None:
    delays = Retry(times=None, backoff=1, factor=1e300, jitter=0).delays()
    assert list(islice(delays, 5)) == [1, 30, 30, 30, 30]


# Running again after the end.


def test_repeat_runs_the_flow_that_often_and_completes_without_demand() -> None:
    subscriber = subscribed(Flow.of(1, 2).repeat(3), request=6)
    subscriber.assert_elements(1, 2, 1, 2, 1, 2)
    subscriber.assert_completed()


def test_repeat_of_nothing_completes_without_demand() -> None:
    subscribed(Flow.empty().repeat(3)).assert_completed()


def test_a_new_run_begins_only_with_demand() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    subscriber = subscribed(Flow.from_publisher(publisher).repeat(), request=1)
    publisher.next(1)
    publisher.complete()
    assert len(publisher.subscriptions) == 1
    subscriber.request(2)
    assert len(publisher.subscriptions) == 2
    assert publisher.requested == 2
    subscriber.cancel()
    assert publisher.cancelled


def test_repeat_does_not_work_ahead_of_demand() -> None:
    pulled: list[int] = []

    def pull(x: int) -> int:
        pulled.append(x)
        return x

    subscriber = subscribed(Flow.of(1, 2).map(pull).repeat(3), request=2)
    assert pulled == [1, 2]
    subscriber.request(1)
    assert pulled == [1, 2, 1]


def test_an_endless_repeat_of_nothing_waits_for_demand_and_can_be_cancelled() -> None:
    runs = threading.Semaphore(0)

    def nothing() -> Flow[int]:
        runs.release()
        return Flow.empty()

    subscriber = subscribed(Flow.defer(nothing).repeat())
    thread = threading.Thread(target=subscriber.request, args=(1,))
    thread.start()
    for _ in range(3):
        runs.acquire()
    subscriber.cancel()
    thread.join(60)
    assert not thread.is_alive()


def test_an_error_ends_a_repeat() -> None:
    subscriber = subscribed(Runs(good=1).flow.repeat(), request=9)
    subscriber.assert_elements(1, 2)
    subscriber.assert_failed(ZeroDivisionError)


def test_a_flow_on_other_threads_is_repeated() -> None:
    with ThreadPool(2) as threads:
        flow = Flow.range(100).publish_on(threads).repeat(20).publish_on(threads)
        assert flow.to_list().run_sync() == [*range(100)] * 20


# Bad input.


FLOW: Any = Flow.of(1)
POLICY: Any = Retry
"""For what a type checker would refuse."""


@pytest.mark.parametrize(
    ("assemble", "kind", "words"),
    [
        (lambda: POLICY(times=-1), ValueError, "Retry: times must be at least 0, not -1"),
        (lambda: POLICY(times=1.5), TypeError, "Retry: times must be an int"),
        (lambda: POLICY(backoff=-1), ValueError, "Retry: backoff must be above 0 seconds"),
        (lambda: POLICY(backoff="1"), TypeError, "Retry: backoff must be seconds or a timedelta"),
        (lambda: POLICY(factor=0.5), ValueError, "Retry: factor must be at least 1, not 0.5"),
        (lambda: POLICY(factor=float("nan")), ValueError, "Retry: factor must be at least 1"),
        (lambda: POLICY(factor=None), TypeError, "Retry: factor must be a number, not None"),
        (lambda: POLICY(longest=0), ValueError, "Retry: longest must be above 0 seconds"),
        (lambda: POLICY(jitter=1.5), ValueError, "Retry: jitter must be from 0 to 1, not 1.5"),
        (
            lambda: POLICY(only=KeyboardInterrupt),
            TypeError,
            "Retry handles subclasses of Exception",
        ),
        (lambda: POLICY(only=(OSError, 5)), TypeError, "Retry handles .* not 5"),
        (lambda: POLICY(predicate=5), TypeError, "Retry needs a function, not 5"),
        (lambda: FLOW.retry(-1), ValueError, "retry: policy must be at least 0, not -1"),
        (lambda: FLOW.retry("3"), TypeError, "retry needs a number or a Retry, not '3'"),
        (lambda: FLOW.retry(3, clock=5), TypeError, "retry needs a clock"),
        (lambda: FLOW.repeat(0), ValueError, "repeat: times must be at least 1, not 0"),
        (
            lambda: FLOW.repeat(True),
            TypeError,
            "repeat: times must be an int of at least 1, not True",
        ),
        (lambda: FLOW.on_error_resume(Flow.of(1)), TypeError, "on_error_resume needs a func"),
        (lambda: FLOW.on_error_return(None), TypeError, "on_error_return needs an element"),
        (lambda: FLOW.on_error_map(KeyError()), TypeError, "on_error_map needs a function"),
        (lambda: FLOW.on_error_return(1, only=5), TypeError, "on_error_return handles"),
    ],
)
def test_bad_input_is_refused_at_assembly(
    assemble: Callable[[], Any], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words):
        assemble()


# The kit.


@pytest.mark.parametrize(
    "recover",
    [
        lambda flow: flow.on_error_resume(lambda error: IterablePublisher([-1])),
        lambda flow: flow.on_error_return(-1),
        lambda flow: flow.retry(2),
        lambda flow: flow.retry(Retry(backoff=1), clock=AtOnce()),
    ],
    ids=["on_error_resume", "on_error_return", "retry", "retry with a policy"],
)
@pytest.mark.full
def test_an_operator_that_recovers_keeps_the_rules(
    recover: Callable[[Flow[int]], Flow[int]],
) -> None:
    verify_operator(
        lambda source: recover(Flow.from_publisher(source)),
        absorbs_errors=True,
        resubscribes=True,
    ).raise_if_failed()


@pytest.mark.full
def test_on_error_map_keeps_the_rules() -> None:
    verify_operator(
        lambda source: Flow.from_publisher(source).on_error_map(lambda error: KeyError())
    ).raise_if_failed()


@pytest.mark.parametrize(
    "source", [Flow.of(1), Flow.from_publisher(IterablePublisher([1]))], ids=["flow", "publisher"]
)
@pytest.mark.full
def test_repeat_keeps_the_rules(source: Flow[int]) -> None:
    verify_publisher(
        lambda n: source.repeat(n) if n else Flow.empty(),
        failed=lambda: Flow.error(OSError()).repeat(2),
        completes_eagerly=True,
        repeatable=True,
    ).raise_if_failed()


def fails_at_five(x: int) -> int:
    if x == 5:
        raise ValueError(x)
    return x


class Forgetful(Subscriber[Any]):
    """Notes of an error only that it came: keeping one would keep its frames."""

    failed = False

    def on_subscribe(self, subscription: Subscription) -> None:
        subscription.request(99)

    def on_next(self, element: Any) -> None:
        pass

    def on_error(self, error: Exception) -> None:
        self.failed = True

    def on_complete(self) -> None:
        pass


KEEPS_NO_ERROR: dict[str, Callable[[Flow[int]], Flow[Any]]] = {
    "map": lambda flow: flow,
    "retry": lambda flow: flow.retry(2),
    "do_on_error": lambda flow: flow.do_on_error(lambda error: None),
    "limit_rate": lambda flow: flow.limit_rate(2),
    "on_backpressure_buffer": lambda flow: flow.on_backpressure_buffer(2),
    "on_backpressure_latest": lambda flow: flow.on_backpressure_latest(),
    "merge, with errors delayed": lambda flow: flow.merge(Flow.of(1), delay_errors=True),
    "group_by": lambda flow: flow.group_by(lambda x: x, max_groups=9).flat_map(lambda group: group),
    "groups that end early": lambda flow: flow.group_by(lambda x: x, max_groups=2).flat_map(
        lambda group: group.take(1)
    ),
    "take_until": lambda flow: Flow.never().take_until(flow.skip(9)),
    "share": lambda flow: flow.share(),
}


@pytest.mark.parametrize("operator", KEEPS_NO_ERROR)
def test_a_subscriber_is_let_go_when_an_error_has_passed(operator: str) -> None:
    flow = KEEPS_NO_ERROR[operator](Flow.range(1, 10).map(fails_at_five))
    gc.collect()
    gc.disable()
    try:
        subscriber = Forgetful()
        flow.subscribe(subscriber)
        assert subscriber.failed
        gone = weakref.ref(subscriber)
        del subscriber
        assert gone() is None
    finally:
        gc.enable()
