"""The states of a broadcast, and what a subscriber that comes late meets in each."""

from __future__ import annotations

import weakref

import pytest

from penstock import UNBOUNDED, Broadcast, IterablePublisher
from penstock.flow.multicast.broadcast import BroadcastState
from tests.rules.parties import Recorder, Source, SpySubscription
from tests.rules.subjects import Engine

pytestmark = pytest.mark.usefixtures("undelivered")


def late(hub: Broadcast[object]) -> Recorder:
    """One who comes now and asks for nothing."""
    recorder = Recorder()
    hub.subscribe(recorder)
    assert recorder.faults == []
    return recorder


def test_an_active_broadcast_has_elements_for_who_comes_late() -> None:
    hub = Broadcast[object](source=IterablePublisher(range(5)))
    hub.subscribe(Recorder(2))
    assert hub.state is BroadcastState.ACTIVE
    recorder = late(hub)
    recorder.request(1)
    assert recorder.elements == [2]


def test_a_completed_broadcast_completes_who_comes_late_at_once() -> None:
    hub = Broadcast[object](source=IterablePublisher(range(5)))
    hub.subscribe(Recorder(UNBOUNDED))
    assert hub.state is BroadcastState.COMPLETED
    assert late(hub).signals == ["on_subscribe", "on_complete"]


def test_a_completed_broadcast_still_serves_those_who_came_in_time() -> None:
    hub = Broadcast[object](8, source=IterablePublisher(range(5)))
    slow = Recorder(1)
    hub.subscribe(slow)
    hub.subscribe(Recorder(UNBOUNDED))
    assert hub.state is BroadcastState.COMPLETED
    assert late(hub).signals == ["on_subscribe", "on_complete"]
    slow.request(UNBOUNDED)
    assert slow.elements == [0, 1, 2, 3, 4]
    assert slow.completed


def test_a_failed_broadcast_fails_who_comes_late_with_the_same_error() -> None:
    source = Source(range(2), OSError("gone"))
    hub = Broadcast[object](source=IterablePublisher(source))
    hub.subscribe(Recorder(UNBOUNDED))
    assert hub.state is BroadcastState.FAILED
    recorder = late(hub)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert recorder.error is source.error


def test_a_broadcast_that_is_shut_down_refuses_who_comes_late() -> None:
    hub = Broadcast[object](source=IterablePublisher(range(5)), shuts_down_when_idle=True)
    first = Recorder(1)
    hub.subscribe(first)
    first.cancel()
    assert hub.state is BroadcastState.SHUT_DOWN
    recorder = late(hub)
    assert recorder.signals == ["on_subscribe", "on_error"]
    assert isinstance(recorder.error, RuntimeError)


@pytest.mark.parametrize("ending", ["completed", "failed", "shut down"])
def test_who_comes_late_may_cancel_before_it_is_told(ending: str) -> None:
    hub = Broadcast[object](shuts_down_when_idle=True)
    first = Recorder()
    hub.subscribe(first)
    hub.on_subscribe(SpySubscription())
    if ending == "completed":
        hub.on_complete()
    elif ending == "failed":
        hub.on_error(OSError("gone"))
    else:
        first.cancel()
    recorder = Recorder(on_subscribe=Recorder.cancel)
    hub.subscribe(recorder)
    assert recorder.signals == ["on_subscribe"]


def test_who_comes_late_is_told_on_the_executor(engine: Engine) -> None:
    hub = Broadcast[object](executor=engine.executor)
    hub.on_subscribe(SpySubscription())
    hub.on_complete()
    recorder = Recorder()
    hub.subscribe(recorder)
    engine.settle()
    assert recorder.signals == ["on_subscribe", "on_complete"]


@pytest.mark.parametrize("error", [None, OSError("gone")], ids=["completed", "failed"])
def test_a_broadcast_that_ended_stays_as_it_is(error: Exception | None) -> None:
    hub = Broadcast[object](source=IterablePublisher(Source([0], error)), shuts_down_when_idle=True)
    recorder = Recorder(UNBOUNDED)
    hub.subscribe(recorder)
    recorder.cancel()
    hub.on_error(KeyError("late"))
    hub.on_complete()
    hub.on_next(7)
    spy = SpySubscription()
    hub.on_subscribe(spy)
    assert spy.calls == ["cancel"]
    assert hub.state is (BroadcastState.FAILED if error else BroadcastState.COMPLETED)


def test_a_broadcast_without_subscribers_ends_as_well() -> None:
    completed, failed = Broadcast[object](), Broadcast[object]()
    for hub in (completed, failed):
        hub.on_subscribe(SpySubscription())
    completed.on_complete()
    failed.on_error(OSError("gone"))
    assert completed.state is BroadcastState.COMPLETED
    assert failed.state is BroadcastState.FAILED


def test_the_only_subscriber_that_raises_shuts_an_idle_broadcast_down(
    undelivered: list[object],
) -> None:
    def break_down(_: Recorder) -> None:
        raise KeyError("bad")

    hub = Broadcast[object](source=IterablePublisher(range(5)), shuts_down_when_idle=True)
    hub.subscribe(Recorder(1, on_next=break_down))
    assert hub.state is BroadcastState.SHUT_DOWN
    assert len(undelivered) == 1
    undelivered.clear()


# Keep alive.


def test_keep_alive_prevents_the_shut_down_for_its_block() -> None:
    source = Source(range(5))
    hub = Broadcast[object](source=IterablePublisher(source), shuts_down_when_idle=True)
    with hub.keep_alive():
        for expected in range(2):
            recorder = Recorder(1)
            hub.subscribe(recorder)
            recorder.cancel()
            assert recorder.elements == [expected]
        assert hub.state is BroadcastState.ACTIVE
        assert source.closed == 0
    assert state_of(hub) is BroadcastState.SHUT_DOWN
    assert source.closed == 1


def state_of(hub: Broadcast[object]) -> BroadcastState:
    """The state, which a type checker takes for the one that it last saw."""
    return hub.state


def test_keep_alive_blocks_may_nest() -> None:
    hub = Broadcast[object](shuts_down_when_idle=True)
    with hub.keep_alive():
        with hub.keep_alive():
            pass
        assert state_of(hub) is BroadcastState.ACTIVE
    assert state_of(hub) is BroadcastState.SHUT_DOWN


def test_keep_alive_ends_with_an_exception_as_well() -> None:
    hub = Broadcast[object](shuts_down_when_idle=True)
    with pytest.raises(KeyError), hub.keep_alive():
        raise KeyError("leave")
    assert hub.state is BroadcastState.SHUT_DOWN


def test_the_end_of_keep_alive_shuts_nothing_down_while_somebody_is_subscribed() -> None:
    hub = Broadcast[object](source=IterablePublisher(range(5)), shuts_down_when_idle=True)
    recorder = Recorder(1)
    with hub.keep_alive():
        hub.subscribe(recorder)
    assert hub.state is BroadcastState.ACTIVE
    recorder.request(UNBOUNDED)
    assert recorder.elements == [0, 1, 2, 3, 4]


def test_the_end_of_keep_alive_shuts_nothing_down_unless_that_was_asked_for() -> None:
    hub = Broadcast[object]()
    with hub.keep_alive():
        pass
    assert hub.state is BroadcastState.ACTIVE


# What is kept is dropped.


class Element:
    """Something that can be weakly referred to."""


@pytest.mark.usefixtures("without_gc")
@pytest.mark.parametrize("ending", ["failed", "shut down"])
def test_nothing_is_kept_once_the_broadcast_is_over(ending: str) -> None:
    hub = Broadcast[object](8, eager=True, shuts_down_when_idle=True)
    recorder = Recorder()
    hub.subscribe(recorder)
    hub.on_subscribe(SpySubscription())
    element = Element()
    reference = weakref.ref(element)
    hub.on_next(element)
    del element
    if ending == "failed":
        hub.on_error(OSError("gone"))
    recorder.cancel()
    assert reference() is None


def test_what_nobody_took_before_the_completion_waits_for_the_next_subscriber() -> None:
    hub = Broadcast[int](8, eager=True)
    IterablePublisher(range(3)).subscribe(hub)
    assert hub.state is BroadcastState.COMPLETED
    leaves, next_one, late = Recorder(1), Recorder(UNBOUNDED), Recorder(UNBOUNDED)
    hub.subscribe(leaves)
    leaves.cancel()
    hub.subscribe(next_one)
    hub.subscribe(late)
    assert leaves.elements == [0]
    assert next_one.elements == [1, 2]
    assert next_one.completed
    assert late.signals == ["on_subscribe", "on_complete"]
