"""Flows that callbacks and other threads feed."""

from __future__ import annotations

import gc
import threading
import traceback
import weakref
from typing import Any

import pytest

from penstock import UNBOUNDED, Flow, collect_undelivered
from penstock.flow import Emitted, Emitter, Overflow
from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber


class Fed:
    """A created flow with a subscriber, and the emitter that feeds it."""

    def __init__(self, request: int = 0, capacity: int = 2, overflow: Any = "error") -> None:
        self.emitters: list[Emitter[Any]] = []
        self.discarded: list[Any] = []
        self.subscriber = ManualSubscriber[Any](request=request)
        flow = Flow.create(self.emitters.append, overflow=overflow, capacity=capacity)
        flow.do_on_discard(self.discarded.append).subscribe(self.subscriber)

    @property
    def emitter(self) -> Emitter[Any]:
        (emitter,) = self.emitters
        return emitter


def test_the_function_is_called_before_anything_is_wanted() -> None:
    assert len(Fed().emitters) == 1


def test_elements_wait_until_they_are_wanted() -> None:
    fed = Fed()
    fed.emitter.emit("a")
    fed.emitter.emit("b")
    fed.subscriber.assert_elements()
    fed.subscriber.request(1)
    fed.subscriber.assert_elements("a")
    fed.emitter.complete()
    fed.subscriber.assert_not_ended()
    fed.subscriber.request(1)
    fed.subscriber.assert_elements("a", "b")
    fed.subscriber.assert_completed()


def test_an_emitter_sees_what_is_wanted() -> None:
    fed = Fed(request=3)
    assert fed.emitter.wanted == 3
    fed.emitter.emit(1)
    assert fed.emitter.wanted == 2
    fed.emitter.emit(2)
    fed.emitter.emit(3)
    fed.emitter.emit(4)
    assert fed.emitter.wanted == 0
    fed.emitter.complete()
    fed.subscriber.request(5)
    assert (fed.emitter.wanted, fed.emitter.over) == (0, True)


def test_emit_beyond_the_capacity_is_an_error_after_what_waits() -> None:
    fed = Fed(capacity=2)
    for number in range(5):
        fed.emitter.emit(number)
    assert fed.emitter.over
    fed.subscriber.request(5)
    fed.subscriber.assert_elements(0, 1)
    fed.subscriber.assert_failed(Overflow, match=r"create: .* 2 waited")


def test_try_emit_beyond_the_capacity_changes_nothing() -> None:
    fed = Fed(capacity=1)
    assert fed.emitter.try_emit(1) is Emitted.TAKEN
    assert fed.emitter.try_emit(2) is Emitted.OVERFLOW
    fed.subscriber.request(1)
    assert fed.emitter.try_emit(2) is Emitted.TAKEN
    fed.subscriber.request(1)
    fed.subscriber.assert_elements(1, 2)


def test_drop_oldest_takes_each_element() -> None:
    fed = Fed(capacity=2, overflow="drop_oldest")
    assert [fed.emitter.try_emit(number) for number in range(4)] == [Emitted.TAKEN] * 4
    fed.subscriber.request(4)
    fed.subscriber.assert_elements(2, 3)
    assert fed.discarded == [0, 1]


def test_drop_newest_says_what_it_dropped() -> None:
    fed = Fed(capacity=1, overflow="drop_newest")
    assert fed.emitter.try_emit(1) is Emitted.TAKEN
    assert fed.emitter.try_emit(2) is Emitted.DROPPED
    assert fed.discarded == [2]


def test_latest_keeps_one_whatever_the_capacity() -> None:
    fed = Fed(capacity=100, overflow="latest")
    for number in range(4):
        fed.emitter.emit(number)
    fed.subscriber.request(4)
    fed.subscriber.assert_elements(3)
    assert fed.discarded == [0, 1, 2]


def test_nothing_is_taken_when_the_stream_is_over() -> None:
    fed = Fed(request=5)
    fed.emitter.complete()
    fed.emitter.emit(1)
    assert fed.emitter.try_emit(2) is Emitted.OVER
    fed.emitter.complete()
    fed.subscriber.assert_elements()
    fed.subscriber.assert_completed()
    fed.subscriber.assert_no_rule_broken()


def test_completion_needs_no_demand() -> None:
    fed = Fed()
    fed.emitter.complete()
    fed.subscriber.assert_completed()


def test_fail_comes_after_what_waits() -> None:
    fed = Fed()
    fed.emitter.emit(1)
    fed.emitter.fail(ValueError("lost"))
    fed.subscriber.request(1)
    fed.subscriber.assert_elements(1)
    fed.subscriber.assert_failed(ValueError, match="lost")


@pytest.mark.parametrize("waiting", [0, 1], ids=["delivered at once", "after what waits"])
def test_an_error_that_the_subscriber_gets_does_not_go_to_the_hook(waiting: int) -> None:
    # The buffer was asked for the error afterwards: with nothing before it, it was gone by then.
    fed, error = Fed(), ValueError("lost")
    with collect_undelivered() as undelivered:
        for number in range(waiting):
            fed.emitter.emit(number)
        fed.emitter.fail(error)
        fed.subscriber.request(1)
    assert fed.subscriber.error is error
    assert undelivered == []


def test_an_error_after_the_first_one_goes_to_the_hook() -> None:
    fed, error = Fed(), ValueError("second")
    with collect_undelivered() as undelivered:
        fed.emitter.fail(ValueError("first"))
        fed.emitter.fail(error)
    fed.subscriber.assert_failed(ValueError, match="first")
    assert [each.error for each in undelivered] == [error]


def test_an_error_that_comes_too_late_goes_to_the_hook() -> None:
    fed, error = Fed(), ValueError("late")
    fed.subscriber.cancel()
    with collect_undelivered() as undelivered:
        fed.emitter.fail(error)
    assert [each.error for each in undelivered] == [error]


def test_a_function_that_raises_fails_after_what_it_emitted() -> None:
    def broken(emitter: Emitter[int]) -> None:
        emitter.emit(1)
        raise OSError("no device")

    subscriber = ManualSubscriber[int](request=1)
    Flow.create(broken, overflow="error").subscribe(subscriber)
    subscriber.assert_elements(1)
    subscriber.assert_failed(OSError)
    assert subscriber.error is not None
    text = "".join(traceback.format_exception(subscriber.error))
    assert f"in create, assembled at {__file__}" in text


def test_a_cancel_discards_what_waits_and_is_told_once() -> None:
    fed = Fed()
    cancels: list[str] = []
    fed.emitter.on_cancel(lambda: cancels.append("first"))
    fed.emitter.on_cancel(lambda: cancels.append("second"))
    fed.emitter.emit(1)
    fed.subscriber.cancel()
    fed.subscriber.cancel()
    assert cancels == ["first", "second"]
    assert fed.discarded == [1]
    assert fed.emitter.over
    fed.emitter.on_cancel(lambda: cancels.append("late"))
    assert cancels == ["first", "second", "late"]


def test_an_end_further_down_counts_as_a_cancel() -> None:
    cancels: list[str] = []

    def endless(emitter: Emitter[int]) -> None:
        emitter.on_cancel(lambda: cancels.append("cancelled"))
        for number in range(5):
            emitter.emit(number)

    assert Flow.create(endless, overflow="error").take(2).to_list().run_sync() == [0, 1]
    assert cancels == ["cancelled"]


def test_an_overflow_counts_as_a_cancel() -> None:
    fed = Fed(capacity=1)
    cancels: list[str] = []
    fed.emitter.on_cancel(lambda: cancels.append("cancelled"))
    fed.emitter.emit(1)
    fed.emitter.emit(2)
    fed.subscriber.request(1)
    assert cancels == ["cancelled"]


@pytest.mark.parametrize("ending", ["complete", "fail"])
def test_the_own_end_of_an_emitter_is_no_cancel(ending: str) -> None:
    fed = Fed(request=1)
    cancels: list[str] = []
    fed.emitter.on_cancel(lambda: cancels.append("cancelled"))
    if ending == "complete":
        fed.emitter.complete()
    else:
        fed.emitter.fail(ValueError("own"))
    assert fed.subscriber.ended
    fed.emitter.on_cancel(lambda: cancels.append("late"))
    assert cancels == []


def test_what_is_called_on_a_cancel_may_raise() -> None:
    fed = Fed()
    fed.emitter.on_cancel(lambda: 1 / 0)
    with collect_undelivered() as undelivered:
        fed.subscriber.cancel()
    assert [type(each.error) for each in undelivered] == [ZeroDivisionError]


def test_each_subscriber_has_an_emitter_of_its_own() -> None:
    emitters: list[Emitter[int]] = []
    flow = Flow.create(emitters.append, overflow="error")
    subscribers = [ManualSubscriber[int](request=9) for _ in range(2)]
    for subscriber in subscribers:
        flow.subscribe(subscriber)
    emitters[0].emit(1)
    emitters[1].emit(2)
    assert [subscriber.elements for subscriber in subscribers] == [[1], [2]]


def test_many_threads_emit_and_each_keeps_its_order() -> None:
    count, writers = 500, 4

    def start(emitter: Emitter[tuple[int, int]]) -> None:
        left = [object()] * writers

        def write(writer: int) -> None:
            for number in range(count):
                while emitter.try_emit((writer, number)) is Emitted.OVERFLOW:
                    room.acquire(timeout=0.01)
            left.pop()
            if not left:
                emitter.complete()

        for writer in range(writers):
            threading.Thread(target=write, args=(writer,), daemon=True).start()

    room = threading.Semaphore(0)
    flow = Flow.create(start, overflow="error", capacity=16)
    received = flow.do_on_next(lambda pair: room.release()).to_list().run_sync()
    assert received is not None
    for writer in range(writers):
        assert [n for w, n in received if w == writer] == list(range(count))


def test_a_run_is_freed_although_its_emitter_is_kept() -> None:
    class Element:
        pass

    gc.collect()
    gc.disable()
    try:
        fed = Fed(request=1)
        element = Element()
        freed, subscriber = weakref.ref(element), weakref.ref(fed.subscriber)
        fed.emitter.emit(Element())
        fed.emitter.emit(element)
        fed.subscriber.cancel()
        emitter = fed.emitter
        fed.discarded.clear()
        del element, fed
        assert (freed(), subscriber()) == (None, None)
        assert emitter.try_emit(1) is Emitted.OVER
    finally:
        gc.enable()


def test_an_emitter_refuses_what_is_no_element_and_no_error() -> None:
    fed = Fed(request=UNBOUNDED)
    with pytest.raises(TypeError, match="None, which is not an element"):
        fed.emitter.emit(None)
    with pytest.raises(TypeError, match="fails with an Exception, not 'broken'"):
        fed.emitter.fail("broken")  # type: ignore[arg-type]
    fed.subscriber.assert_not_ended()


def test_create_says_what_it_needs() -> None:
    with pytest.raises(TypeError, match="overflow"):
        Flow.create(lambda emitter: None)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=r"create: overflow must be one of .*'latest', not 'all'"):
        Flow.create(lambda emitter: None, overflow="all")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="create: capacity must be at least 1, not 0"):
        Flow.create(lambda emitter: None, overflow="error", capacity=0)
    with pytest.raises(TypeError, match="create needs a function, not 5"):
        Flow.create(5, overflow="error")  # type: ignore[arg-type]


def from_another_thread(count: int) -> Flow[int]:
    def start(emitter: Emitter[int]) -> None:
        def write() -> None:
            for number in range(count):
                emitter.emit(number)
            emitter.complete()

        threading.Thread(target=write, daemon=True).start()

    return Flow.create(start, overflow="error", capacity=20_000)


@pytest.mark.full
def test_the_kit_finds_no_rule_broken() -> None:
    report = verify_publisher(from_another_thread, repeatable=True, completes_eagerly=True)
    assert report.passed, str(report)
