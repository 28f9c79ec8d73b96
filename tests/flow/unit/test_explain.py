"""What a flow says of its plan and of its runs."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import (
    UNBOUNDED,
    Broadcast,
    CallingThread,
    Flow,
    IterablePublisher,
    ThreadPool,
    VirtualTime,
    X,
)
from penstock.flow.explain.explanation import ExplainedEdge, ExplainedRun, ExplainedSegment
from penstock.runtime import Task
from penstock.testing import ManualPublisher, ManualSubscriber

PATIENCE = 60


class Watch:
    """The time that runs see, which stands still unless a test moves it."""

    def __init__(self) -> None:
        self.time = 100.0

    def __call__(self) -> float:
        return self.time


@pytest.fixture(autouse=True)
def watch(monkeypatch: pytest.MonkeyPatch) -> Watch:
    watch = Watch()
    for place in (
        "engine.subscription",
        "engine.blocking",
        "engine.awaiting",
        "explain.explain",
    ):
        monkeypatch.setattr(f"penstock.flow.{place}.monotonic", watch)
    return watch


class Later:
    """An executor that runs tasks when a test says so."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def execute(self, task: Task) -> None:
        self.tasks.append(task)

    def run(self) -> None:
        while self.tasks:
            self.tasks.pop(0)()


def subscribed(flow: Flow[Any], request: int = 0) -> ManualSubscriber[Any]:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=request)
    flow.subscribe(subscriber)
    return subscriber


def foreign(count: int) -> Flow[int]:
    """A flow that is not fused with what follows."""
    return Flow.from_publisher(IterablePublisher(range(count)))


def silent() -> Flow[int]:
    """A flow whose publisher sends nothing."""
    source: ManualPublisher[int] = ManualPublisher()
    return Flow.from_publisher(source)


def only_run(flow: Flow[Any]) -> ExplainedRun:
    (run,) = flow.explain().runs
    return run


# The plan.


def test_the_plan_says_which_operators_run_together() -> None:
    flow = Flow.range(9).map(X + 1).filter(X > 2).flat_map(Flow.of).map(X + 1)
    assert flow.explain().segments == (
        ExplainedSegment(("range",)),
        ExplainedSegment(("map", "filter")),
        ExplainedSegment(("flat_map",)),
        ExplainedSegment(("map",)),
    )


def test_the_plan_goes_on_upstream_of_a_boundary() -> None:
    flow = Flow.range(9).map(X + 1).publish_on(VirtualTime()).filter(X > 2).named("numbers")
    assert str(flow.explain()) == (
        "the flow numbers: range | map | publish_on on VirtualTime | filter\nnobody runs it now"
    )


def test_names_and_annotations_are_no_stages_of_the_plan() -> None:
    flow = (
        Flow.range(9).named("numbers").annotate_errors("here").map(X + 1).annotate_errors("there")
    )
    assert flow.explain().segments == (ExplainedSegment(("range",)), ExplainedSegment(("map",)))


# Runs.


def test_a_run_is_known_from_its_subscription_to_its_end() -> None:
    flow = Flow.range(2)
    assert flow.explain().runs == ()
    subscriber = subscribed(flow)
    assert len(flow.explain().runs) == 1
    subscriber.request(2)
    assert flow.explain().runs == ()


def test_a_run_that_was_cancelled_or_failed_is_not_known_any_more() -> None:
    cancelled, failed = Flow.range(2), Flow.error(ValueError())
    subscriber = subscribed(cancelled)
    subscriber.cancel()
    subscribed(failed)
    assert cancelled.explain().runs == failed.explain().runs == ()


def test_several_runs_of_one_flow_are_told_apart() -> None:
    flow = Flow.range(9)
    subscribers = [subscribed(flow, request) for request in (1, 3)]
    delivered = sorted(run.edges[0].delivered or 0 for run in flow.explain().runs)
    assert delivered == [1, 3]
    assert len(subscribers) == 2


def test_a_run_that_nobody_refers_to_is_not_kept_alive_by_its_flow() -> None:
    flow = Flow.range(9)
    subscriber = subscribed(flow, request=1)
    run = weakref.ref(subscriber.subscription)
    del subscriber
    gc.collect()
    assert run() is None
    assert flow.explain().runs == ()


# Edges.


def test_an_edge_counts_what_was_requested_and_delivered(watch: Watch) -> None:
    flow = Flow.range(9).map(X + 1)
    subscriber = subscribed(flow, request=2)
    subscriber.request(1)
    watch.time += 3.5
    assert only_run(flow).edges == (
        ExplainedEdge("map", "your subscriber", requested=3, delivered=3, waiting=3.5),
    )


def test_the_count_of_a_loop_is_seen_while_it_runs() -> None:
    seen: list[ExplainedRun] = []

    def inspect_runs(x: int) -> int:
        seen.append(only_run(flow))
        return x

    flow = Flow.range(5).map(inspect_runs)
    subscribed(flow, request=3)
    assert [run.edges[0].delivered for run in seen] == [0, 1, 2]
    assert seen[-1].sentence.startswith("`map` waits for the function of `map` to return")


def test_an_edge_at_a_boundary_counts_what_is_buffered() -> None:
    later = Later()
    flow = foreign(100).map(X + 1).publish_on(later, prefetch=8).map(X + 1)
    subscriber = subscribed(flow)
    later.run()
    subscriber.request(3)
    later.run()
    edges = only_run(flow).edges
    assert [(edge.giver, edge.taker) for edge in edges] == [
        ("map", "your subscriber"),
        ("map", "publish_on"),
        ("its publisher", "from_publisher"),
    ]
    assert (edges[0].requested, edges[0].delivered) == (3, 3)
    assert edges[1].delivered == edges[1].buffered + 3 == edges[2].delivered
    assert edges[1].capacity == 8


def test_an_edge_to_a_foreign_publisher_counts_what_was_asked_and_came() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source)
    subscriber = subscribed(flow, request=5)
    source.next(1, 2)
    edge = only_run(flow).edges[1]
    assert (edge.giver, edge.taker) == ("its publisher", "from_publisher")
    assert (edge.requested, edge.delivered, edge.buffered) == (5, 2, 0)
    subscriber.cancel()


def test_what_several_groups_have_in_common_is_said_once() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).group_by(lambda x: x).flat_map(lambda group: group)
    subscriber = subscribed(flow, request=5)
    source.next(1, 2, 3)
    givers = [edge.giver for edge in only_run(flow).edges]
    assert givers.count("its publisher") == 1
    subscriber.cancel()


def test_groups_that_have_no_room_for_a_key_wait_for_their_readers() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    groups = ManualSubscriber[Flow[int]](request=UNBOUNDED)
    flow = Flow.from_publisher(source).group_by(lambda x: x, max_groups=1)
    flow.subscribe(groups)
    source.next(1)
    reader = subscribed(groups.elements[0], request=0)
    source.next(2)
    assert "`group_by` waits for demand from those who read its flows" in str(flow.explain())
    reader.cancel()
    groups.cancel()


def test_unbounded_demand_is_called_all() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source)
    subscriber = subscribed(flow, request=UNBOUNDED)
    source.next(1)
    edge = only_run(flow).edges[0]
    assert str(edge) == (
        "from_publisher -> your subscriber: requested all, delivered 1, waiting for 0.0 s"
    )
    subscriber.cancel()


@pytest.mark.parametrize(
    "source", [Flow.range(9), Flow.of(*range(9)), Flow.from_iterable([*"abc"])]
)
def test_the_position_in_a_source_with_a_length_says_what_was_delivered(source: Flow[Any]) -> None:
    seen: list[int | None] = []

    def inspect_runs(x: object) -> None:
        seen.append(only_run(flow).edges[0].delivered)

    flow = source.named("source").map(lambda x: x).do_on_next(lambda x: None)
    flow.subscribe(TellingSubscriber(inspect_runs))
    assert seen == list(range(1, len(seen) + 1))


class TellingSubscriber(ManualSubscriber[Any]):
    """Asks for all, and calls a function for each element."""

    def __init__(self, function: Callable[[Any], object]) -> None:
        super().__init__(request=UNBOUNDED)
        self._function = function

    def on_next(self, element: Any) -> None:
        self._function(element)


@pytest.mark.parametrize(
    "flow",
    [
        Flow.range(9).filter(X > 2),
        Flow.from_iterable(iter(range(9))),
        Flow.range(9).flat_map_iterable(lambda x: [x, x]),
        Flow.range(9).filter(X > 2).publish_on(CallingThread(), prefetch=1),
    ],
)
def test_what_nothing_counts_is_said_not_to_be_counted(flow: Flow[int]) -> None:
    seen: list[str] = []
    flow.subscribe(TellingSubscriber(lambda x: seen.append(str(only_run(flow).edges[0]))))
    assert "requested all, delivered not counted" in seen[-1]


def test_what_a_flow_upstream_gave_is_known_also_when_it_is_done() -> None:
    later = Later()
    flow = Flow.range(3).subscribe_on(later).publish_on(later).map(X + 1)
    subscriber = subscribed(flow, request=1)
    later.run()
    edge = only_run(flow).edges[1]
    assert (edge.giver, edge.taker) == ("its source", "publish_on")
    assert edge.delivered == 3
    subscriber.cancel()


# A boundary downstream of a flow that never waits.


def test_the_edge_of_a_boundary_downstream_of_a_loop_counts_what_was_made_in_advance(
    watch: Watch,
) -> None:
    later = Later()
    flow = Flow.range(9).map(X + 1).publish_on(later, prefetch=4).filter(X > 0)
    subscriber = subscribed(flow)
    later.run()
    subscriber.request(1)
    later.run()
    watch.time += 2
    edges = only_run(flow).edges
    assert edges == (
        ExplainedEdge("filter", "your subscriber", requested=1, delivered=1, waiting=2),
        ExplainedEdge(
            "map", "publish_on", requested=4, delivered=4, buffered=3, capacity=4, waiting=2,
            handed_over=True,
        ),
    )  # fmt: skip
    assert str(edges[1]).endswith(
        "delivered 4, buffered 3 of 4, waiting for 2.0 s, the rest is made where it is taken"
    )
    assert sentence(flow) == (
        "`map` waits for `publish_on`, which waits for demand from your subscriber, for 2.0 s"
    )
    subscriber.cancel()
    later.run()


def test_a_boundary_is_shown_before_its_executor_has_run() -> None:
    later = Later()
    flow = Flow.range(9).publish_on(later, prefetch=4)
    subscriber = subscribed(flow)
    assert [(edge.giver, edge.buffered) for edge in only_run(flow).edges] == [
        ("publish_on", 0),
        ("range", 4),
    ]
    later.run()
    subscriber.cancel()


def test_a_boundary_waits_for_the_thread_that_makes_its_first_elements() -> None:
    later = Later()
    found: list[ExplainedRun] = []

    def slow(x: int) -> int:
        later.run()
        found.append(only_run(flow))
        return x

    flow = Flow.range(2).map(slow).publish_on(later)
    subscriber = subscribed(flow, request=2)
    later.run()
    assert found[0].edges[1].handed_over is False
    assert found[0].edges[1].delivered == 0
    assert found[1].edges[1].delivered == 1
    line = slow.__code__.co_firstlineno + 2
    assert found[0].sentence == (
        "`publish_on` waits for the function of `map` to return, "
        f"which is at {__file__}:{line}, in slow, for 0.0 s"
    )
    subscriber.cancel()


def test_a_boundary_downstream_of_a_loop_counts_for_a_subscriber_that_asks_for_all() -> None:
    later, seen = Later(), list[int | None]()
    flow = Flow.range(6).map(X + 1).publish_on(later, prefetch=2).map(X + 1)
    flow.subscribe(TellingSubscriber(lambda x: seen.append(only_run(flow).edges[0].delivered)))
    later.run()
    assert seen == [1, 2, 3, 4, 5, 6]


# Shared runs.


def test_the_subscribers_of_a_shared_flow_have_one_run() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).map(X + 1).share()
    assert [str(part) for part in flow.explain().segments] == ["from_publisher", "map", "share"]
    subscribers = [subscribed(flow, request) for request in (1, 3)]
    source.next(1, 2)
    assert [str(edge) for edge in only_run(flow).edges] == [
        "share -> your subscriber: requested 1, delivered 1, buffered 1 of 256",
        "share -> your subscriber: requested 3, delivered 2, buffered 0 of 256",
        "its publisher -> the shared run: requested 3, delivered 2, buffered 0 of 256",
    ]
    assert sentence(flow) == "the shared run waits for its publisher"
    for subscriber in subscribers:
        subscriber.cancel()
    assert flow.explain().runs == ()


def test_a_shared_run_that_was_not_started_says_so() -> None:
    flow = Flow.range(3).publish().auto_connect(2)
    first = subscribed(flow, request=1)
    assert sentence(flow) == (
        "the shared run waits to be started, by connect() or by more subscribers"
    )
    second = subscribed(flow, request=1)
    assert "started" not in sentence(flow)
    first.cancel()
    second.cancel()


def test_a_wake_up_that_leads_to_nothing_does_not_restart_the_time(watch: Watch) -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).filter(X > 10)
    subscriber = subscribed(flow, request=2)
    watch.time += 1
    source.next(1)
    watch.time += 1
    assert only_run(flow).seconds == 2
    source.next(11)
    watch.time += 1
    assert only_run(flow).seconds == 1
    subscriber.cancel()


# Who waits for whom.


def sentence(flow: Flow[Any]) -> str:
    return only_run(flow).sentence


def test_a_boundary_waits_for_demand_and_what_is_upstream_waits_for_it(watch: Watch) -> None:
    later = Later()
    flow = foreign(100).buffer(2).publish_on(later, prefetch=2).map(len)
    subscriber = subscribed(flow, request=1)
    later.run()
    watch.time += 3.2
    assert sentence(flow) == (
        "`buffer` waits for `publish_on`, which waits for demand from your subscriber, for 3.2 s"
    )
    subscriber.cancel()


def test_three_runs_in_a_row_are_one_sentence() -> None:
    later = Later()
    flow = foreign(100).map(X + 1).publish_on(later, prefetch=2).publish_on(later, prefetch=2)
    subscriber = subscribed(flow)
    later.run()
    assert sentence(flow) == (
        "`map` waits for `publish_on`, which waits for `publish_on`, "
        "which waits for demand from your subscriber, for 0.0 s"
    )
    subscriber.cancel()


def test_without_elements_the_sentence_ends_at_the_source() -> None:
    later = Later()
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).map(X + 1).publish_on(later).filter(X > 0)
    subscriber = subscribed(flow, request=1)
    later.run()
    assert sentence(flow) == (
        "`publish_on` waits for `from_publisher`, which waits for its publisher, for 0.0 s"
    )
    subscriber.cancel()


def test_an_executor_that_does_not_run_its_task_is_named() -> None:
    later = Later()
    flow = Flow.range(3).publish_on(later)
    subscriber = subscribed(flow)
    assert sentence(flow) == "`publish_on` waits for its executor"
    later.run()
    subscriber.cancel()
    later.run()


@pytest.mark.parametrize(
    ("flow", "expected"),
    [
        (Flow.never().map(abs), "`never` waits to be woken"),
        (Flow.interval(3, clock=VirtualTime()), "`interval` waits for its clock"),
        (Flow.range(3).delay(3, clock=VirtualTime()).map(abs), "`delay` waits for its clock"),
        (
            Flow.range(3).flat_map(lambda x: ManualPublisher()),
            "`flat_map` waits for its publisher",
        ),
        (
            Flow.range(3).flat_map(lambda x: silent().buffer(2).publish_on(CallingThread())),
            "`flat_map` waits for `publish_on`, which waits for `from_publisher`, which waits",
        ),
        (Flow.merge(ManualPublisher(), Flow.never()), "`merge` waits for its publisher"),
        (Flow.zip(ManualPublisher(), Flow.range(3)), "`zip` waits for its publisher"),
        (
            silent().retry(3).map(abs),
            "`retry` waits for its publisher",
        ),
        (
            silent().share().map(abs),
            "waits for the shared run, which waits for its publisher",
        ),
        (
            silent().group_by(lambda x: x),
            "`group_by` waits for its publisher",
        ),
        (
            silent().on_backpressure_buffer(3),
            "`on_backpressure_buffer` waits for `from_publisher`, which waits for its publisher",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "flow",
)
def test_the_one_who_waits_is_named(flow: Flow[Any], expected: str) -> None:
    subscriber = subscribed(flow, request=1)
    assert expected in sentence(flow)
    subscriber.cancel()


def test_a_broadcast_is_a_publisher_like_any_other() -> None:
    flow = Flow.from_publisher(Broadcast[int]())
    subscriber = subscribed(flow, request=1)
    assert sentence(flow) == "`from_publisher` waits for its publisher, for 0.0 s"
    subscriber.cancel()


def test_a_stage_that_holds_all_that_is_wanted_waits_for_its_clock_and_not_for_more() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).delay(3, clock=VirtualTime())
    subscriber = subscribed(flow, request=1)
    assert sentence(flow).startswith("`from_publisher` waits for its publisher")
    source.next(1)
    assert sentence(flow).startswith("`delay` waits for its clock")
    subscriber.cancel()


@pytest.mark.parametrize(
    "held",
    [
        lambda flow, clock: flow.delay(3, clock=clock),
        lambda flow, clock: flow.map(abs).delay(3, clock=clock),
        lambda flow, clock: flow.map(abs).debounce(3, clock=clock),
        lambda flow, clock: flow.map(abs).buffer(9, every=3, clock=clock),
        lambda flow, clock: flow.map(abs).delay(3, clock=clock).named("late"),
    ],
    ids=["delay", "map delay", "map debounce", "map buffer", "map delay named"],
)
def test_elements_that_are_held_wait_for_the_clock_also_if_more_are_wanted(
    held: Callable[[Flow[int], VirtualTime], Flow[Any]],
) -> None:
    source, clock = ManualPublisher[int](), VirtualTime()
    flow = held(Flow.from_publisher(source), clock)
    subscriber = subscribed(flow, request=5)
    assert sentence(flow).startswith("`from_publisher` waits for its publisher")
    source.next(1)
    assert "` waits for its clock" in sentence(flow)
    clock.advance(3)
    assert sentence(flow).startswith("`from_publisher` waits for its publisher")
    subscriber.cancel()


def test_what_limits_the_wait_for_a_publisher_is_not_what_is_waited_for() -> None:
    flow = silent().map(abs).timeout(3, clock=VirtualTime()).take_until(ManualPublisher())
    subscriber = subscribed(flow, request=1)
    assert sentence(flow).startswith("`from_publisher` waits for its publisher")
    subscriber.cancel()


def test_inputs_are_listed_in_their_order_however_deep_they_are() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    deep = Flow.from_publisher(source).map(abs).delay(1, clock=VirtualTime()).map(abs)
    flow = Flow.zip(deep, silent())
    subscriber = subscribed(flow, request=1)
    source.next(1)
    assert [edge.delivered for edge in only_run(flow).edges] == [0, 1, 0]
    subscriber.cancel()


def test_a_function_that_does_not_return_is_shown_with_its_line() -> None:
    entered, leave = threading.Event(), threading.Event()

    def stay() -> None:
        entered.set()
        assert leave.wait(PATIENCE)

    def stuck(x: int) -> int:
        stay()
        return x

    with ThreadPool(1) as threads:
        flow = Flow.range(3).subscribe_on(threads).map(X + 1).map(stuck)
        subscriber = subscribed(flow, request=1)
        assert entered.wait(PATIENCE)
        line = stuck.__code__.co_firstlineno + 1
        assert sentence(flow) == (
            "`map` waits for the function of `map` to return, "
            f"which is at {__file__}:{line}, in stuck"
        )
        leave.set()
        subscriber.cancel()


def test_a_subscriber_that_does_not_return_is_blamed() -> None:
    found: list[str] = []

    class Slow(ManualSubscriber[int]):
        def on_next(self, element: int) -> None:
            found.append(sentence(flow))

    flow = Flow.range(1).map(X + 1)
    flow.subscribe(Slow(request=5))
    assert found[0].startswith("`map` waits for on_next of your subscriber to return, which is at ")


@pytest.mark.parametrize("collects", [True, False])
def test_no_garbage_is_collected_while_the_interpreter_is_asked_what_its_threads_do(
    collects: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A collection might wait for a lock that the interpreter holds meanwhile."""
    asked: list[bool] = []

    def current_frames() -> dict[int, Any]:
        asked.append(gc.isenabled())
        return {}

    monkeypatch.setattr(sys, "_current_frames", current_frames)
    flow = Flow.range(1).do_on_next(lambda x: flow.explain())
    if not collects:
        gc.disable()
    try:
        subscribed(flow, request=1)
        assert gc.isenabled() is collects
    finally:
        gc.enable()
    assert asked
    assert not any(asked)


# Runs without a subscriber.


def test_run_sync_that_waits_can_be_looked_at_from_another_thread() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).map(X + 1)
    with ThreadPool(1) as threads:
        threads.execute(flow.run_sync)
        source.await_requested(1)
        wait_for(lambda: "waits for its publisher" in str(flow.explain()))
        assert sentence(flow) == "`from_publisher` waits for its publisher, for 0.0 s"
        source.complete()
    assert flow.explain().runs == ()


def wait_for(condition: Callable[[], bool]) -> None:
    """Let other threads go on until something holds."""
    pause = threading.Event()
    for _ in range(PATIENCE * 1_000):
        if condition():
            return
        pause.wait(0.001)
    raise AssertionError("it did not come to pass")


def test_a_loop_that_takes_its_time_is_waited_for() -> None:
    flow = Flow.range(3).map(X + 1)
    elements: Iterator[int] = iter(flow.blocking())
    next(elements)
    assert sentence(flow) == "`map` waits for demand from blocking()"
    del elements
    assert flow.explain().runs == ()


def test_a_task_that_awaits_can_be_looked_at() -> None:
    async def main() -> str:
        source: ManualPublisher[int] = ManualPublisher()
        flow = Flow.from_publisher(source).last()
        task = asyncio.ensure_future(waiting(flow))
        await asyncio.sleep(0)
        found = sentence(flow)
        source.complete()
        await task
        return found

    async def waiting(flow: Flow[int]) -> None:
        await flow

    assert asyncio.run(main()) == "`from_publisher` waits for its publisher, for 0.0 s"


def test_calls_that_are_awaited_are_counted() -> None:
    async def main() -> str:
        async def forever(x: int) -> int:
            await asyncio.Event().wait()
            return x

        flow = Flow.range(9).map_async(forever, concurrency=3)
        subscriber = subscribed(flow, request=1)
        await asyncio.sleep(0)
        found = sentence(flow)
        subscriber.cancel()
        await asyncio.sleep(0)
        return found

    assert asyncio.run(main()) == "`map_async` waits for 3 of its calls, for 0.0 s"


# Explaining changes nothing.


def test_a_run_that_was_looked_at_goes_on_and_is_freed() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    flow = Flow.from_publisher(source).buffer(2).flat_map_iterable(lambda batch: batch)
    subscriber = subscribed(flow, request=9)
    source.next(1)
    str(flow.explain())
    source.next(2, 3)
    str(flow.explain())
    source.complete()
    assert subscriber.elements == [1, 2, 3]
    assert subscriber.completed


def test_elements_are_not_kept_alive_by_having_been_looked_at() -> None:
    class Element:
        pass

    gc.collect()
    gc.disable()
    try:
        source: ManualPublisher[Element] = ManualPublisher()
        flow = Flow.from_publisher(source).buffer(2)
        subscriber = subscribed(flow, request=1)
        element = Element()
        gone = weakref.ref(element)
        source.next(element)
        str(flow.explain())
        subscriber.cancel()
        del element, source
        assert gone() is None
    finally:
        gc.enable()
