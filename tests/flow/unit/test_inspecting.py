"""Inspecting what goes by, and names."""

from __future__ import annotations

import logging
import threading
from itertools import repeat
from typing import Any

import pytest

from penstock import (
    Flow,
    IterablePublisher,
    Subscription,
    ThreadPool,
    VirtualTime,
    collect_undelivered,
)
from penstock.flow import X
from penstock.tck import verify_operator
from penstock.testing import ManualPublisher, ManualSubscriber

PATIENCE = 60


def subscribed(flow: Flow[Any], request: int = 0) -> ManualSubscriber[Any]:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
    flow.subscribe(subscriber)
    return subscriber


class Unwilling(ManualSubscriber[Any]):
    """Cancels at once."""

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        self.cancel()


class Listener:
    """Writes down what it hears."""

    def __init__(self) -> None:
        self.heard: list[object] = []

    def on_subscribe(self, subscription: object) -> None:
        self.heard.append("subscribe")

    def on_request(self, n: int) -> None:
        self.heard.append(f"request {n}")

    def on_next(self, element: object) -> None:
        self.heard.append(element)

    def on_error(self, error: Exception) -> None:
        self.heard.append(type(error))

    def on_complete(self) -> None:
        self.heard.append("complete")

    def on_cancel(self) -> None:
        self.heard.append("cancel")


# do_on_next, do_on_error


def test_do_on_next_sees_each_element_before_the_subscriber_does() -> None:
    seen: list[int] = []
    subscriber = subscribed(Flow.range(5).do_on_next(seen.append), request=2)
    assert seen == subscriber.elements == [0, 1]


def test_do_on_next_may_return_anything_also_nothing() -> None:
    assert Flow.of(1, 2).do_on_next(lambda x: None).to_list().run_sync() == [1, 2]


def test_what_do_on_next_raises_is_the_end_and_names_it() -> None:
    subscriber = subscribed(Flow.of(1, 0).do_on_next(lambda x: 1 // x), request=5)
    assert subscriber.elements == [1]
    assert isinstance(subscriber.error, ZeroDivisionError)
    assert subscriber.error.__notes__[0].startswith("in do_on_next, assembled at ")


def test_do_on_error_is_told_once_and_the_error_goes_on() -> None:
    told: list[Exception] = []
    flow = Flow.of(1, 0).map(lambda x: 1 // x).do_on_error(told.append)
    subscriber = subscribed(flow, request=5)
    assert told == [subscriber.error]
    assert subscriber.elements == [1]


def test_do_on_error_hears_of_an_error_without_demand() -> None:
    told: list[Exception] = []
    source: ManualPublisher[int] = ManualPublisher()
    subscribed(Flow.from_publisher(source).do_on_error(told.append))
    error = ValueError("at once")
    source.error(error)
    assert told == [error]


def test_what_do_on_error_raises_takes_the_place_of_the_error() -> None:
    def fail(error: Exception) -> None:
        raise LookupError("worse")

    subscriber = subscribed(Flow.error(ValueError("first")).do_on_error(fail), request=1)
    assert isinstance(subscriber.error, LookupError)
    assert isinstance(subscriber.error.__context__, ValueError)


# do_finally


def test_do_finally_hears_of_completion_before_the_subscriber_does() -> None:
    signals: list[object] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=5)
    flow = Flow.range(2).do_finally(lambda end: signals.append((end, subscriber.completed)))
    flow.subscribe(subscriber)
    assert signals == [("completed", False)]
    assert subscriber.completed


def test_do_finally_hears_of_an_error() -> None:
    ends: list[str] = []
    flow = Flow.of(1, 0).map(lambda x: 1 // x).do_finally(ends.append)
    assert subscribed(flow, request=5).error is not None
    assert ends == ["failed"]


@pytest.mark.parametrize("requested", [0, 2])
def test_do_finally_hears_once_of_a_cancel_whether_or_not_anything_was_asked(
    requested: int,
) -> None:
    ends: list[str] = []
    subscriber = subscribed(Flow.range(9).do_finally(ends.append), request=requested)
    subscriber.cancel()
    subscriber.cancel()
    assert ends == ["cancelled"]


def test_do_finally_hears_of_a_cancel_from_within_on_next() -> None:
    ends: list[str] = []

    class Leaver(ManualSubscriber[int]):
        def on_next(self, element: int) -> None:
            super().on_next(element)
            self.cancel()

    Flow.range(9).map(X + 1).do_finally(ends.append).map(X + 1).subscribe(Leaver(request=5))
    assert ends == ["cancelled"]


def test_do_finally_downstream_of_a_filter_that_never_ends_tells_a_cancel_from_an_end() -> None:
    ends: list[str] = []
    passed = threading.Event()
    endless = Flow.from_iterable(repeat(1)).filter(lambda x: bool(passed.set()))
    flow = endless.do_finally(ends.append)
    with ThreadPool(1) as threads:
        subscriber = subscribed(flow.subscribe_on(threads), request=1)
        assert passed.wait(PATIENCE)
        subscriber.cancel()
    assert ends == ["cancelled"]


def test_what_is_upstream_is_closed_when_do_finally_is_told() -> None:
    order: list[str] = []

    class Elements:
        def __iter__(self) -> Any:
            try:
                yield 1
                yield 2
            finally:
                order.append("closed")

    flow = Flow.from_iterable(Elements()).do_finally(order.append).take(1)
    assert flow.to_list().run_sync() == [1]
    assert order == ["closed", "cancelled"]


def test_what_do_finally_raises_at_the_end_is_the_end() -> None:
    def fail(end: str) -> None:
        raise LookupError(end)

    subscriber = subscribed(Flow.of(1).do_finally(fail), request=5)
    assert subscriber.elements == [1]
    assert isinstance(subscriber.error, LookupError)


def test_what_do_finally_raises_on_cancel_goes_to_the_hook() -> None:
    def fail(end: str) -> None:
        raise LookupError(end)

    with collect_undelivered() as lost:
        subscribed(Flow.of(1, 2).do_finally(fail)).cancel()
    assert [str(each.error) for each in lost] == ["cancelled"]


def test_do_finally_is_told_for_each_run() -> None:
    ends: list[str] = []
    flow = Flow.of(1, 0).map(lambda x: 1 // x).do_finally(ends.append).retry(2)
    subscribed(flow, request=9)
    assert ends == ["failed"] * 3


# do_on_discard


def test_do_on_discard_is_told_of_what_waited_at_a_boundary() -> None:
    lost: list[int] = []
    source: ManualPublisher[int] = ManualPublisher()
    with ThreadPool(1) as threads:
        flow = Flow.from_publisher(source).publish_on(threads).do_on_discard(lost.append)
        subscriber = subscribed(flow, request=1)
        source.next(1, 2, 3)
        subscriber.await_elements(1)
        subscriber.cancel()
    assert lost == [2, 3]


def test_do_on_discard_is_told_of_what_was_held_upstream_of_a_boundary() -> None:
    lost: list[int] = []
    source: ManualPublisher[int] = ManualPublisher()
    with ThreadPool(1) as threads:
        hop = Flow.from_publisher(source).buffer(3).publish_on(threads)
        subscriber = subscribed(hop.do_on_discard(lost.append, only=int), request=1)
        source.await_requested(3)
        source.next(1, 2)
        subscriber.await_subscription()
        subscriber.cancel()
        source.await_cancelled()
    assert lost == [1, 2]


@pytest.mark.parametrize(
    "source", [Flow.range(3), Flow.from_publisher(IterablePublisher([0, 1, 2]))]
)
def test_do_on_discard_is_told_of_what_was_made_ahead_for_one_who_never_wanted_any(
    source: Flow[int],
) -> None:
    lost: list[int] = []
    time = VirtualTime()
    source.publish_on(time).do_on_discard(lost.append).subscribe(Unwilling())
    time.run()
    assert lost == [0, 1, 2]


def test_do_on_discard_is_told_once_of_each_element_however_often_the_run_began_again() -> None:
    lost: list[int] = []
    collected = Flow.of(1, 2, 0).map(lambda x: 6 // x).to_list()
    subscribed(collected.do_on_discard(lost.append).retry(2), request=1)
    assert lost == [6, 3] * 3


def test_do_on_discard_of_several_inner_flows_is_told_once_of_each_element() -> None:
    lost: list[int] = []
    sources: list[ManualPublisher[int]] = [ManualPublisher(), ManualPublisher()]
    subscriber = subscribed(
        Flow.range(2).flat_map(
            lambda x: Flow.from_publisher(sources[x]).buffer(9).do_on_discard(lost.append)
        ),
        request=1,
    )
    for number, source in enumerate(sources):
        source.next(number)
    subscriber.cancel()
    assert sorted(lost) == [0, 1]


def test_do_on_discard_is_told_of_what_is_dropped_for_want_of_demand() -> None:
    lost: list[int] = []
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).on_backpressure_latest().do_on_discard(lost.append)
    subscriber = subscribed(flow)
    source.next(1, 2, 3)
    assert lost == [1, 2]
    subscriber.cancel()
    assert lost == [1, 2, 3]


def test_do_on_discard_is_told_of_the_kinds_that_it_asked_for() -> None:
    lost: list[object] = []
    source: ManualPublisher[object] = ManualPublisher()
    flow = Flow.from_publisher(source).buffer(9).do_on_discard(lost.append, only=(int, float))
    subscriber = subscribed(flow, request=1)
    source.next(1, "a", 2.5)
    subscriber.cancel()
    assert lost == [1, 2.5]


def test_what_do_on_discard_raises_goes_to_the_hook_and_the_others_are_told() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    seen: list[int] = []

    def fail(element: int) -> None:
        seen.append(element)
        raise LookupError(element)

    flow = Flow.from_publisher(source).buffer(9).do_on_discard(fail).named("orders")
    subscriber = subscribed(flow, request=1)
    source.next(1, 2)
    with collect_undelivered() as lost:
        subscriber.cancel()
    assert seen == [1, 2]
    assert [each.what for each in lost] == [
        "the function of do_on_discard raised, in the flow orders"
    ] * 2


def test_do_on_discard_of_one_run_does_not_hear_of_another() -> None:
    lost: list[int] = []
    flow = Flow.from_publisher(IterablePublisher([1, 2])).buffer(9).do_on_discard(lost.append)
    assert flow.to_list().run_sync() == [[1, 2]]
    assert lost == []


# tap


def test_tap_hears_all_signals_in_their_order() -> None:
    listener = Listener()
    subscriber = subscribed(Flow.range(3).tap(listener))
    assert listener.heard == ["subscribe"]
    subscriber.request(2)
    subscriber.request(4)
    assert listener.heard == ["subscribe", "request 2", 0, 1, "request 4", 2, "complete"]


def test_tap_hears_of_an_error_and_of_a_cancel() -> None:
    failed, cancelled = Listener(), Listener()
    subscribed(Flow.of(0).map(lambda x: 1 // x).tap(failed), request=1)
    subscribed(Flow.range(3).tap(cancelled), request=1).cancel()
    assert failed.heard == ["subscribe", "request 1", ZeroDivisionError]
    assert cancelled.heard == ["subscribe", "request 1", 0, "cancel"]


def test_tap_hears_that_a_filter_asks_for_another_element() -> None:
    listener = Listener()
    subscribed(Flow.range(4).tap(listener).filter(X % 2 == 1), request=1)
    assert listener.heard == ["subscribe", "request 1", 0, "request 1", 1]


def test_tap_takes_a_subscriber_that_has_no_say() -> None:
    listener: ManualSubscriber[int] = ManualSubscriber(request=1)
    subscriber = subscribed(Flow.range(5).tap(listener), request=3)
    listener.cancel()
    subscriber.request(1)
    assert subscriber.elements == [0, 1, 2, 3]


def test_tap_takes_an_object_with_one_method() -> None:
    class Counter:
        completed = 0

        def on_complete(self) -> None:
            self.completed += 1

    counter = Counter()
    assert Flow.range(3).tap(counter).count().run_sync() == 3
    assert counter.completed == 1


@pytest.mark.parametrize("method", ["on_subscribe", "on_request", "on_next"])
def test_a_listener_that_raises_ends_the_stream_and_closes_the_source(method: str) -> None:
    def fail(*arguments: object) -> None:
        raise LookupError(method)

    source: ManualPublisher[int] = ManualPublisher()
    listener = type("Failing", (), {method: staticmethod(fail)})()
    subscriber = subscribed(Flow.from_publisher(source).tap(listener), request=1)
    if not source.cancelled:
        source.next(1)
    assert source.cancelled
    assert isinstance(subscriber.error, LookupError)
    assert subscriber.error.__notes__[0].startswith("in tap, assembled at ")


# log


def test_log_writes_one_line_for_each_signal(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.flow"):
        subscriber = subscribed(Flow.of("a", "b", "c").log("letters"))
        subscriber.request(2)
        subscriber.cancel()
    assert caplog.messages == [
        "letters: subscribe",
        "letters: request 2",
        "letters: next 'a'",
        "letters: next 'b'",
        "letters: cancel",
    ]


def test_log_says_how_a_stream_ends(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "penstock.flow"):
        Flow.empty().log("empty", level=logging.DEBUG).count().run_sync()
        subscribed(Flow.error(ValueError("bad")).log("failing"))
    assert "empty: complete" in caplog.messages
    assert "failing: error ValueError('bad')" in caplog.messages


def test_log_takes_the_name_of_the_flow_or_the_line(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "penstock.flow"), ThreadPool(1) as threads:
        Flow.empty().named("orders", topic="eu").log().count().run_sync()
        Flow.empty().named("hopped").publish_on(threads).log().count().run_sync()
        Flow.empty().log().count().run_sync()
    names = {message.rpartition(": ")[0] for message in caplog.messages}
    assert {"orders (topic='eu')", "hopped"} < names
    (line,) = names - {"orders (topic='eu')", "hopped"}
    assert "test_inspecting.py:" in line


def test_a_log_that_nobody_reads_does_not_read_elements() -> None:
    class Unprintable:
        def __repr__(self) -> str:
            raise AssertionError("somebody read it")

    logging.getLogger("penstock.flow").setLevel(logging.WARNING)
    try:
        assert Flow.of(Unprintable()).log().count().run_sync() == 1
    finally:
        logging.getLogger("penstock.flow").setLevel(logging.NOTSET)


# Errors with nowhere to go.


class Raising(ManualSubscriber[int]):
    def on_next(self, element: int) -> None:
        raise LookupError("in on_next")


def test_an_error_with_nowhere_to_go_names_the_rule_and_the_flow() -> None:
    with collect_undelivered() as lost:
        Flow.of(1).named("orders", topic="eu").map(X + 1).subscribe(Raising(request=1))
    (what,) = [each.what for each in lost]
    assert what.startswith("on_next of a subscriber raised (rule 2.13: ")
    assert what.endswith(", in the flow orders (topic='eu')")


def test_the_name_is_also_known_on_another_thread() -> None:
    with collect_undelivered() as lost, ThreadPool(1) as threads:
        Flow.of(1).named("orders").publish_on(threads).subscribe(Raising(request=1))
    assert lost[0].what.endswith(", in the flow orders")


def test_a_flow_without_a_name_says_the_rule_only() -> None:
    with collect_undelivered() as lost:
        Flow.of(1).subscribe(Raising(request=1))
    assert "rule 2.13" in lost[0].what
    assert "in the flow" not in lost[0].what


# The kit, and bad input.


class Silent:
    """Hears elements and requests, and keeps nothing."""

    def on_request(self, n: int) -> None: ...

    def on_next(self, element: object) -> None: ...


def peeked(source: Any) -> Flow[Any]:
    flow = Flow.from_publisher(source).do_on_next(repr).do_on_error(repr).do_finally(repr)
    return (
        flow.do_on_discard(repr).tap(Silent()).log(level=1).named("peeked").annotate_errors("end")
    )


@pytest.mark.full
def test_all_peeks_obey_all_rules() -> None:
    verify_operator(peeked, keeps_context=True).raise_if_failed()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda flow: flow.do_on_next(3), "do_on_next needs a function, not 3"),
        (lambda flow: flow.do_on_error(None), "do_on_error needs a function, not None"),
        (lambda flow: flow.do_finally("x"), "do_finally needs a function, not 'x'"),
        (lambda flow: flow.do_on_discard(3), "do_on_discard needs a function, not 3"),
        (lambda flow: flow.do_on_discard(repr, only=3), "do_on_discard: only must be a class"),
        (lambda flow: flow.tap(3), "tap needs an object with any of on_subscribe, on_request"),
        (lambda flow: flow.tap(Listener), "tap needs an object with any of"),
        (lambda flow: flow.log(3), "log: name must be a str, not 3"),
        (
            lambda flow: flow.log(level="INFO"),
            r"log: level \(such as logging.INFO\) must be an int of at least 0",
        ),
        (lambda flow: flow.named(3), "named: name must be a str, not 3"),
        (lambda flow: flow.annotate_errors(None), "annotate_errors: text must be a str, not None"),
    ],
)
def test_bad_input_is_refused_at_assembly(make: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        make(Flow.of(1))


@pytest.mark.parametrize(
    "make",
    [lambda f: f.named(" "), lambda f: f.annotate_errors("")],
    ids=["named", "annotate_errors"],
)
def test_a_name_says_something(make: Any) -> None:
    with pytest.raises(ValueError, match="must not be empty"):
        make(Flow.of(1))


def test_a_coroutine_function_is_refused() -> None:
    async def later(x: int) -> int:
        return x

    with pytest.raises(TypeError, match="use map_async"):
        Flow.of(1).do_on_next(later)


def test_do_on_discard_of_many_inner_flows_costs_the_same_for_each() -> None:
    class Counting:
        compared = 0

        def __call__(self, element: object) -> None:
            pass

        def __eq__(self, other: object) -> bool:
            Counting.compared += 1
            return self is other

        def __hash__(self) -> int:
            return id(self)

    flow = Flow.range(1_000).flat_map(lambda x: Flow.of(x).do_on_discard(Counting()))
    assert flow.count().run_sync() == 1_000
    assert Counting.compared < 1_000


def test_do_on_discard_takes_a_function_that_has_no_hash() -> None:
    class Unhashable(list[Any]):
        def __call__(self, element: object) -> None:
            self.append(element)

    lost = Unhashable()
    source: ManualPublisher[int] = ManualPublisher()
    subscriber = subscribed(Flow.from_publisher(source).buffer(9).do_on_discard(lost), request=1)
    source.next(1)
    subscriber.cancel()
    assert lost == [1]
