"""The recorder before the kit, and under all schedules of its threads."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyarrow import fs

import penstock.core
import penstock.spark.ingest.journal_subscriber
from penstock.runtime import ThreadPool
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.journal import JournalReader
from penstock.tck import Environment, verify_subscriber
from tests.flow.explored.parties import ThreadForEachTask, Upstream
from tests.spark.journals import Numbers, all_rows, numbered, open_journal
from tests.tck.explorer.holding import BRIEFLY, Scenario, assert_holds

POISON = "no number"
THREE_ROWS = numbered(1, 4)


class Recording(JournalSubscriber):
    """Shows what came of it."""

    def __init__(self, place: Path, pool: ThreadPool) -> None:
        self.place = place
        self.failures: list[Exception] = []
        super().__init__(
            open_journal(place), Numbers(), on_failure=self.failures.append, executor=pool
        )


@pytest.fixture
def factory(tmp_path: Path) -> Iterator[Callable[[], Recording]]:
    """Makes recorders, each with a journal of its own on the disk."""
    numbers = itertools.count()
    with ThreadPool(2) as pool:
        yield lambda: Recording(tmp_path / str(next(numbers)), pool)


def test_a_recorder_keeps_the_rules(factory: Callable[[], Recording]) -> None:
    report = verify_subscriber(
        factory,
        poison=lambda: POISON,
        received=lambda recorder: all_rows(recorder.place),
        in_order=True,
        completed=lambda recorder: JournalReader(recorder.place).sealed(),
        failed=lambda recorder: recorder.failures,
        only_hands_over=True,
        calls_nothing_cancelled=True,
    )
    assert report.passed, str(report)


def test_a_recorder_that_stops_at_a_misfit_keeps_the_rules(
    factory: Callable[[], Recording],
) -> None:
    report = verify_subscriber(
        factory,
        rules=["2.6", "2.8", "2.9", "2.10", "3.6", "3.7"],
        element=lambda number: POISON if number == 2 else number,
        stops_after=3,
        calls_nothing_cancelled=True,
    )
    assert report.passed, str(report)


class Watched:
    """A recorder whose threads belong to the explorer, with a journal in memory."""

    def __init__(self, env: Environment, **bounds: int) -> None:
        self.place = fs._MockFileSystem()
        self.failures: list[Exception] = []
        self.upstream = Upstream(env)
        self.journal = open_journal(self.place, **bounds)
        self.recorder = JournalSubscriber(
            self.journal,
            Numbers(),
            on_failure=self.failures.append,
            executor=ThreadForEachTask(env),
            new_lock=env.lock,
        )
        self.recorder.on_subscribe(self.upstream)
        env.settle()

    @property
    def rows(self) -> list[int]:
        return all_rows(self.place)

    def send(self, count: int) -> None:
        for _ in range(count):
            self.upstream.send_one_to(self.recorder)

    def send_and_complete(self, count: int) -> None:
        self.send(count)
        self.recorder.on_complete()


def elements_against_a_commit(env: Environment) -> None:
    watched = Watched(env, max_rows=3)
    watched.send(1)
    env.settle()
    env.par(lambda: watched.send(2), lambda: watched.recorder.committed(1))
    env.settle()
    assert watched.rows == [1, 2]
    assert watched.upstream.requested == 4


def elements_and_the_end_against_a_commit(env: Environment) -> None:
    watched = Watched(env, max_rows=3)
    watched.send(1)
    env.settle()
    env.par(lambda: watched.send_and_complete(1), lambda: watched.recorder.committed(1))
    env.settle()
    assert JournalReader(watched.place).bounds() == (1, 2, True)
    assert watched.upstream.cancels == 0


def elements_against_a_stop(env: Environment) -> None:
    watched = Watched(env, max_rows=3)
    env.par(lambda: watched.send(2), watched.recorder.stop)
    env.settle()
    assert watched.upstream.cancels == 1
    assert watched.rows == list(range(len(watched.rows)))
    assert watched.failures == []


def elements_against_a_drain(env: Environment) -> None:
    watched = Watched(env, max_rows=3)
    env.par(lambda: watched.send(3), watched.recorder.drain)
    env.settle()
    assert watched.upstream.cancels == 1
    assert watched.recorder.is_over
    watched.recorder.stop()
    env.settle()
    assert watched.rows == [0, 1, 2]  # also those that came after the cancel
    assert watched.recorder.unrecorded == 0


def a_drain_against_a_commit(env: Environment) -> None:
    watched = Watched(env, max_rows=2)
    watched.send(1)
    watched.recorder.on_next(THREE_ROWS)
    env.settle()
    env.par(watched.recorder.drain, lambda: watched.recorder.committed(2))
    env.settle()
    assert watched.rows == [2, 3]
    assert watched.recorder.is_over


def a_late_element_against_a_stop(env: Environment) -> None:
    watched = Watched(env, max_rows=3)
    watched.recorder.drain()
    env.settle()
    env.par(lambda: watched.send(1), watched.recorder.stop)
    env.settle()
    assert len(watched.rows) + watched.recorder.unrecorded == 1


def a_late_element_against_a_caller_who_asks_whether_it_is_over(env: Environment) -> None:
    watched = Watched(env, max_rows=3)
    watched.recorder.drain()
    env.settle()
    came, seen = [], []

    def send() -> None:
        watched.send(1)
        came.append(1)

    def ask() -> None:
        seen.append((len(came), watched.recorder.is_over, watched.journal.end))

    env.par(send, ask)
    env.settle()
    ((had_come, is_over, end),) = seen
    assert end >= had_come or not is_over


def an_error_against_a_stop(env: Environment) -> None:
    watched = Watched(env)

    def send_and_fail() -> None:
        watched.send(1)
        watched.recorder.on_error(LookupError())

    env.par(send_and_fail, watched.recorder.stop)
    env.settle()
    assert len(watched.failures) <= 1
    assert watched.rows in ([], [0])


def a_misfit_against_a_commit(env: Environment) -> None:
    watched = Watched(env, max_rows=4)
    watched.send(1)
    env.settle()

    def send_a_misfit() -> None:
        watched.send(1)
        watched.recorder.on_next(POISON)
        watched.recorder.on_next(3)

    env.par(send_a_misfit, lambda: watched.recorder.committed(1))
    env.settle()
    assert watched.rows == [1]
    assert [type(each) for each in watched.failures] == [ValueError]
    assert watched.upstream.cancels == 1


SUBJECT = [penstock.core, penstock.spark.ingest.journal_subscriber]
SCENARIOS: list[Scenario] = [
    elements_against_a_commit,
    elements_and_the_end_against_a_commit,
    elements_against_a_stop,
    elements_against_a_drain,
    a_drain_against_a_commit,
    a_late_element_against_a_stop,
    a_late_element_against_a_caller_who_asks_whether_it_is_over,
    an_error_against_a_stop,
    a_misfit_against_a_commit,
]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_one_preemption(scenario: Scenario) -> None:
    assert_holds(scenario, SUBJECT, bound=1, seeds=(), budget=BRIEFLY)


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_it_holds_under_schedules_with_two_preemptions(scenario: Scenario) -> None:
    assert_holds(scenario, SUBJECT, budget=60)
