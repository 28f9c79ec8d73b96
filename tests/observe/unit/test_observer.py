from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from penstock.api import UNBOUNDED
from penstock.observe import EdgeStatus, Observer, StageStatus, Status
from penstock.observe import observer as module
from penstock.observe.status import State, Units
from penstock.runtime import VirtualTime, collect_undelivered
from penstock.tck import Environment
from tests.tck.explorer.holding import assert_holds

EDGE = EdgeStatus("clock", "printer", requested=0, delivered=0)


class Gauges:
    """A source and a sink, whose gauges the test sets."""

    def __init__(self) -> None:
        self.time = VirtualTime()
        self.passed = 0
        self.edge = EDGE
        self.latencies: tuple[float, ...] = ()
        self.broken = False
        self.reads = 0

    def observer(self) -> Observer:
        return Observer("clocks", self.read, clock=self.time)

    def read(self) -> Status:
        self.reads += 1
        if self.broken:
            raise OSError("the gauge is broken")
        return Status(
            "running",
            (
                StageStatus("clock", "source", self.passed),
                StageStatus("printer", "sink", self.passed // 2),
            ),
            (replace(self.edge, delivered=self.passed),),
            latencies=self.latencies,
        )


@pytest.fixture
def gauges() -> Gauges:
    return Gauges()


@pytest.fixture
def observer(gauges: Gauges) -> Iterator[Observer]:
    observer = gauges.observer()
    yield observer
    observer.close()


def pass_time(gauges: Gauges, observer: Observer, looks: int, each: int = 0) -> Status:
    for _ in range(looks):
        gauges.passed += each
        gauges.time.advance(0.25)
        observer.sample()
    return observer.status


def test_there_is_a_view_before_anybody_has_looked(observer: Observer) -> None:
    assert observer.status.pipeline == "clocks"
    assert observer.status.sentence == "Nothing has moved yet."
    assert observer.status.seconds == 0
    assert len(observer.points) == 1


def test_an_observer_looks_four_times_a_second_once_it_is_started(
    gauges: Gauges, observer: Observer
) -> None:
    observer.start()
    gauges.time.advance(1)
    assert gauges.reads == 1 + 4
    assert observer.status.seconds == 1


def test_a_closed_observer_has_looked_a_last_time_and_looks_no_more(
    gauges: Gauges, observer: Observer
) -> None:
    observer.start()
    gauges.passed = 8
    observer.close()
    observer.close()
    gauges.time.advance(10)
    assert gauges.reads == 2
    assert observer.status.stages[0].passed == 8


def test_rates_are_those_of_the_last_five_seconds(gauges: Gauges, observer: Observer) -> None:
    status = pass_time(gauges, observer, looks=40, each=10)
    assert [each.rate for each in status.stages] == [40, 20]
    assert status.edges[0].rate == 40
    assert (status.point.rate_in, status.point.rate_out) == (40, 20)
    status = pass_time(gauges, observer, looks=20)
    assert [each.rate for each in status.stages] == [0, 0]


def test_what_spark_had_done_before_a_restart_makes_no_rate() -> None:
    time = VirtualTime()
    states: Iterator[tuple[State, int]] = iter(
        [("starting", 0), ("starting", 0), ("running", 5_000), ("running", 5_010)]
    )

    def read() -> Status:
        state, passed = next(states)
        return Status(state, (StageStatus("spark", "spark", passed),), ())

    observer = Observer("clocks", read, clock=time)
    rates = [observer.status.stages[0].rate]
    for _ in range(3):
        time.advance(0.25)
        observer.sample()
        rates.append(observer.status.stages[0].rate)
    assert rates == [0, 0, 0, 40]


def test_a_share_is_the_part_of_the_looks_at_which_somebody_waited(
    gauges: Gauges, observer: Observer
) -> None:
    pass_time(gauges, observer, looks=15, each=1)
    gauges.edge = replace(EDGE, held_up=True, idle=True)
    status = pass_time(gauges, observer, looks=5, each=1)
    assert (status.edges[0].held_up_share, status.edges[0].idle_share) == (0.25, 0.25)


def test_demand_is_what_was_asked_for_and_has_not_come(gauges: Gauges, observer: Observer) -> None:
    gauges.edge = replace(EDGE, requested=10, in_flight=3)
    status = pass_time(gauges, observer, looks=1, each=4)
    assert (status.point.demand, status.point.in_flight) == (6, 3)


def test_demand_without_a_bound_does_not_count_and_is_null_in_json(
    gauges: Gauges, observer: Observer
) -> None:
    gauges.edge = replace(EDGE, requested=UNBOUNDED)
    status = pass_time(gauges, observer, looks=1, each=4)
    assert status.point.demand == 0
    assert status.as_json()["edges"][0]["requested"] is None


def test_json_has_stages_and_edges_on_one_level(gauges: Gauges, observer: Observer) -> None:
    gauges.edge = replace(EDGE, requested=10, held_up=True)
    pass_time(gauges, observer, looks=20, each=1)
    data = observer.status.as_json()
    assert data["stages"][0]["name"] == "clock"
    assert data["stages"][0]["rate"] == 4
    assert data["edges"][0]["giver"] == "clock"
    assert data["edges"][0]["held_up"] is True
    assert data["edges"][0]["held_up_share"] == 1


def test_latencies_have_their_median_and_what_one_of_a_hundred_exceeds(
    gauges: Gauges, observer: Observer
) -> None:
    assert (observer.status.point.p50, observer.status.point.p99) == (None, None)
    gauges.latencies = (0.5,)
    assert observer.sample().point.p99 == 0.5
    gauges.latencies = tuple(float(n) for n in range(1001))
    point = observer.sample().point
    assert point.p50 == pytest.approx(500.5)
    assert point.p99 == pytest.approx(990.01)


def test_history_holds_five_minutes(gauges: Gauges, observer: Observer) -> None:
    pass_time(gauges, observer, looks=1500)
    assert len(observer.points) == 300 * 4


def test_a_listener_is_told_each_view_until_it_leaves(observer: Observer) -> None:
    told: list[Status] = []
    leave = observer.listen(told.append)
    first, second = observer.sample(), observer.sample()
    leave()
    leave()
    observer.sample()
    assert told == [first, second]


def test_nobody_is_told_anything_once_the_observer_is_closed() -> None:
    def close_during_a_look(env: Environment) -> None:
        gauges = Gauges()
        observer = gauges.observer()
        switch, closed = env.lock(), env.event()

        def listener(status: Status) -> None:
            with switch:
                pass  # the other thread may get in between
            told.append((status, closed.is_set()))

        def close() -> None:
            observer.close()
            closed.set()

        told: list[tuple[Status, bool]] = []
        observer.listen(listener)
        observer.start()
        env.par(lambda: gauges.time.advance(0.25), close)
        assert told[-1] == (observer.status, False)

    assert_holds(close_during_a_look, [module])


def test_a_listener_may_close_the_observer(gauges: Gauges, observer: Observer) -> None:
    observer.listen(lambda _: observer.close())
    observer.start()
    gauges.time.advance(10)
    assert gauges.reads == 1 + 2


def test_a_listener_that_fails_is_reported_and_the_others_are_told(observer: Observer) -> None:
    told: list[Status] = []
    observer.listen(lambda _: 1 // 0)
    observer.listen(told.append)
    with collect_undelivered() as reports:
        status = observer.sample()
    assert told == [status]
    assert [each.what for each in reports] == ["a listener to the status of clocks failed"]


def test_a_gauge_that_fails_is_reported_and_read_again(gauges: Gauges, observer: Observer) -> None:
    observer.start()
    gauges.broken = True
    with collect_undelivered() as reports:
        gauges.time.advance(0.25)
    gauges.broken = False
    gauges.time.advance(0.25)
    assert len(reports) == 1
    assert "reading the status of clocks failed" in str(reports[0])
    assert gauges.reads == 3


BATCHED = Status(
    "running",
    (
        StageStatus("files", "source", 3, unit="batches"),
        StageStatus("journal", "journal", 200, unit="rows"),
        StageStatus("spark", "spark", 200, unit="rows"),
        StageStatus("table", "sink", 1, unit="batches"),
    ),
    (
        EdgeStatus("files", "journal", 8, 3, unit="batches"),
        EdgeStatus("journal", "spark", 1_200, 200, in_flight=100, unit="rows"),
        EdgeStatus("spark", "table", 16, 1, in_flight=1, unit="batches"),
    ),
)


def test_a_sum_is_never_one_of_rows_and_batches() -> None:
    status = Observer("batches", lambda: BATCHED, clock=VirtualTime()).status
    assert status.units == Units(taken="batches", given="batches", between="rows")
    assert (status.point.demand, status.point.in_flight) == (1_000, 100)


def test_sources_of_batches_and_of_rows_together_give_elements() -> None:
    both = (StageStatus("lines", "source", 7), *BATCHED.stages)
    status = Observer("both", lambda: replace(BATCHED, stages=both), clock=VirtualTime()).status
    assert status.units.taken == "elements"


def test_without_batches_nobody_needs_units(observer: Observer) -> None:
    assert not observer.status.units
