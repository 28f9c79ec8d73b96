"""What a broadcast does for its subscribers: pace, newcomers, upstream demand, endings."""

from __future__ import annotations

import contextvars
import sys
import tracemalloc
import weakref
from functools import partial
from typing import Any, Literal, cast

import pytest

from penstock import UNBOUNDED, Broadcast, ExecutorPublisher, IterablePublisher
from penstock.api import Subscriber
from penstock.flow.multicast.broadcast import BroadcastState
from penstock.rules import RuleViolation
from penstock.runtime import ThreadPool, VirtualTime
from tests.rules.parties import Recorder, Source, SpySubscription, raises, together
from tests.rules.subjects import Engine, OnThreads

pytestmark = pytest.mark.usefixtures("undelivered")


def subscribed(hub: Broadcast[Any], *recorders: Recorder) -> SpySubscription:
    """Join the recorders, and a spy upstream."""
    for recorder in recorders:
        hub.subscribe(recorder)
    spy = SpySubscription()
    hub.on_subscribe(spy)
    return spy


# The slowest sets the pace.


@pytest.mark.parametrize("capacity", [1, 2, 3, 4, 8])
def test_no_more_than_the_capacity_is_kept_or_on_its_way(capacity: int) -> None:
    fast, slow = Recorder(UNBOUNDED), Recorder()
    hub = Broadcast[int](capacity)
    spy = subscribed(hub, fast, slow)
    sent = 0
    for slow_has in range(20):
        while spy.requested > sent:
            hub.on_next(sent)
            sent += 1
            assert spy.requested <= slow_has + capacity
        assert sent == slow_has + capacity  # and it is used to the full
        assert fast.elements == list(range(sent))
        assert slow.elements == list(range(slow_has))
        slow.request(1)
    assert fast.faults == slow.faults == []


def test_an_element_counts_as_kept_until_the_subscriber_has_it() -> None:
    source, slow_lags_by = Source(range(100)), list[int]()
    hub = Broadcast[object](4, source=IterablePublisher(source))

    def measure(me: Recorder) -> None:
        if len(me.elements) == 1:
            other.request(UNBOUNDED)
        slow_lags_by.append(source.pulled - len(me.elements) + 1)

    slow, other = Recorder(0, on_next=measure), Recorder()
    hub.subscribe(slow)
    hub.subscribe(other)
    slow.request(UNBOUNDED)
    assert slow.elements == other.elements == list(range(100))
    assert max(slow_lags_by) <= 4


def test_a_slow_subscriber_that_leaves_frees_the_others() -> None:
    _, fast, slow = fast_and_slow()
    assert fast.elements == [0, 1, 2, 3, 4]
    slow.cancel()
    assert fast.elements == list(range(50))
    assert fast.completed


def fast_and_slow() -> tuple[Broadcast[int], Recorder, Recorder]:
    """Two subscribers to 50 elements: one wants them all, the other has one and wants no more."""
    hub = Broadcast[int](4, source=IterablePublisher(range(50)))
    fast, slow = Recorder(), Recorder()
    for recorder in (fast, slow):
        hub.subscribe(recorder)
    fast.request(UNBOUNDED)
    slow.request(1)
    return hub, fast, slow


@pytest.mark.parametrize("ending", ["an error", "an illegal request"])
def test_a_slow_subscriber_that_fails_frees_the_others(ending: str) -> None:
    hub, fast, slow = fast_and_slow()
    if ending == "an error":
        hub.subscribe(slow)  # refused, as it is subscribed already
    else:
        slow.request(-1)
    assert slow.error is not None
    assert fast.elements == list(range(50))


def test_elements_are_kept_no_longer_than_the_slowest_needs_them() -> None:
    class Element:
        pass

    fast, slow = Recorder(UNBOUNDED), Recorder()
    hub = Broadcast[Element](4)
    subscribed(hub, fast, slow)
    references = []
    for _ in range(4):
        element = Element()
        references.append(weakref.ref(element))
        hub.on_next(element)
        del element
    for position in range(4):
        assert [reference() is None for reference in references] == [
            each < position for each in range(4)
        ]
        slow.request(1)
        slow.elements.clear()
        fast.elements.clear()


def test_subscribers_of_any_speed_get_the_same_elements_in_order_on_a_pool() -> None:
    with ThreadPool(2) as pool:
        engine = OnThreads(pool)
        source = ExecutorPublisher(range(500), engine.watched, batch=9)
        hub = Broadcast[int](16, source=source, executor=engine.executor)
        steps = [1, 2, 3, 50, UNBOUNDED]
        recorders = [Recorder(0, on_next=partial(request_again, n)) for n in steps]
        together(*(partial(hub.subscribe, recorder) for recorder in recorders))
        engine.settle()
        together(*(partial(each.request, n) for each, n in zip(recorders, steps, strict=True)))
        engine.settle()
    for recorder in recorders:
        assert recorder.elements == list(range(500))
        assert recorder.completed
        assert recorder.faults == []


def request_again(n: int, me: Recorder) -> None:
    if len(me.elements) % n == 0:
        me.request(n)


# Upstream.


def test_the_source_is_subscribed_when_the_first_subscriber_comes() -> None:
    source = Source(range(3))
    hub = Broadcast[object](source=IterablePublisher(source))
    assert source.opened == 0
    hub.subscribe(Recorder())
    assert source.opened == 1
    hub.subscribe(Recorder())
    assert source.opened == 1


def test_two_first_subscribers_at_once_subscribe_to_the_source_once() -> None:
    for _ in range(20):
        source = Source(range(3))
        hub = Broadcast[object](source=IterablePublisher(source))
        recorders = [Recorder() for _ in range(4)]
        together(*(partial(hub.subscribe, recorder) for recorder in recorders))
        for recorder in recorders:
            recorder.request(1)
        assert source.opened == 1
        assert [recorder.elements for recorder in recorders] == [[0]] * 4


def test_a_source_that_raises_on_subscribe_fails_the_stream() -> None:
    class Rude:
        def subscribe(self, subscriber: Subscriber[Any]) -> None:
            raise OSError("not today")

    hub, recorder = Broadcast[int](source=Rude()), Recorder(1)
    hub.subscribe(recorder)
    assert isinstance(recorder.error, RuleViolation)
    assert recorder.error.rule.number == "1.9"
    assert "not today" in str(recorder.error)
    assert hub.state is BroadcastState.FAILED


def test_upstream_is_asked_only_once_a_subscriber_asks() -> None:
    first, second = Recorder(), Recorder()
    hub = Broadcast[int](8)
    spy = subscribed(hub, first, second)
    assert spy.calls == []
    first.request(2)
    assert spy.calls == ["request(2)"]
    second.request(3)  # two of which the first has asked for already
    assert spy.calls == ["request(2)", "request(1)"]


@pytest.mark.parametrize("shuts_down_when_idle", [True, False])
def test_nothing_is_asked_for_once_the_only_subscriber_has_cancelled_within_on_next(
    shuts_down_when_idle: bool,
) -> None:
    hub = Broadcast[int](1, shuts_down_when_idle=shuts_down_when_idle)
    spy = subscribed(hub, Recorder(9, on_next=Recorder.cancel))
    hub.on_next(0)
    assert spy.requested == 1
    assert spy.cancelled == shuts_down_when_idle


def test_nothing_is_asked_for_on_behalf_of_one_who_has_left() -> None:
    hub, recorder = Broadcast[int](8), Recorder(100)
    hub.subscribe(recorder)
    recorder.cancel()
    assert subscribed(hub).calls == []


def test_an_eager_broadcast_keeps_a_whole_stream_for_its_first_subscriber() -> None:
    hub, recorder = Broadcast[int](eager=True), Recorder(UNBOUNDED)
    IterablePublisher(range(3)).subscribe(hub)
    hub.subscribe(recorder)
    assert recorder.elements == [0, 1, 2]
    assert recorder.completed


def test_an_eager_broadcast_asks_before_anybody_else_does() -> None:
    hub = Broadcast[int](8, eager=True)
    spy = subscribed(hub)
    assert spy.calls == ["request(8)"]
    for element in range(8):
        hub.on_next(element)
    assert spy.requested == 8
    recorder = Recorder(UNBOUNDED)
    hub.subscribe(recorder)
    assert recorder.elements == list(range(8))
    assert spy.requested == 16


def test_upstream_is_cancelled_when_the_last_subscriber_leaves_a_broadcast_that_shuts_down() -> (
    None
):
    first, second = Recorder(1), Recorder(1)
    hub = Broadcast[int](8, shuts_down_when_idle=True)
    spy = subscribed(hub, first, second)
    first.cancel()
    assert spy.cancelled == 0
    second.cancel()
    assert spy.cancelled == 1
    hub.on_next(0)  # on its way
    hub.on_complete()
    assert hub.state is BroadcastState.SHUT_DOWN
    assert spy.cancelled == 1


def test_upstream_is_not_cancelled_when_the_last_subscriber_leaves_otherwise() -> None:
    recorder = Recorder(1)
    hub = Broadcast[int](8)
    spy = subscribed(hub, recorder)
    recorder.cancel()
    assert spy.cancelled == 0


# Elements that come without demand.


def test_elements_that_come_unasked_are_taken_while_there_is_room() -> None:
    hub, recorder = Broadcast[int](4, takes_unasked=True), Recorder()
    spy = subscribed(hub, recorder)
    for element in range(4):
        hub.on_next(element)
    assert spy.calls == []
    assert recorder.elements == []
    recorder.request(6)
    assert recorder.elements == [0, 1, 2, 3]
    assert spy.calls == ["request(2)"]


def test_elements_that_come_unasked_without_room_fail_the_stream() -> None:
    hub, recorder = Broadcast[int](4, takes_unasked=True), Recorder()
    spy = subscribed(hub, recorder)
    for element in range(5):
        hub.on_next(element)
    assert isinstance(recorder.error, RuleViolation)
    assert recorder.error.rule.number == "1.1"
    assert spy.cancelled == 1
    assert hub.state is BroadcastState.FAILED


def test_elements_that_come_unasked_are_refused_unless_that_was_asked_for() -> None:
    hub, recorder = Broadcast[int](4), Recorder()
    spy = subscribed(hub, recorder)
    hub.on_next(0)
    assert isinstance(recorder.error, RuleViolation)
    assert recorder.error.rule.number == "1.1"
    assert spy.cancelled == 1


def test_unasked_elements_count_as_asked_for() -> None:
    hub, recorder = Broadcast[int](4, takes_unasked=True), Recorder()
    spy = subscribed(hub, recorder)
    hub.on_next(0)
    recorder.request(1)
    assert spy.requested == 0
    recorder.request(1)
    assert spy.requested == 1


# Newcomers.


def test_a_newcomer_starts_with_the_oldest_element_that_is_kept() -> None:
    slow, newcomer = Recorder(), Recorder(UNBOUNDED)
    hub = Broadcast[int](4, source=IterablePublisher(range(20)))
    fast = Recorder(4)
    for recorder in (slow, fast):
        hub.subscribe(recorder)
    slow.request(1)  # 1, 2 and 3 are kept for it
    hub.subscribe(newcomer)
    for recorder in (slow, fast):
        recorder.request(UNBOUNDED)
    assert newcomer.elements == list(range(1, 20))


def test_a_newcomer_can_start_with_the_next_element_instead() -> None:
    slow, newcomer = Recorder(), Recorder(UNBOUNDED)
    hub = Broadcast[int](4, newcomers="next", source=IterablePublisher(range(20)))
    fast = Recorder(4)
    for recorder in (slow, fast):
        hub.subscribe(recorder)
    hub.subscribe(newcomer)
    slow.request(UNBOUNDED)
    fast.request(UNBOUNDED)
    assert newcomer.elements == list(range(4, 20))


@pytest.mark.parametrize("newcomers", ["oldest", "next"])
def test_the_first_subscriber_gets_all_that_was_kept(
    newcomers: Literal["oldest", "next"],
) -> None:
    hub, recorder = Broadcast[int](4, eager=True, newcomers=newcomers), Recorder(UNBOUNDED)
    subscribed(hub)
    for element in range(4):
        hub.on_next(element)
    hub.subscribe(recorder)
    assert recorder.elements == [0, 1, 2, 3]


def test_one_who_comes_after_all_have_left_goes_on_where_the_last_one_stopped() -> None:
    hub = Broadcast[int](4, source=IterablePublisher(range(20)))
    first, second = Recorder(3), Recorder(UNBOUNDED)
    hub.subscribe(first)
    first.cancel()
    hub.subscribe(second)
    assert second.elements == list(range(3, 20))
    assert second.completed


def test_what_one_did_not_get_who_cancelled_in_mid_chunk_is_there_for_the_next() -> None:
    hub = Broadcast[object](4, eager=True)
    IterablePublisher(Source(range(10))).subscribe(hub)
    first = Recorder(4, on_next=lambda me: me.cancel() if len(me.elements) == 2 else None)
    second = Recorder(UNBOUNDED)
    hub.subscribe(first)
    hub.subscribe(second)
    assert first.elements == [0, 1]
    assert second.elements == list(range(2, 10))


# The same subscriber.


def test_a_subscriber_that_has_left_may_come_again() -> None:
    hub, recorder = Broadcast[int](source=IterablePublisher(range(9))), Recorder(2)
    hub.subscribe(recorder)
    recorder.cancel()
    recorder.signals.clear()
    hub.subscribe(recorder)
    assert recorder.elements == [0, 1, 2, 3]
    assert recorder.error is None


@pytest.mark.parametrize("cancelled", [True, False])
def test_a_subscriber_that_is_still_subscribed_is_told_so_on_an_executor(
    engine: Engine, cancelled: bool
) -> None:
    hub, recorder = Broadcast[int](executor=engine.executor), Recorder(2)
    hub.subscribe(recorder)
    engine.settle()
    if cancelled:
        recorder.cancel()  # it may still be on its way out
    hub.subscribe(recorder)
    engine.settle()
    if cancelled:
        assert recorder.signals.count("on_subscribe") == 2
    else:
        assert isinstance(recorder.error, RuntimeError)
        assert recorder.signals == ["on_subscribe", "on_error"]


# Endings.


def test_completion_follows_the_last_element_without_another_request() -> None:
    first, second = Recorder(), Recorder()
    hub = Broadcast[int](4, source=IterablePublisher(range(2)))
    hub.subscribe(first)
    hub.subscribe(second)
    first.request(2)
    assert first.signals == ["on_subscribe", "on_next", "on_next", "on_complete"]
    assert not second.completed
    second.request(1)
    assert not second.completed
    second.request(1)
    assert second.completed


def test_completion_that_comes_later_needs_no_request_either() -> None:
    hub, recorder = Broadcast[int](4), Recorder(2)
    subscribed(hub, recorder)
    hub.on_next(0)
    hub.on_next(1)
    assert not recorder.completed
    hub.on_complete()
    assert recorder.completed


def test_an_error_overtakes_the_elements_that_are_kept() -> None:
    fast, slow, error = Recorder(3), Recorder(1), OSError("gone")
    hub = Broadcast[int](4)
    spy = subscribed(hub, fast, slow)
    for element in range(3):
        hub.on_next(element)
    hub.on_error(error)
    assert fast.elements == [0, 1, 2]
    assert slow.elements == [0]
    assert fast.error is slow.error is error
    assert spy.cancelled == 0


def test_an_error_stops_elements_that_are_being_sent() -> None:
    error = OSError("gone")
    hub = Broadcast[int](4)
    recorder = Recorder(0, on_next=lambda me: hub.on_error(error))
    other = Recorder(4)
    subscribed(hub, recorder, other)
    for element in range(4):
        hub.on_next(element)
    recorder.request(4)
    assert recorder.signals == ["on_subscribe", "on_next", "on_error"]
    assert other.error is error


def test_an_error_that_is_no_exception_ends_the_stream_with_one() -> None:
    hub, recorder, no_error = Broadcast[int](), Recorder(1), cast(Exception, "boom")
    subscribed(hub, recorder)
    hub.on_error(no_error)
    assert isinstance(recorder.error, RuleViolation)
    assert recorder.error.rule.number == "1.4"


# Interrupts.


def test_an_interrupt_in_one_subscriber_does_not_keep_an_element_from_the_others() -> None:
    hub = Broadcast[int]()
    raising, other = Recorder(1, on_next=raises(KeyboardInterrupt())), Recorder(1)
    subscribed(hub, raising, other)
    with pytest.raises(KeyboardInterrupt):
        hub.on_next(0)
    assert other.elements == [0]


def test_an_interrupt_in_one_subscriber_does_not_keep_an_error_from_the_others() -> None:
    hub, error = Broadcast[int](), OSError("gone")
    raising, other = Recorder(on_error=raises(KeyboardInterrupt())), Recorder()
    subscribed(hub, raising, other)
    with pytest.raises(KeyboardInterrupt):
        hub.on_error(error)
    assert other.error is error


def test_after_an_interrupt_in_one_subscriber_the_others_go_on() -> None:
    hub = Broadcast[int](source=IterablePublisher(range(5)))
    raising, other = Recorder(on_next=raises(KeyboardInterrupt())), Recorder()
    hub.subscribe(raising)
    hub.subscribe(other)
    other.request(5)
    with pytest.raises(KeyboardInterrupt):
        raising.request(1)
    other.request(1)
    assert other.elements == [0, 1, 2, 3, 4]
    assert other.completed


# A subscriber with an executor of the broadcast.


WHO: contextvars.ContextVar[str] = contextvars.ContextVar("WHO", default="nobody")


def test_each_subscriber_is_signalled_in_the_context_of_its_subscribe_call(engine: Engine) -> None:
    seen: list[tuple[str, str]] = []
    hub = Broadcast[int](source=IterablePublisher(range(3)), executor=engine.executor)

    def subscribe(name: str) -> Recorder:
        WHO.set(name)
        recorder = Recorder(0, on_next=lambda _: seen.append((name, WHO.get())))
        hub.subscribe(recorder)
        return recorder

    names = ["first", "second"]
    recorders = [contextvars.copy_context().run(subscribe, name) for name in names]
    engine.settle()
    for recorder in recorders:
        recorder.request(3)
        engine.settle()
    assert sorted(seen) == [(name, name) for name in names for _ in range(3)]


def test_a_slow_task_of_one_subscriber_does_not_hold_up_upstream() -> None:
    time = VirtualTime()
    hub, recorder = Broadcast[int](4, executor=time), Recorder(UNBOUNDED)
    spy = subscribed(hub, recorder)
    time.settle()
    hub.on_next(0)
    assert recorder.elements == []
    time.settle()
    assert recorder.elements == [0]
    assert spy.requested >= 4


# Size, and options.


def test_ten_thousand_subscribers_take_at_most_two_kilobytes_each() -> None:
    hub = Broadcast[int](source=IterablePublisher(range(5)))
    recorders = [Recorder() for _ in range(10_000)]
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for recorder in recorders:
            hub.subscribe(recorder)
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (after - before) / len(recorders) <= 2_048
    for recorder in recorders:
        recorder.request(3)
    assert all(recorder.elements == [0, 1, 2] for recorder in recorders)


def test_the_work_of_one_subscriber_does_not_grow_with_the_number_of_the_others() -> None:
    assert calls_for_each_of(400) < 1.5 * calls_for_each_of(100)


def calls_for_each_of(members: int) -> float:
    """How many functions are called for each of so many who take three elements and complete."""
    hub = Broadcast[int](source=IterablePublisher(range(3)))
    recorders = [Recorder() for _ in range(members)]
    for recorder in recorders:
        hub.subscribe(recorder)
    calls = 0

    def tally(*_: object) -> None:
        nonlocal calls
        calls += 1

    usual = sys.getprofile()
    sys.setprofile(tally)
    try:
        for recorder in recorders:
            recorder.request(3)
    finally:
        sys.setprofile(usual)
    assert all(recorder.completed for recorder in recorders)
    return calls / members


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"capacity": 0}, ValueError, "capacity must be at least 1, not 0"),
        ({"capacity": 2.5}, TypeError, "capacity must be an int"),
        ({"capacity": True}, TypeError, "capacity must be an int"),
        ({"newcomers": "first"}, ValueError, "newcomers must be 'oldest' or 'next', not 'first'"),
        ({"source": 42}, TypeError, "a source has a method subscribe; 42 has none"),
        ({"executor": 42}, TypeError, "Broadcast needs an executor, such as ThreadPool"),
        ({"executor": ThreadPool}, TypeError, "Broadcast needs an executor, such as ThreadPool"),
    ],
)
def test_a_bad_option_is_an_error_at_assembly(
    options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        Broadcast[int](**options)
