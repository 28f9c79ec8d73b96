"""What an identity processor does besides keeping the rules."""

from __future__ import annotations

import contextvars
import weakref
from functools import partial
from itertools import count, pairwise
from typing import Any, cast

import pytest

from penstock import UNBOUNDED, ExecutorPublisher, IdentityProcessor, IterablePublisher
from penstock.rules import RuleViolation
from penstock.runtime import ThreadPool, VirtualTime
from tests.core.unit.parties import interrupted
from tests.rules.parties import Recorder, SpySubscription, together
from tests.rules.subjects import Engine, OnThreads

pytestmark = pytest.mark.usefixtures("undelivered")


@pytest.mark.parametrize("capacity", [1, 2, 3, 5, 8])
def test_it_asks_for_no_more_than_its_capacity(capacity: int) -> None:
    time = VirtualTime()
    processor = IdentityProcessor[int](capacity, executor=time)
    recorder, spy = Recorder(UNBOUNDED), SpySubscription()
    processor.subscribe(recorder)
    processor.on_subscribe(spy)
    time.settle()
    sent = 0
    for _ in range(10):
        while spy.requested > sent:
            processor.on_next(sent)
            sent += 1
            assert spy.requested - len(recorder.elements) <= capacity
        time.settle()
    assert recorder.elements == list(range(sent))
    assert sent >= 10


def test_of_two_subscribers_at_once_one_is_refused() -> None:
    for _ in range(20):
        processor, recorders = IdentityProcessor[int](), [Recorder(UNBOUNDED), Recorder(UNBOUNDED)]
        together(*(partial(processor.subscribe, recorder) for recorder in recorders))
        IterablePublisher(range(3)).subscribe(processor)
        assert sorted(len(recorder.elements) for recorder in recorders) == [0, 3]
        assert sum(isinstance(recorder.error, RuntimeError) for recorder in recorders) == 1


def test_a_second_subscriber_is_refused_even_when_the_first_has_left() -> None:
    processor, first, second = IdentityProcessor[int](), Recorder(), Recorder()
    processor.subscribe(first)
    first.cancel()
    processor.subscribe(second)
    assert isinstance(second.error, RuntimeError)


def test_the_same_subscriber_again_ends_its_stream_with_an_error() -> None:
    processor, recorder = IdentityProcessor[int](), Recorder(5)
    processor.subscribe(recorder)
    processor.subscribe(recorder)
    IterablePublisher([1, 2]).subscribe(processor)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert isinstance(recorder.error, RuntimeError)
    assert recorder.faults == []


def test_nothing_is_asked_for_once_the_subscriber_has_cancelled_within_on_next() -> None:
    processor, spy = IdentityProcessor[int](1), SpySubscription()
    processor.subscribe(Recorder(9, on_next=Recorder.cancel))
    processor.on_subscribe(spy)
    processor.on_next(0)
    assert spy.calls == ["request(1)", "cancel"]


def test_an_element_that_nobody_asked_for_cancels_upstream_even_without_a_subscriber() -> None:
    processor, spy, late = IdentityProcessor[int](), SpySubscription(), Recorder(1)
    processor.on_subscribe(spy)
    processor.on_next(0)
    assert spy.calls == ["cancel"]
    processor.subscribe(late)
    assert isinstance(late.error, RuleViolation)
    assert late.error.rule.number == "1.1"


def test_an_error_that_is_no_exception_ends_the_stream_with_one() -> None:
    processor, recorder, no_error = IdentityProcessor[int](), Recorder(1), cast(Exception, "boom")
    processor.subscribe(recorder)
    processor.on_subscribe(SpySubscription())
    processor.on_error(no_error)
    assert isinstance(recorder.error, RuleViolation)
    assert recorder.error.rule.number == "1.4"


def test_a_signal_handler_may_cancel_at_any_place_while_an_element_comes() -> None:
    for place in count(1):
        processor, recorder, spy = IdentityProcessor[int](4), Recorder(4), SpySubscription()
        processor.subscribe(recorder)
        processor.on_subscribe(spy)
        if not interrupted(place, recorder.cancel, partial(processor.on_next, 0)):
            break
        assert spy.cancelled == 1
        assert recorder.faults == []
    assert place > 20


def test_completion_waits_for_the_elements_before_it(engine: Engine) -> None:
    processor = IdentityProcessor[int](4, executor=engine.executor)
    recorder, spy = Recorder(4), SpySubscription()
    processor.subscribe(recorder)
    processor.on_subscribe(spy)
    engine.settle()
    for element in range(4):
        processor.on_next(element)
    processor.on_complete()
    engine.settle()
    assert recorder.elements == [0, 1, 2, 3]
    assert recorder.completed
    assert recorder.faults == []


class Element:
    """Something that can be weakly referred to."""


@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize("ending", ["a cancel", "an error"])
def test_elements_that_wait_are_let_go_of_at_the_end(ending: str) -> None:
    time = VirtualTime()
    processor, recorder = IdentityProcessor[Element](4, executor=time), Recorder(4)
    processor.subscribe(recorder)
    processor.on_subscribe(SpySubscription())
    time.settle()
    references = []
    for _ in range(3):
        element = Element()
        references.append(weakref.ref(element))
        processor.on_next(element)
        del element
    if ending == "a cancel":
        recorder.cancel()
    else:
        processor.on_error(OSError("gone"))
    time.settle()
    assert recorder.elements == []
    assert [reference() for reference in references] == [None] * 3


def test_a_chain_across_pools_arrives_whole() -> None:
    with ThreadPool(2) as pool:
        engine = OnThreads(pool)
        stages = [IdentityProcessor[int](3, executor=engine.watched) for _ in range(4)]
        recorder = Recorder(5, on_next=lambda me: me.request(1))
        stages[-1].subscribe(recorder)
        for upstream, downstream in pairwise(stages):
            upstream.subscribe(downstream)
        ExecutorPublisher(range(500), engine.watched, batch=7).subscribe(stages[0])
        engine.settle()
    assert recorder.elements == list(range(500))
    assert recorder.completed
    assert recorder.faults == []


WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def test_signals_have_the_context_of_the_subscribe_call(engine: Engine) -> None:
    seen: list[str] = []
    processor = IdentityProcessor[int](executor=engine.executor)

    def subscribe() -> None:
        WHO.set("the subscriber")
        processor.subscribe(Recorder(UNBOUNDED, on_next=lambda _: seen.append(WHO.get())))

    contextvars.copy_context().run(subscribe)
    IterablePublisher(range(3)).subscribe(processor)
    engine.settle()
    assert seen == ["the subscriber"] * 3


@pytest.mark.parametrize(
    ("capacity", "error"), [(0, ValueError), (-1, ValueError), ("4", TypeError), (True, TypeError)]
)
def test_a_bad_capacity_is_an_error_at_assembly(capacity: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="capacity must be"):
        IdentityProcessor[int](capacity)


def test_something_that_is_no_executor_is_an_error_at_assembly() -> None:
    stranger: Any = 42
    with pytest.raises(TypeError, match="IdentityProcessor needs an executor, such as ThreadPool"):
        IdentityProcessor[int](executor=stranger)
