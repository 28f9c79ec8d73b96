"""Re-entrancy: every call that a subscriber can make, from within every signal, on every engine."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from penstock import UNBOUNDED, Broadcast, IterablePublisher
from tests.rules.parties import Recorder, Source
from tests.rules.subjects import Subject

SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")

CALLS: dict[str, Callable[[Recorder], object]] = {
    "request one": lambda me: me.request(1),
    "request unbounded": lambda me: me.request(UNBOUNDED),
    "request none": lambda me: me.request(0),
    "cancel": lambda me: me.cancel(),
    "cancel twice": lambda me: [me.cancel(), me.cancel()],
    "cancel and request": lambda me: [me.cancel(), me.request(1)],
    "request and cancel": lambda me: [me.request(1), me.cancel()],
}

CASES = list(product(SIGNALS, CALLS))


@pytest.mark.parametrize(("signal", "call"), CASES, ids=[" in ".join(case[::-1]) for case in CASES])
def test_any_call_from_within_any_signal_leaves_the_stream_in_order(
    subject: Subject, signal: str, call: str
) -> None:
    source = Source(range(9), OSError("gone") if signal == "on_error" else None)
    recorder = subject.subscribe(source, Recorder(3, **{signal: CALLS[call]}))
    recorder.request(UNBOUNDED)
    subject.settle()
    assert recorder.signals[0] == "on_subscribe"
    assert recorder.elements == list(range(len(recorder.elements)))
    assert source.closed == source.opened
    if signal in ("on_subscribe", "on_next") and ("cancel" in call or "none" in call):
        assert recorder.elements == ([] if signal == "on_subscribe" else [0])
        assert recorder.completed is False
    elif signal != "on_error":
        assert recorder.elements == list(range(9))
        assert recorder.completed
    else:
        assert recorder.error is source.error


@pytest.mark.parametrize("signal", SIGNALS)
def test_another_subscriber_can_be_subscribed_from_within_any_signal(
    iteration_subject: Subject, signal: str
) -> None:
    source = Source(range(3), OSError("gone") if signal == "on_error" else None)
    publisher = iteration_subject.publisher(source)
    others: list[Recorder] = []

    def subscribe_another(_: Recorder) -> None:
        others.append(iteration_subject.watch(Recorder(UNBOUNDED)))
        publisher.subscribe(others[-1])

    recorder = iteration_subject.watch(Recorder(UNBOUNDED, **{signal: subscribe_another}))
    publisher.subscribe(recorder)
    iteration_subject.settle()
    assert len(others) == recorder.signals.count(signal)
    for each in (recorder, *others):
        assert each.elements == [0, 1, 2]
        assert each.ended


@pytest.mark.parametrize("signal", SIGNALS)
def test_another_subscriber_can_join_a_broadcast_from_within_any_signal(signal: str) -> None:
    source = Source(range(3), OSError("gone") if signal == "on_error" else None)
    hub = Broadcast[object](4, source=IterablePublisher(source))
    others: list[Recorder] = []

    def subscribe_another(_: Recorder) -> None:
        others.append(Recorder(UNBOUNDED))
        hub.subscribe(others[-1])

    recorder = Recorder(0, **{signal: subscribe_another})
    hub.subscribe(recorder)
    for _ in range(4):
        recorder.request(1)
    assert len(others) == recorder.signals.count(signal) > 0
    assert recorder.elements == [0, 1, 2]
    for each in (recorder, *others):
        assert each.ended
        assert each.faults == []
        assert each.elements == [0, 1, 2][3 - len(each.elements) :]


@pytest.mark.parametrize("signal", SIGNALS)
@pytest.mark.parametrize("call", CALLS)
def test_a_subscriber_may_call_for_another_from_within_any_signal(signal: str, call: str) -> None:
    source = Source(range(9), OSError("gone") if signal == "on_error" else None)
    hub = Broadcast[object](2, source=IterablePublisher(source))
    victim = Recorder()
    hub.subscribe(victim)
    actor = Recorder(0, **{signal: lambda _: CALLS[call](victim)})
    hub.subscribe(actor)
    for _ in range(10):
        actor.request(1)
        victim.request(1)
    assert actor.elements == list(range(9))
    assert actor.ended
    for each in (actor, victim):
        assert each.faults == []
    assert victim.elements == list(range(len(victim.elements)))


def test_a_subscriber_may_cancel_the_others_while_an_element_goes_round() -> None:
    hub = Broadcast[int](4, source=IterablePublisher(range(5)))
    recorders = [Recorder() for _ in range(5)]

    def cancel_others(me: Recorder) -> None:
        for other in recorders:
            if other is not me:
                other.cancel()

    recorders[2] = Recorder(0, on_next=cancel_others)
    for recorder in recorders:
        hub.subscribe(recorder)
    for recorder in recorders:
        recorder.request(UNBOUNDED)
    assert [len(recorder.elements) for recorder in recorders] == [4, 4, 5, 0, 0]
    assert recorders[2].completed
