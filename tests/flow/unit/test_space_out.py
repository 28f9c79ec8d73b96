"""Elements kept apart in time, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import UNBOUNDED, VirtualTime
from penstock.flow import Emitter, Flow
from penstock.testing import ManualPublisher, ManualSubscriber, OnNext
from tests.flow.unit.watched_time import WatchedTime


class Paced:
    """A publisher led by hand, ``space_out`` downstream, and a subscriber at the end."""

    def __init__(self, seconds: float, elements: int = 1, request: int = UNBOUNDED) -> None:
        self.time = WatchedTime()
        self.publisher = ManualPublisher[Any]()
        self.subscriber = ManualSubscriber[Any](request=request, time=self.time)
        self.discarded: list[Any] = []
        flow = Flow.from_publisher(self.publisher).space_out(seconds, elements, clock=self.time)
        flow.do_on_discard(self.discarded.append).subscribe(self.subscriber)

    @property
    def moments(self) -> list[tuple[float, Any]]:
        """What came, and when."""
        signals = self.subscriber.signals
        return [(each.at, each.element) for each in signals if isinstance(each, OnNext)]


def test_an_element_that_comes_too_early_waits_for_its_time() -> None:
    paced = Paced(10)
    paced.publisher.next("a", "b", "c")
    paced.time.run(until=25)
    paced.publisher.next("d")
    paced.time.run(until=99)
    paced.publisher.next("e")
    assert paced.moments == [(0, "a"), (10, "b"), (20, "c"), (30, "d"), (99, "e")]


@given(
    actions=st.lists(
        st.tuples(st.sampled_from(["pass", "request", "send"]), st.integers(1, 7)), max_size=30
    ),
    elements=st.integers(1, 4),
)
def test_no_period_has_more_elements_than_it_may_and_none_is_lost(
    actions: list[tuple[str, int]], elements: int
) -> None:
    paced = Paced(10, elements, request=0)
    sent: list[int] = []
    for action, n in actions:
        if action == "pass":
            paced.time.advance(n)
        elif action == "request":
            paced.subscriber.request(n)
        elif paced.publisher.outstanding:
            paced.publisher.next(len(sent))
            sent.append(len(sent))
    paced.publisher.complete()
    paced.time.run()
    paced.subscriber.request(len(sent) + 1)
    paced.time.run()
    moments = [at for at, _ in paced.moments]
    following = moments[elements:]
    assert all(b - a >= 10 for a, b in zip(moments, following, strict=False))
    assert paced.subscriber.elements == sent
    assert paced.subscriber.completed


def test_the_end_does_not_wait() -> None:
    paced = Paced(10)
    paced.publisher.next("a")
    paced.time.run(until=1)
    paced.publisher.complete()
    assert paced.subscriber.completed
    assert paced.time.waiting == 0


def test_an_error_comes_after_the_element_that_waits() -> None:
    paced = Paced(10)
    paced.publisher.next("a", "b")
    paced.publisher.error(OSError("lost"))
    assert paced.subscriber.error is None
    paced.time.run(until=10)
    assert paced.moments == [(0, "a"), (10, "b")]
    assert isinstance(paced.subscriber.error, OSError)


def test_an_element_that_is_found_while_the_end_is_looked_for_counts_from_its_delivery() -> None:
    """Found at once, since upstream has ended; given when it is wanted."""
    time, subscriber = VirtualTime(), ManualSubscriber[Any](request=1)
    elements: Flow[str] = Flow.create(emit_three, overflow="error")
    elements.space_out(10, clock=time).map(lambda x: (time.now(), x)).subscribe(subscriber)
    time.run(until=35)
    assert subscriber.elements == [(0, "a")]
    subscriber.request(2)
    time.run(until=99)
    assert subscriber.elements == [(0, "a"), (35, "b"), (45, "c")]
    assert subscriber.completed


def test_one_that_is_found_early_and_is_due_counts_from_its_delivery_as_well() -> None:
    time, subscriber = VirtualTime(), ManualSubscriber[Any]()
    elements: Flow[str] = Flow.create(emit_three, overflow="error")
    elements.space_out(10, clock=time).map(lambda x: (time.now(), x)).subscribe(subscriber)
    time.run(until=35)
    subscriber.request(2)
    time.run(until=99)
    assert subscriber.elements == [(35, "a"), (45, "b")]


def emit_three(emitter: Emitter[str]) -> None:
    for element in "abc":
        emitter.emit(element)
    emitter.complete()


def test_what_waits_is_discarded_when_the_flow_is_cancelled() -> None:
    paced = Paced(10)
    paced.publisher.next("a", "b")
    assert paced.time.waiting == 1
    paced.subscriber.cancel()
    assert paced.discarded == ["b"]
    assert paced.time.waiting == 0


def test_upstream_is_pulled_no_faster_than_elements_go_on() -> None:
    time, subscriber = VirtualTime(), ManualSubscriber[Any](request=UNBOUNDED)
    taken: list[int] = []
    Flow.range(100).do_on_next(taken.append).space_out(1, clock=time).subscribe(subscriber)
    time.run(until=5)
    assert len(subscriber.elements) == 6
    assert taken == [0, 1, 2, 3, 4, 5, 6]  # one of them waits
    subscriber.cancel()


def test_a_foreign_publisher_is_asked_for_what_a_take_downstream_needs() -> None:
    time, publisher = VirtualTime(), ManualPublisher[int]()
    subscriber = ManualSubscriber[int](request=UNBOUNDED)
    Flow.from_publisher(publisher).space_out(1, clock=time).take(2).subscribe(subscriber)
    assert publisher.requested == 2
    publisher.next(1, 2)
    time.run()
    assert subscriber.completed


def test_explain_says_that_it_waits_for_its_clock() -> None:
    time, subscriber = VirtualTime(), ManualSubscriber[int](request=2)
    flow = Flow.range(5).space_out(10, clock=time)
    flow.subscribe(subscriber)
    assert "`space_out` waits for its clock" in str(flow.explain())
    time.run(until=10)
    assert "waits for demand" in str(flow.explain())
    subscriber.cancel()


@pytest.mark.parametrize(("seconds", "elements"), [(0, 1), (-1, 1), (1, 0), (1, -3)])
def test_it_needs_a_period_and_an_element(seconds: float, elements: int) -> None:
    with pytest.raises(ValueError, match="space_out: "):
        Flow.range(3).space_out(seconds, elements)
