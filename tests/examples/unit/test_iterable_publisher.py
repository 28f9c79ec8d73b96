"""What the publishers over iterables do besides keeping the rules."""

from __future__ import annotations

import asyncio
import contextvars
import io
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from penstock import UNBOUNDED, ExecutorPublisher, IterablePublisher
from penstock.api import Publisher
from penstock.runtime import AsyncioLoop, CallingThread, ThreadPool, VirtualTime
from tests.core.unit.parties import Inline
from tests.rules.parties import NOTHING, Recorder, Source, failing_after
from tests.rules.subjects import Engine, OnThreads

pytestmark = pytest.mark.usefixtures("undelivered")

PUBLISHERS: dict[str, Callable[[Any], Any]] = {
    "calling thread": IterablePublisher,
    "executor": lambda iterable: ExecutorPublisher(iterable, CallingThread()),
}
EVERY_PUBLISHER = pytest.mark.parametrize("publish", PUBLISHERS.values(), ids=list(PUBLISHERS))


class Countdown:
    """An iterable made of a generator function that says when it was left."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def __iter__(self) -> Iterator[int]:
        self.events.append("start")
        try:
            yield from (3, 2, 1)
        finally:
            self.events.append("left")


@EVERY_PUBLISHER
def test_an_iterator_that_the_stream_made_is_closed_on_cancel(publish: Callable[..., Any]) -> None:
    countdown, recorder = Countdown(), Recorder(1)
    publish(countdown).subscribe(recorder)
    assert countdown.events == ["start"]
    recorder.cancel()
    assert countdown.events == ["start", "left"]


@EVERY_PUBLISHER
def test_an_iterator_that_was_handed_in_is_left_alone_on_cancel(
    publish: Callable[..., Any],
) -> None:
    countdown = Countdown()
    generator, recorder = iter(countdown), Recorder(1)
    publish(generator).subscribe(recorder)
    recorder.cancel()
    assert countdown.events == ["start"]
    assert list(generator) == [2, 1]


@EVERY_PUBLISHER
def test_a_file_that_was_handed_in_stays_open(publish: Callable[..., Any]) -> None:
    file, recorder = io.StringIO("a\nb\nc\n"), Recorder(2)
    publish(file).subscribe(recorder)
    recorder.cancel()
    assert recorder.elements == ["a\n", "b\n"]
    assert file.read() == "c\n"


@EVERY_PUBLISHER
def test_the_iterator_is_never_advanced_beyond_demand(publish: Callable[..., Any]) -> None:
    source, recorder = Source(range(50)), Recorder()
    publish(source).subscribe(recorder)
    assert source.pulled == 0
    for n in (1, 3, 9):
        recorder.request(n)
        assert source.pulled == recorder.requested == len(recorder.elements)


@EVERY_PUBLISHER
def test_an_infinite_iterator_is_served_as_far_as_requested(publish: Callable[..., Any]) -> None:
    def naturals() -> Iterator[int]:
        n = 0
        while True:
            yield n
            n += 1

    recorder = Recorder(1_000, on_next=lambda me: me.cancel() if len(me.elements) == 700 else None)
    publish(naturals()).subscribe(recorder)
    assert recorder.elements == list(range(700))
    assert not recorder.ended


class WrongHint:
    """An iterator that gives a wrong hint of how much is left."""

    def __init__(self, hint: int, size: int) -> None:
        self._hint = hint
        self._numbers = iter(range(size))

    def __iter__(self) -> WrongHint:
        return self

    def __next__(self) -> int:
        return next(self._numbers)

    def __length_hint__(self) -> int:
        return self._hint


@pytest.mark.parametrize("hint", [0, 1, 100])
@EVERY_PUBLISHER
def test_a_wrong_hint_of_the_length_loses_and_adds_nothing(
    publish: Callable[..., Any], hint: int
) -> None:
    recorder = Recorder()
    publish(WrongHint(hint, 5)).subscribe(recorder)
    for _ in range(6):
        assert not recorder.completed
        recorder.request(1)
    assert recorder.elements == [0, 1, 2, 3, 4]
    assert recorder.completed


class ClosableWrongHint(WrongHint):
    """One that counts how often it was closed."""

    closed = 0

    def close(self) -> None:
        self.closed += 1


@EVERY_PUBLISHER
def test_an_iterator_with_a_wrong_hint_is_closed_as_well(publish: Callable[..., Any]) -> None:
    iterator, recorder = ClosableWrongHint(0, 5), Recorder(1)

    class Numbers:
        def __iter__(self) -> Iterator[int]:
            return iterator

    publish(Numbers()).subscribe(recorder)
    assert iterator.closed == 0
    recorder.cancel()
    assert iterator.closed == 1


@EVERY_PUBLISHER
def test_elements_that_are_false_are_elements(publish: Callable[..., Any]) -> None:
    recorder = Recorder(UNBOUNDED)
    publish([0, "", False, 0.0, (), []]).subscribe(recorder)
    assert recorder.elements == [0, "", False, 0.0, (), []]


@EVERY_PUBLISHER
def test_exceptions_and_subscriptions_can_be_elements(publish: Callable[..., Any]) -> None:
    elements = [KeyError("an element"), StopIteration(), NotImplemented]
    recorder = Recorder(UNBOUNDED)
    publish(elements).subscribe(recorder)
    assert recorder.elements == elements
    assert recorder.completed


@pytest.mark.parametrize("stranger", [None, 42, object()])
@EVERY_PUBLISHER
def test_what_is_not_iterable_is_refused_at_assembly(
    publish: Callable[..., Any], stranger: object
) -> None:
    with pytest.raises(TypeError, match="an iterable is needed"):
        publish(stranger)


@pytest.mark.parametrize("stranger", [None, 42, object()], ids=["None", "int", "object"])
def test_what_is_no_executor_is_refused_at_assembly(stranger: Any) -> None:
    with pytest.raises(TypeError, match="IterablePublisher needs an executor, such as ThreadPool"):
        ExecutorPublisher([], stranger)


@pytest.mark.parametrize(("batch", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError)])
def test_a_batch_is_at_least_one(batch: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="batch must be"):
        ExecutorPublisher([], CallingThread(), batch=batch)


def test_an_executor_publisher_lets_others_have_their_turn_after_each_batch() -> None:
    time = VirtualTime()
    first, second = Recorder(UNBOUNDED), Recorder(UNBOUNDED)
    for recorder in (first, second):
        ExecutorPublisher(range(9), time, batch=3).subscribe(recorder)
    progress = []
    while time.step():
        progress.append((len(first.elements), len(second.elements)))
    assert progress[:4] == [(3, 0), (3, 3), (6, 3), (6, 6)]
    assert first.completed
    assert second.completed


def test_an_executor_that_runs_tasks_at_once_does_not_grow_the_stack() -> None:
    recorder = Recorder(1, on_next=lambda me: me.request(1))
    ExecutorPublisher(range(3_000), Inline()).subscribe(recorder)
    assert recorder.elements == list(range(3_000))
    assert recorder.completed
    assert recorder.faults == []


def test_an_executor_publisher_does_nothing_on_the_thread_that_subscribes_and_requests() -> None:
    time, source, recorder = VirtualTime(), Source(range(3)), Recorder()
    ExecutorPublisher(source, time).subscribe(recorder)
    assert recorder.signals == []
    time.settle()
    recorder.request(3)
    recorder.cancel()
    assert (source.pulled, source.closed) == (0, 0)
    time.settle()
    assert (source.pulled, source.closed) == (0, 1)


def test_signals_and_iterator_run_on_the_threads_of_the_pool() -> None:
    places: list[str] = []

    def note(_: object = None) -> None:
        places.append(threading.current_thread().name.partition("_")[0])

    def elements() -> Iterator[int]:
        note()
        yield 1

    with ThreadPool(2, name="elsewhere") as pool:
        engine = OnThreads(pool)
        recorder = Recorder(2, on_subscribe=note, on_next=note, on_complete=note)
        ExecutorPublisher(elements(), engine.watched).subscribe(recorder)
        engine.settle()
    assert recorder.completed
    assert places == ["elsewhere"] * 4


WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def test_signals_on_an_executor_have_the_context_of_the_subscribe_call(engine: Engine) -> None:
    seen: list[str] = []

    def elements() -> Iterator[int]:
        for element in range(600):
            seen.append(WHO.get())
            yield element

    def note(_: Recorder) -> None:
        seen.append(WHO.get())

    def subscribe() -> Recorder:
        WHO.set("the subscriber")
        recorder = Recorder(on_subscribe=note, on_next=note, on_complete=note)
        assert engine.executor is not None
        ExecutorPublisher(elements(), engine.executor).subscribe(recorder)
        return recorder

    recorder = contextvars.copy_context().run(subscribe)
    engine.settle()
    recorder.request(UNBOUNDED)  # from another context
    engine.settle()
    assert recorder.completed
    assert set(seen) == {"the subscriber"}
    assert WHO.get() == "nobody"


def test_what_a_subscriber_sets_in_its_context_stays_there(engine: Engine) -> None:
    def set_it(_: Recorder) -> None:
        WHO.set("a leak")

    recorder = Recorder(UNBOUNDED, on_next=set_it)
    assert engine.executor is not None
    ExecutorPublisher(range(3), engine.executor).subscribe(recorder)
    engine.settle()
    assert WHO.get() == "nobody"


def test_none_as_an_element_names_its_position() -> None:
    recorder = Recorder(2)
    IterablePublisher(Source([0, 1, NOTHING])).subscribe(recorder)
    recorder.request(1)
    assert str(recorder.error).startswith("element 2 is None")


ITERABLES: dict[str, Callable[[], Iterable[int]]] = {
    "range": lambda: range(3),
    "iterator": lambda: iter(range(3)),
    "generator": lambda: (n for n in range(3)),
    "set": lambda: {0, 1, 2},
    "map": lambda: map(int, "012"),
    "bytes": lambda: bytes([0, 1, 2]),
}


@pytest.mark.parametrize("make", ITERABLES.values(), ids=list(ITERABLES))
def test_any_iterable_will_do(make: Callable[[], Iterable[int]]) -> None:
    recorder = Recorder(UNBOUNDED)
    IterablePublisher(make()).subscribe(recorder)
    assert recorder.elements == [0, 1, 2]
    assert recorder.completed


class FailsToStart:
    """An iterable without an iterator."""

    def __iter__(self) -> Iterator[int]:
        raise KeyError("of iter")


class FailsAtOnce:
    """An iterator without an element."""

    def __iter__(self) -> FailsAtOnce:
        return self

    def __next__(self) -> int:
        raise KeyError("of next")


def on_a_closed_pool() -> Publisher[int]:
    pool = ThreadPool()
    pool.close()
    return ExecutorPublisher([1], pool)


def on_a_closed_loop() -> Publisher[int]:
    loop = asyncio.new_event_loop()
    executor = AsyncioLoop(loop)
    loop.close()
    return ExecutorPublisher([1], executor)


FAILING: dict[str, Callable[[], Publisher[Any]]] = {
    "iter": lambda: IterablePublisher(FailsToStart()),
    "next": lambda: IterablePublisher(FailsAtOnce()),
    "map": lambda: IterablePublisher(map(int, ["no number"])),
    "generator": lambda: IterablePublisher(failing_after([], KeyError("of the generator"))),
    "closed pool": on_a_closed_pool,
    "closed loop": on_a_closed_loop,
}


@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize("make", FAILING.values(), ids=list(FAILING))
def test_rule_3_13_a_subscriber_is_freed_though_somebody_keeps_the_error_of_its_stream(
    make: Callable[[], Publisher[Any]],
) -> None:
    publisher, recorder = make(), Recorder(3)
    publisher.subscribe(recorder)
    error, reference = recorder.error, weakref.ref(recorder)
    assert error is not None
    del recorder
    assert reference() is None
