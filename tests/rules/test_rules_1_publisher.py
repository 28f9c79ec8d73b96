"""Chapter 1: what our publishers owe to their subscribers, on every engine."""

from __future__ import annotations

import traceback
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from penstock import (
    UNBOUNDED,
    Broadcast,
    ExecutorPublisher,
    IdentityProcessor,
    IterablePublisher,
    SyncSubscriber,
)
from penstock.api import Publisher
from penstock.runtime import Executor, Task, Undelivered
from tests.rules.parties import (
    Recorder,
    Source,
    failing_after,
    raises,
    together,
)
from tests.rules.subjects import Subject

# 1.1


def test_rule_1_01_nothing_comes_before_the_first_request(subject: Subject) -> None:
    recorder = subject.subscribe(range(5), Recorder())
    assert recorder.signals == ["on_subscribe"]


def test_rule_1_01_each_request_brings_exactly_that_many_elements(subject: Subject) -> None:
    recorder = subject.subscribe(range(100), Recorder())
    received = []
    for n in (1, 1, 2, 5, 20):
        recorder.request(n)
        subject.settle()
        received.append(len(recorder.elements))
    assert received == [1, 2, 4, 9, 29]


def test_rule_1_01_demand_from_within_on_next_is_not_exceeded(subject: Subject) -> None:
    recorder = Recorder(2, on_next=lambda me: me.request(3) if len(me.elements) == 2 else None)
    subject.subscribe(range(100), recorder)
    assert recorder.elements == [0, 1, 2, 3, 4]


def test_rule_1_01_requests_of_several_threads_are_all_counted(subject: Subject) -> None:
    recorder = subject.subscribe(range(1_000), Recorder())

    def request_100() -> None:
        for _ in range(100):
            recorder.request(1)

    together(*[request_100] * 4)
    subject.settle()
    assert recorder.elements == list(range(400))


# 1.2


@pytest.mark.parametrize("requested", [4, 10, UNBOUNDED])
def test_rule_1_02_the_stream_ends_with_demand_unserved(subject: Subject, requested: int) -> None:
    recorder = subject.subscribe(Source(range(3)), Recorder(requested))
    assert recorder.elements == [0, 1, 2]
    assert recorder.completed


def test_rule_1_02_the_stream_fails_with_demand_unserved(subject: Subject) -> None:
    error = OSError("gone")
    recorder = subject.subscribe(failing_after([], error), Recorder(10))
    assert recorder.elements == []
    assert recorder.error is error


# 1.3


def test_rule_1_03_signals_stay_serial_while_threads_request_and_cancel(subject: Subject) -> None:
    recorder = subject.subscribe(range(10_000), Recorder())

    def request_200() -> None:
        for _ in range(200):
            recorder.request(1)

    together(request_200, request_200, request_200)
    subject.settle()
    assert recorder.elements == list(range(600))
    together(request_200, recorder.cancel, request_200)
    subject.settle()
    assert recorder.elements == list(range(len(recorder.elements)))


def test_rule_1_03_signals_stay_serial_while_two_threads_subscribe_and_request() -> None:
    hub = Broadcast[int](8, source=IterablePublisher(range(300)))
    recorders = [Recorder(UNBOUNDED) for _ in range(6)]
    slow = Recorder()
    hub.subscribe(slow)

    def request_100() -> None:
        for _ in range(100):
            slow.request(1)

    joins = [partial(hub.subscribe, recorder) for recorder in recorders]
    together(request_100, request_100, request_100, *joins)
    assert slow.elements == list(range(300))
    for recorder in recorders:
        assert recorder.faults == []
        assert recorder.elements == list(range(300))[300 - len(recorder.elements) :]


# 1.4


class FailsToStart:
    """An iterable whose ``__iter__`` raises."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __iter__(self) -> Iterator[object]:
        raise self.error


class OldSequence:
    """A sequence that can only be indexed, and fails at 2."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __getitem__(self, index: int) -> int:
        if index == 2:
            raise self.error
        return index


@pytest.mark.parametrize("k", range(7))
def test_rule_1_04_elements_before_a_failure_come_before_the_error(
    iteration_subject: Subject, k: int
) -> None:
    error = OSError("gone")
    recorder = iteration_subject.subscribe(failing_after(range(k), error), Recorder(UNBOUNDED))
    assert recorder.elements == list(range(k))
    assert recorder.error is error


@pytest.mark.parametrize("k", range(7))
def test_rule_1_04_a_processor_passes_a_failure_on_after_the_elements_in_order(
    processor_subject: Subject, k: int
) -> None:
    error = OSError("gone")
    recorder = processor_subject.subscribe(failing_after(range(k), error), Recorder(UNBOUNDED))
    # 4.2: the error may overtake elements, but no element is left out between others.
    assert recorder.elements == list(range(len(recorder.elements)))
    assert recorder.error is error


@pytest.mark.parametrize("k", range(7))
def test_rule_1_04_with_demand_for_one_at_a_time_nothing_is_overtaken(
    subject: Subject, k: int
) -> None:
    error = OSError("gone")
    recorder = subject.subscribe(failing_after(range(k), error), Recorder())
    for _ in range(k + 1):
        assert recorder.error is None
        recorder.request(1)
        subject.settle()
    assert recorder.elements == list(range(k))
    assert recorder.error is error


def test_rule_1_04_an_iterable_that_does_not_start_fails_the_stream(subject: Subject) -> None:
    error = OSError("cannot open")
    recorder = subject.subscribe(FailsToStart(error), Recorder())
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert recorder.error is error


def test_rule_1_04_a_sequence_that_can_only_be_indexed_may_fail_as_well(subject: Subject) -> None:
    error = LookupError("no 2")
    recorder = subject.subscribe(OldSequence(error), Recorder())  # type: ignore[arg-type]
    for _ in range(3):
        recorder.request(1)
        subject.settle()
    assert recorder.elements == [0, 1]
    # An IndexError would be the end; any other LookupError is a failure.
    assert recorder.error is error


def test_rule_1_04_none_in_the_source_fails_the_stream(subject: Subject) -> None:
    recorder = subject.subscribe(Source([0, None, 2]), Recorder())
    for _ in range(2):
        recorder.request(1)
        subject.settle()
    assert recorder.elements == [0]
    assert isinstance(recorder.error, TypeError)
    assert "2.13" in str(recorder.error)
    assert "element 1" in str(recorder.error)


def test_rule_1_04_the_traceback_starts_in_the_users_code(subject: Subject) -> None:
    recorder = subject.subscribe(failing_after(range(2), OSError("gone")), Recorder(10))
    assert recorder.error is not None
    frames = traceback.extract_tb(recorder.error.__traceback__)
    assert [frame.name for frame in frames] == ["failing_after"]


def test_rule_1_04_a_failed_source_is_closed(subject: Subject) -> None:
    source = Source(range(2), OSError("gone"))
    recorder = subject.subscribe(source, Recorder(10))
    assert recorder.error is source.error
    assert source.closed == 1


# 1.5


@pytest.mark.parametrize("size", [0, 1, 3, 4, 5, 9])
def test_rule_1_05_the_end_of_the_source_completes_the_stream(subject: Subject, size: int) -> None:
    recorder = subject.subscribe(Source(range(size)), Recorder(UNBOUNDED))
    assert recorder.elements == list(range(size))
    assert recorder.signals[-1] == "on_complete"


SIZED: dict[str, Callable[[], Iterable[int]]] = {
    "range": lambda: range(3),
    "list": lambda: [0, 1, 2],
    "tuple": lambda: (0, 1, 2),
    "dict": lambda: dict.fromkeys(range(3)),
    "list iterator": lambda: iter([0, 1, 2]),
}


@pytest.mark.parametrize("make", SIZED.values(), ids=list(SIZED))
def test_rule_1_05_a_sized_source_completes_without_another_request(
    subject: Subject, make: Callable[[], Iterable[int]]
) -> None:
    recorder = subject.subscribe(make(), Recorder())
    for _ in range(3):
        assert not recorder.completed
        recorder.request(1)
        subject.settle()
    assert recorder.elements == [0, 1, 2]
    assert recorder.completed


@pytest.mark.parametrize("empty", [[], (), range(0), {}], ids=["list", "tuple", "range", "dict"])
def test_rule_1_05_an_empty_sized_source_completes_without_a_request(
    subject: Subject, empty: Iterable[int]
) -> None:
    recorder = subject.subscribe(empty, Recorder())
    assert recorder.signals == ["on_subscribe", "on_complete"]


def test_rule_1_05_a_source_of_unknown_size_completes_with_the_next_request(
    subject: Subject,
) -> None:
    source = Source(range(2))
    recorder = subject.subscribe(source, Recorder(2))
    assert recorder.signals == ["on_subscribe", "on_next", "on_next"]
    recorder.request(1)
    subject.settle()
    assert recorder.completed


def test_rule_1_05_a_dict_that_changes_size_fails_instead_of_completing(subject: Subject) -> None:
    changing = {0: 0, 1: 1}
    recorder = subject.subscribe(changing, Recorder(1))
    changing[2] = 2
    recorder.request(1)
    subject.settle()
    assert recorder.elements == [0]
    assert isinstance(recorder.error, RuntimeError)


# 1.6


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
def test_rule_1_06_after_the_end_the_subscription_does_nothing(
    subject: Subject, error: Exception | None
) -> None:
    source = Source(range(2), error)
    recorder = subject.subscribe(source, Recorder(10))
    assert recorder.ended
    before = list(recorder.signals)
    recorder.request(10)
    recorder.request(0)
    recorder.cancel()
    subject.settle()
    assert recorder.signals == before
    assert (source.opened, source.closed) == (1, 1)


@pytest.mark.parametrize("call", [Recorder.request, Recorder.cancel], ids=["request", "cancel"])
@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
def test_rule_1_06_the_subscription_is_over_from_within_the_last_signal(
    subject: Subject, error: Exception | None, call: Callable[[Recorder], None]
) -> None:
    source = Source(range(2), error)
    recorder = subject.subscribe(source, Recorder(10, on_error=call, on_complete=call))
    assert recorder.ended
    assert (source.pulled, source.closed) == (2, 1)


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
@pytest.mark.usefixtures("without_gc")
def test_rule_1_06_a_subscriber_is_free_after_the_end(
    subject: Subject, error: Exception | None
) -> None:
    publisher = subject.publisher(failing_after([0], error) if error else [0])
    recorder = subject.watch(Recorder(10))
    publisher.subscribe(recorder)
    subject.settle()
    assert recorder.ended
    reference = weakref.ref(recorder)
    del recorder
    assert reference() is None


# 1.7


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
def test_rule_1_07_nothing_follows_the_end(subject: Subject, error: Exception | None) -> None:
    recorder = subject.subscribe(Source(range(2), error), Recorder(10))
    together(partial(recorder.request, 5), partial(recorder.request, -1), recorder.cancel)
    subject.settle()
    terminal = "on_error" if error else "on_complete"
    assert [name for name in recorder.signals if name != "on_next"] == ["on_subscribe", terminal]
    assert recorder.signals[-1] == terminal


def test_rule_1_07_an_illegal_request_is_the_last_signal(subject: Subject) -> None:
    recorder = Recorder(10, on_next=lambda me: me.request(-1))
    subject.subscribe(range(3), recorder)
    assert recorder.signals == ["on_subscribe", "on_next", "on_error"]


# 1.8


@pytest.mark.parametrize("k", range(1, 7))
def test_rule_1_08_nothing_comes_after_a_cancel_within_on_next(subject: Subject, k: int) -> None:
    recorder = Recorder(
        UNBOUNDED, on_next=lambda me: me.cancel() if len(me.elements) == k else None
    )
    subject.subscribe(range(50), recorder)
    assert recorder.elements == list(range(k))
    assert not recorder.ended


@pytest.mark.parametrize("k", range(7))
def test_rule_1_08_nothing_comes_after_a_cancel_between_requests(subject: Subject, k: int) -> None:
    recorder = subject.subscribe(range(50), Recorder(k))
    recorder.cancel()
    recorder.request(10)
    subject.settle()
    assert recorder.elements == list(range(k))
    assert not recorder.ended


def test_rule_1_08_nothing_comes_after_a_cancel_within_on_subscribe(subject: Subject) -> None:
    recorder = subject.subscribe([], Recorder(10, on_subscribe=Recorder.cancel))
    assert recorder.signals == ["on_subscribe"]


# 1.9


class Mute:
    """Has three of the four signals."""

    def on_subscribe(self, subscription: object) -> None: ...

    def on_next(self, element: object) -> None: ...

    def on_error(self, error: Exception) -> None: ...


@pytest.mark.parametrize(
    ("stranger", "reason"),
    [(None, "None"), (object(), "on_subscribe"), (Mute(), "on_complete")],
    ids=["None", "object", "incomplete"],
)
def test_rule_1_09_only_a_subscriber_is_accepted(
    subject: Subject, stranger: Any, reason: str
) -> None:
    publisher = subject.publisher(range(3))
    with pytest.raises(TypeError, match=reason) as caught:
        publisher.subscribe(stranger)
    assert "rule 1.9" in str(caught.value)
    recorder = subject.watch(Recorder(10))
    publisher.subscribe(recorder)
    subject.settle()
    assert recorder.elements == [0, 1, 2]


def test_rule_1_09_on_subscribe_comes_first(subject: Subject) -> None:
    recorder = subject.subscribe([0], Recorder(1))
    assert recorder.signals == ["on_subscribe", "on_next", "on_complete"]


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error", "on_complete"])
def test_rule_1_09_subscribe_returns_normally_whatever_the_subscriber_does(
    subject: Subject, signal: str, undelivered: list[Undelivered]
) -> None:
    error = OSError("gone") if signal == "on_error" else None
    publisher = subject.publisher(Source([0], error))
    publisher.subscribe(subject.watch(Recorder(5, **{signal: raises(KeyError("bad"))})))
    subject.settle()
    assert [str(lost.error) for lost in undelivered] == ["'bad'"]
    undelivered.clear()


class Refusing:
    """An executor that takes some tasks, and then no more."""

    def __init__(self, accepts: int = 0) -> None:
        self.error = RuntimeError("no more tasks")
        self.accepts = accepts

    def execute(self, task: Task) -> None:
        if not self.accepts:
            raise self.error
        self.accepts -= 1
        task()


ON_AN_EXECUTOR: dict[str, Callable[[Source, Executor], Publisher[object]]] = {
    "executor publisher": ExecutorPublisher,
    "identity": lambda source, executor: downstream_of(
        source, IdentityProcessor(executor=executor)
    ),
    "broadcast": lambda source, executor: Broadcast(
        source=IterablePublisher(source), executor=executor, shuts_down_when_idle=True
    ),
}


def downstream_of(source: Source, processor: IdentityProcessor[object]) -> Publisher[object]:
    IterablePublisher(source).subscribe(processor)
    return processor


@pytest.mark.parametrize("build", ON_AN_EXECUTOR.values(), ids=ON_AN_EXECUTOR)
def test_rule_1_09_an_executor_that_refuses_is_an_error_after_on_subscribe(
    build: Callable[[Source, Executor], Publisher[object]],
) -> None:
    executor = Refusing()
    recorder = Recorder(5)
    build(Source(range(3)), executor).subscribe(recorder)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert recorder.error is executor.error
    assert recorder.faults == []


@pytest.mark.parametrize("call", [Recorder.request, Recorder.cancel], ids=["request", "cancel"])
@pytest.mark.parametrize("build", ON_AN_EXECUTOR.values(), ids=ON_AN_EXECUTOR)
def test_rule_1_09_an_executor_that_refuses_later_ends_the_stream_once(
    build: Callable[[Source, Executor], Publisher[object]], call: Callable[[Recorder], None]
) -> None:
    executor = Refusing(accepts=1)
    source = Source(range(3))
    recorder = Recorder()
    build(source, executor).subscribe(recorder)
    assert recorder.signals == ["on_subscribe"]
    call(recorder)
    recorder.request(5)
    expected = [] if call is Recorder.cancel else ["on_error"]
    assert recorder.signals == ["on_subscribe", *expected]
    assert source.closed == source.opened == 1


@pytest.mark.parametrize("build", ON_AN_EXECUTOR.values(), ids=ON_AN_EXECUTOR)
def test_rule_1_09_a_subscriber_that_cancels_at_once_is_not_told_of_the_refusal(
    build: Callable[[Source, Executor], Publisher[object]],
) -> None:
    recorder = Recorder(on_subscribe=Recorder.cancel)
    build(Source(range(3)), Refusing()).subscribe(recorder)
    assert recorder.signals == ["on_subscribe"]


# 1.10


class Collecting(SyncSubscriber[object]):
    """A well-behaved subscriber: it cancels a second subscription."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[object] = []

    def receive(self, element: object) -> bool:
        self.elements.append(element)
        return True


def test_rule_1_10_a_well_behaved_subscriber_that_is_subscribed_twice_gets_one_stream() -> None:
    source = Source(range(3))
    publisher = IterablePublisher(source)
    subscriber = Collecting()
    publisher.subscribe(subscriber)
    publisher.subscribe(subscriber)
    assert subscriber.elements == [0, 1, 2]


def test_rule_1_10_a_broadcast_refuses_a_subscriber_that_it_serves() -> None:
    hub = Broadcast[int](source=IterablePublisher(range(9)))
    recorder = Recorder(2)
    hub.subscribe(recorder)
    hub.subscribe(recorder)
    assert recorder.elements == [0, 1]
    assert isinstance(recorder.error, RuntimeError)
    assert "rule 1.10" in str(recorder.error)
    assert recorder.faults == []


@dataclass
class Equal(Recorder):
    """Two of these are equal, but not the same; they have no hash."""

    name: str = "equal"

    def __post_init__(self) -> None:
        super().__init__()


def test_rule_1_10_equal_subscribers_are_different_subscribers(iteration_subject: Subject) -> None:
    publisher = iteration_subject.publisher(range(3))
    first, second = Equal(), Equal()
    assert first == second
    for recorder in (first, second):
        publisher.subscribe(recorder)
    iteration_subject.settle()
    for recorder in (first, second):
        recorder.request(UNBOUNDED)
    iteration_subject.settle()
    assert first.elements == second.elements == [0, 1, 2]


def test_rule_1_10_a_broadcast_serves_equal_subscribers() -> None:
    hub = Broadcast[int](source=IterablePublisher(range(3)))
    first, second = Equal(), Equal()
    hub.subscribe(first)
    hub.subscribe(second)
    for recorder in (first, second):
        recorder.request(UNBOUNDED)
    assert first.elements == second.elements == [0, 1, 2]


# 1.11


def test_rule_1_11_each_subscriber_of_an_iterable_gets_all_elements(
    iteration_subject: Subject,
) -> None:
    publisher = iteration_subject.publisher(range(3))
    recorders = [iteration_subject.watch(Recorder(UNBOUNDED)) for _ in range(3)]
    for recorder in recorders:
        publisher.subscribe(recorder)
    iteration_subject.settle()
    assert [recorder.elements for recorder in recorders] == [[0, 1, 2]] * 3


def test_rule_1_11_the_subscribers_of_a_one_shot_iterator_share_its_elements() -> None:
    publisher = IterablePublisher(iter(range(4)))
    first, second = Recorder(1), Recorder(2)
    publisher.subscribe(first)
    publisher.subscribe(second)
    first.request(5)
    second.request(5)
    assert (first.elements, second.elements) == ([0, 3], [1, 2])
    assert first.completed
    assert second.completed


def test_rule_1_11_all_subscribers_of_a_broadcast_get_the_same_elements() -> None:
    hub = Broadcast[int](4, source=IterablePublisher(range(20)))
    recorders = [Recorder() for _ in range(3)]
    for recorder in recorders:
        hub.subscribe(recorder)
    for recorder in recorders:
        recorder.request(UNBOUNDED)
    for recorder in recorders:
        assert recorder.elements == list(range(20))
        assert recorder.completed
        assert recorder.faults == []


def test_rule_1_11_an_identity_processor_refuses_a_second_subscriber() -> None:
    processor = IdentityProcessor[int]()
    first, second = Recorder(UNBOUNDED), Recorder(UNBOUNDED)
    processor.subscribe(first)
    processor.subscribe(second)
    assert second.signals == ["on_subscribe", "on_error"]
    assert isinstance(second.error, RuntimeError)
    assert "rule 1.11" in str(second.error)
    IterablePublisher(range(3)).subscribe(processor)
    assert first.elements == [0, 1, 2]
