"""The subscriber that writes a journal, with its worker and its time in the hands of the test."""

from __future__ import annotations

import logging
import threading
from typing import Any

import pytest

from penstock import IterablePublisher, RuleViolation, collect_undelivered
from penstock.spark.ingest.conversion import Converter
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.ingest.schema import Schema
from penstock.spark.journal import Journal, JournalReader, JournalUnusable, NoSpace
from penstock.testing import ManualPublisher
from tests.spark.journals import SCHEMA, Numbers, numbered
from tests.spark.recordings import Run, new_run


@pytest.fixture
def run() -> Run:
    return new_run()


def test_elements_come_into_the_journal_in_order(run: Run) -> None:
    run.begin()
    run.send(0)
    run.send(1, 2, 3)
    assert run.rows == [0, 1, 2, 3]


def test_on_next_only_hands_over(run: Run) -> None:
    run.begin()
    run.publisher.next(0)
    assert run.journal.end == 0


def test_what_has_come_while_the_worker_was_busy_becomes_one_batch(run: Run) -> None:
    run.begin()
    run.send(*range(10))
    assert [batch.num_rows for batch in JournalReader(run.place).read(0, 10)] == [10]


def test_completion_seals_the_journal_after_the_last_element(run: Run) -> None:
    run.begin()
    run.publisher.next(0, 1)
    run.publisher.complete()
    run.time.settle()
    assert JournalReader(run.place).bounds() == (0, 2, True)
    assert run.completions == ["completed"]
    assert run.failures == []


def test_the_next_one_goes_on_where_completion_does_not_seal_the_journal(run: Run) -> None:
    recorder = run.begin(seals=False)
    run.publisher.next(0, 1)
    run.publisher.complete()
    assert not recorder.is_over
    run.time.settle()
    assert recorder.is_over
    assert JournalReader(run.place).bounds() == (0, 2, False)
    assert run.completions == ["completed"]  # once
    recorder.stop()
    run.publisher = ManualPublisher()
    after = run.begin(seals=False)
    run.send(2)
    assert not after.is_over
    run.publisher.complete()
    run.time.settle()
    assert (after.is_over, after.taken_before, after.taken) == (True, 2, 3)
    assert run.rows == [0, 1, 2]


def test_the_first_request_is_small_since_an_element_may_be_a_batch(run: Run) -> None:
    run.begin(prefetch=1000)
    assert run.publisher.requests == [16]
    run.send(0)
    assert run.publisher.outstanding == 1000


def test_no_more_is_asked_for_than_there_is_room_for() -> None:
    run = new_run(max_rows=10)
    recorder = run.begin()
    assert run.publisher.requested == 10
    run.send(*range(7))
    assert run.publisher.requested == 10
    run.send(*range(7, 10))
    assert run.publisher.outstanding == 0
    recorder.committed(4)
    run.time.settle()
    assert run.publisher.outstanding == 4
    run.send(*range(10, 14))
    assert run.rows == list(range(4, 14))


def test_rows_in_the_journal_and_elements_on_their_way_stay_within_the_bound() -> None:
    run = new_run(max_rows=50)
    recorder = run.begin(prefetch=20)
    sent = 0
    for round_number in range(60):
        count = min(1 + round_number * 7 % 20, run.publisher.outstanding)
        run.publisher.next(*range(sent, sent + count))
        sent += count
        for _ in range(round_number % 3):
            run.time.step()
        recorder.committed(max(0, run.journal.end - round_number % 40))
        held = run.journal.end - run.journal.start
        on_their_way = run.publisher.requested - recorder.taken
        assert held + on_their_way <= 50
        assert on_their_way <= 20
    assert sent > 200


def test_what_an_earlier_run_left_uses_up_room() -> None:
    run = new_run(max_rows=10)
    run.journal.append(numbered(0, 8), {"elements": 8, "position": None})
    run.begin()
    assert run.publisher.requested == 2


def test_a_full_journal_is_not_asked_for(run: Run) -> None:
    run = new_run(max_rows=8)
    run.journal.append(numbered(0, 8), {"elements": 8, "position": None})
    recorder = run.begin()
    assert run.publisher.requests == []
    recorder.committed(8)
    run.time.settle()
    assert run.publisher.requested == 8


def test_a_batch_as_an_element_is_kept_as_it_is(run: Run) -> None:
    run.begin()
    run.send(numbered(0, 1000), numbered(1000, 3000))
    assert run.rows == list(range(3000))


def test_of_large_batches_fewer_are_asked_for(run: Run) -> None:
    run.begin()
    run.send(numbered(0, 1 << 17))
    run.publisher.next(*[numbered(0, 1)] * 15)
    run.time.settle()
    assert run.publisher.outstanding == 2


def test_a_batch_above_the_bound_comes_into_the_journal_bit_by_bit() -> None:
    run = new_run(max_rows=10)
    recorder = run.begin()
    run.send(numbered(0, 25))
    assert run.rows == list(range(10))
    outstanding = run.publisher.outstanding
    recorder.committed(10)
    run.time.settle()
    assert run.rows == list(range(10, 20))
    recorder.committed(20)
    run.time.settle()
    assert run.rows == list(range(20, 25))
    assert run.publisher.outstanding <= outstanding


def test_rows_above_the_bound_in_bytes_wait_for_a_commit() -> None:
    run = new_run(max_bytes=8_000)
    recorder = run.begin()
    run.send(0)
    sent = 1
    while sent < 500:
        count = run.publisher.outstanding
        run.send(*range(sent, sent + count))
        sent += count
        assert run.journal.bytes_held <= 8_000
        if not run.publisher.outstanding:
            assert recorder.waits_for_room
            recorder.committed(run.journal.end)
            run.time.settle()
        assert run.failures == []
    assert recorder.taken == sent == run.journal.end


def test_the_journal_knows_how_many_elements_it_has_taken(run: Run) -> None:
    recorder = run.begin()
    run.send(numbered(0, 10), 10, 11)
    assert run.journal.last_source_position == {"elements": 3, "position": None}
    recorder.stop()
    again = run.begin()
    run.send(12)
    assert again.taken == 4
    assert run.journal.last_source_position == {"elements": 4, "position": None}


def test_the_journal_knows_the_position_of_the_last_element(run: Run) -> None:
    run.begin(position_of=lambda element: {"offset": element * 10})
    run.send(0, 1, 2)
    assert run.journal.last_source_position == {"elements": 3, "position": {"offset": 20}}


def test_a_part_of_a_batch_does_not_count_as_an_element() -> None:
    run = new_run(max_rows=10)
    run.begin(position_of=lambda element: element if isinstance(element, int) else "batch")
    run.send(0, 1, numbered(2, 22))
    assert run.journal.end == 10
    assert run.journal.last_source_position == {"elements": 2, "position": 1, "rows": 8}


def test_an_element_that_does_not_fit_ends_the_stream_after_those_before_it(run: Run) -> None:
    run.begin()
    run.send(0, 1, "two", 3)
    assert [str(failure) for failure in run.failures] == ["element 2 of the batch is no number"]
    assert run.publisher.cancelled
    assert run.rows == [0, 1]
    assert not run.journal.sealed


def test_an_element_that_does_not_fit_can_be_put_aside(run: Run) -> None:
    recorder = run.begin(on_dead_letter=run.dead_letters.append)
    run.send("a", 0, "b", 1, "c")
    assert [dead_letter.position for dead_letter in run.dead_letters] == [0, 2, 4]
    assert run.rows == [0, 1]
    assert recorder.taken == 5
    assert run.failures == []


def test_what_earlier_ones_have_taken_is_known_and_only_its_own_misfits_are_counted() -> None:
    before = new_run()
    before.begin(on_dead_letter=before.dead_letters.append)
    before.send(0, "one", 2)
    run = Run(before.place, before.journal)
    recorder = run.begin(on_dead_letter=run.dead_letters.append)
    assert (recorder.taken_before, recorder.rows_before, recorder.dead_letters.count) == (3, 2, 0)
    run.send("three", 4)
    assert (recorder.taken_before, recorder.rows_before, recorder.taken) == (3, 2, 5)
    assert recorder.dead_letters.count == 1
    assert [seen.thing for seen in recorder.dead_letters.last] == [str(run.dead_letters[0].error())]


def test_elements_that_are_all_put_aside_make_room_for_others(run: Run) -> None:
    run = new_run(max_rows=4)
    run.begin(on_dead_letter=run.dead_letters.append)
    for _ in range(5):
        run.send("a", "b")
    run.send(0)
    assert run.rows == [0]


def test_a_handler_of_misfits_that_raises_ends_the_stream(run: Run) -> None:
    def refuse(dead_letter: Any) -> None:
        raise LookupError("no place for it")

    run.begin(on_dead_letter=refuse)
    run.send("a")
    assert [type(failure) for failure in run.failures] == [LookupError]
    assert run.publisher.cancelled


def test_a_misfit_before_the_completion_leaves_the_journal_open(run: Run) -> None:
    run.begin()
    run.publisher.next(0, "one")
    run.publisher.complete()
    run.time.settle()
    assert [type(failure) for failure in run.failures] == [ValueError]
    assert not run.journal.sealed


def test_an_error_is_told_at_once_and_what_came_before_it_is_written(run: Run) -> None:
    run.begin()
    run.publisher.next(0, 1)
    error = LookupError("upstream")
    run.publisher.error(error)
    assert run.failures == [error]
    assert run.journal.end == 0
    run.time.settle()
    assert run.rows == [0, 1]
    assert not run.journal.sealed
    assert run.failures == [error]


def test_an_element_without_demand_is_a_violation_of_rule_1_1() -> None:
    run = new_run(max_rows=1)
    run.publisher = ManualPublisher(misbehave=True)
    run.begin()
    run.publisher.next(0, 1)
    run.time.settle()
    (failure,) = run.failures
    assert isinstance(failure, RuleViolation)
    assert "1.1" in str(failure)
    assert run.publisher.cancelled
    assert run.rows == [0]


def test_stop_cancels_and_writes_what_has_come(run: Run) -> None:
    recorder = run.begin()
    run.publisher.next(0, 1, 2)
    recorder.stop()
    run.time.settle()
    assert run.publisher.cancelled
    assert run.rows == [0, 1, 2]
    assert not run.journal.sealed


def test_after_a_stop_nothing_comes_into_the_journal(run: Run) -> None:
    recorder = run.begin()
    recorder.stop()
    run.time.settle()
    run.publisher.next(0)
    run.time.settle()
    assert run.journal.end == 0


def test_stop_says_what_it_cannot_write() -> None:
    run = new_run(max_rows=2)
    recorder = run.begin()
    run.send(numbered(0, 5))
    with collect_undelivered() as lost:
        recorder.stop()
        run.time.settle()
    assert [each.what for each in lost] == ["1 elements had come and are not in the journal"]


class FullDisk:
    """Makes a journal find no space for a while."""

    def __init__(self, journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
        self.is_full = True
        self.attempts = 0
        self._append, self._seal = journal.append, journal.seal
        monkeypatch.setattr(journal, "append", self.append)
        monkeypatch.setattr(journal, "seal", self.seal)

    def append(self, *arguments: Any) -> int:
        self._look()
        return self._append(*arguments)

    def seal(self) -> None:
        self._look()
        self._seal()

    def _look(self) -> None:
        if self.is_full:
            self.attempts += 1
            raise NoSpace("the disk is full")


@pytest.fixture
def disk(run: Run, monkeypatch: pytest.MonkeyPatch) -> FullDisk:
    return FullDisk(run.journal, monkeypatch)


def test_on_a_full_disk_nothing_more_is_asked_for_and_nothing_is_lost(
    run: Run, disk: FullDisk
) -> None:
    run.begin(prefetch=20)
    run.send(0)
    requested = run.publisher.requested
    run.send(*range(1, run.publisher.outstanding + 1))
    run.time.advance(10)
    assert run.publisher.requested == requested
    assert run.publisher.outstanding == 0
    assert [type(word) for word in run.space] == [NoSpace]
    disk.is_full = False
    run.time.advance(1)
    assert run.rows == list(range(requested))
    assert [type(word) for word in run.space] == [NoSpace, type(None)]
    assert run.publisher.outstanding == 20
    assert run.failures == []


def test_a_commit_does_not_make_it_ask_on_a_full_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    run = new_run(max_rows=10)
    disk = FullDisk(run.journal, monkeypatch)
    disk.is_full = False
    recorder = run.begin()
    run.send(*range(5))
    disk.is_full = True
    run.send(5)
    recorder.committed(5)
    run.time.settle()
    run.time.advance(5)
    assert run.publisher.requested == 10
    disk.is_full = False
    run.time.advance(1)
    assert run.publisher.requested == 15


def test_a_full_disk_is_tried_again_at_intervals_and_not_for_each_element(
    run: Run, disk: FullDisk
) -> None:
    run.begin()
    run.send(0)
    for element in range(1, 10):
        run.send(element)
    assert disk.attempts == 1
    run.time.advance(5)
    assert 2 < disk.attempts < 20


def test_a_commit_has_a_full_disk_tried_again_at_once(run: Run, disk: FullDisk) -> None:
    disk.is_full = False
    recorder = run.begin()
    run.send(0)
    disk.is_full = True
    run.send(1)
    disk.is_full = False
    recorder.committed(1)
    run.time.settle()
    assert run.rows == [1]


def test_the_seal_waits_for_space_too(run: Run, disk: FullDisk) -> None:
    run.begin()
    run.publisher.complete()
    run.time.advance(3)
    assert not run.journal.sealed
    disk.is_full = False
    run.time.advance(1)
    assert run.journal.sealed
    assert run.completions == ["completed"]


def test_stop_on_a_full_disk_ends_and_says_what_is_lost(run: Run, disk: FullDisk) -> None:
    recorder = run.begin()
    run.send(0, 1)
    with collect_undelivered() as lost:
        recorder.stop()
        run.time.run()
    assert [str(each) for each in lost] == [
        "2 elements had come and are not in the journal: NoSpace: the disk is full"
    ]
    assert run.publisher.cancelled


def test_without_a_listener_a_full_disk_is_logged(
    run: Run, disk: FullDisk, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "penstock"):
        run.begin(on_space=None)
        run.send(0)
        disk.is_full = False
        run.time.advance(1)
    assert caplog.messages == [
        "the disk is full; the stream waits until there is space",
        "there is space again: the stream goes on",
    ]


def test_a_journal_that_cannot_be_written_ends_the_stream(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> int:
        raise JournalUnusable("gone")

    monkeypatch.setattr(run.journal, "append", fail)
    run.begin()
    run.send(0)
    assert [str(failure) for failure in run.failures] == ["gone"]
    assert run.publisher.cancelled


def test_commits_are_taken_after_the_completion(run: Run) -> None:
    recorder = run.begin()
    run.publisher.next(0, 1)
    run.publisher.complete()
    run.time.settle()
    recorder.committed(2)
    run.time.settle()
    assert JournalReader(run.place).bounds() == (2, 2, True)


def test_a_commit_of_rows_that_never_were_is_a_failure(run: Run) -> None:
    run.begin().committed(1)
    run.time.settle()
    assert [str(each) for each in run.failures] == [
        "row 1 cannot be committed: the journal ends at 0"
    ]


def test_an_executor_that_takes_no_task_ends_the_stream(run: Run) -> None:
    class Closed:
        def execute(self, task: object) -> None:
            raise RuntimeError("closed")

    run.begin(executor=Closed())
    assert [str(failure) for failure in run.failures] == ["closed"]
    assert run.publisher.cancelled


def test_the_converter_of_a_schema_fits(run: Run) -> None:
    run.begin(converter=Converter(Schema.of(SCHEMA)), on_dead_letter=run.dead_letters.append)
    run.send((0, "row 0", 0.0), {"number": "no"}, numbered(1, 3))
    assert run.rows == [0, 1, 2]
    assert [dead_letter.field for dead_letter in run.dead_letters] == ["number"]


def workers() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if "penstock-journal" in each.name}


def test_stop_waits_for_the_worker_and_leaves_no_thread(run: Run) -> None:
    others = workers()
    recorder = run.begin(executor=None, clock=None)
    run.publisher.await_requested(16)
    (worker,) = workers() - others
    run.publisher.next(0, 1, 2)
    recorder.stop()
    assert run.rows == [0, 1, 2]
    assert not worker.is_alive()
    recorder.stop()


def test_the_worker_itself_can_stop_the_recorder(run: Run) -> None:
    told = threading.Event()

    def stop() -> None:
        recorder.stop()
        told.set()

    recorder = JournalSubscriber(
        run.journal, Numbers(), on_failure=run.failures.append, on_completed=stop
    )
    IterablePublisher(range(100)).subscribe(recorder)
    assert told.wait(60)
    recorder.stop()
    assert run.rows == list(range(100))
    assert run.failures == []


def test_a_listener_that_raises_does_not_hurt_the_publisher(run: Run) -> None:
    def fail(error: Exception) -> None:
        raise LookupError("the listener")

    run.begin(on_failure=fail)
    with collect_undelivered() as lost:
        run.publisher.error(ValueError("upstream"))
    assert [str(each) for each in lost] == [
        "a listener of a stream into a journal raised: LookupError: the listener"
    ]
