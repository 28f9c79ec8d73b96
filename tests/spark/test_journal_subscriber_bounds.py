"""What a recorder asks for when room is short, and that it loses nothing that has come."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import fs

from penstock import Flow, collect_undelivered
from penstock.observe.meters import SourceMeter
from penstock.pipeline.assembly import source
from penstock.spark.ingest.conversion import Converter
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.ingest.schema import Schema
from penstock.spark.journal import Journal
from penstock.spark.journaled_inputs import on_own_thread
from penstock.testing import ManualPublisher
from tests.spark.journals import Numbers, numbered, open_journal
from tests.spark.recordings import Run, new_run

PATIENCE = 30.0
KILOBYTES_20 = "x" * 20_000
LARGE = Schema.of(pa.schema([("text", pa.string())]))


# As soon as it comes.


def test_an_element_that_a_source_has_given_is_written_before_it_makes_the_next_one() -> None:
    run = new_run()
    changed = threading.Condition()
    written = 0

    def note(end: int) -> None:
        nonlocal written
        with changed:
            written = end
            changed.notify_all()

    def await_written(rows: int) -> None:
        with changed:
            assert changed.wait_for(lambda: written >= rows, PATIENCE)

    def one_by_one() -> Iterator[int]:
        for number in range(100):
            yield number
            await_written(number + 1)  # a source that blocks until what it gave is safe

    gauge = SourceMeter("numbers")
    flow = source(lambda _: Flow.from_iterable(one_by_one()), None, gauge, Flow.never())
    sealed = threading.Event()
    with ExitStack() as leaving:
        recorder = JournalSubscriber(
            run.journal,
            Numbers(),
            on_failure=lambda error: (run.failures.append(error), sealed.set()),
            on_appended=note,
            on_completed=sealed.set,
        )
        leaving.callback(recorder.stop)
        on_own_thread(flow, leaving).subscribe(recorder)
        assert sealed.wait(2 * PATIENCE)
    assert run.failures == []
    assert run.rows == [*range(100)]
    assert gauge.passed == recorder.taken == 100


# Bytes.


def large_run(max_bytes: int) -> tuple[Run, dict[str, Any]]:
    """A run for elements with a text."""
    place = fs._MockFileSystem()
    journal = Journal.open(place, LARGE.arrow, max_rows=1 << 19, max_bytes=max_bytes)
    return Run(place, journal), {"converter": Converter(LARGE)}


def test_of_large_elements_no_more_are_asked_for_than_fit_in_bytes() -> None:
    run, options = large_run(max_bytes=1 << 20)
    recorder = run.begin(**options)
    assert run.publisher.requested == 16
    came = committed = 0
    while came < 500:
        count = run.publisher.outstanding
        assert run.journal.bytes_held + count * 20_000 <= 1 << 20
        run.send(*[(KILOBYTES_20,)] * count)
        came += count
        assert recorder.taken == came  # what came has fitted: nothing waits in memory
        if not run.publisher.outstanding:
            assert recorder.waits_for_room
            committed += 1
            recorder.committed(run.journal.end)
            run.time.settle()
    assert committed > 5


def test_when_elements_become_larger_nothing_is_asked_for_until_the_last_request_fits() -> None:
    run, options = large_run(max_bytes=1 << 20)
    recorder = run.begin(prefetch=100, **options)
    run.send(*[("x",)] * 16)
    assert run.publisher.requested == 116
    run.send(*[(KILOBYTES_20,)] * 10)
    run.send(*[(KILOBYTES_20,)] * 90)
    assert run.publisher.requested == 116
    while recorder.taken < 116:
        assert recorder.waits_for_room
        recorder.committed(run.journal.end)
        run.time.settle()
    recorder.committed(116)
    run.time.settle()
    assert 30 < run.publisher.outstanding < 53


def test_an_element_above_the_bound_in_bytes_is_taken_alone_and_the_stream_goes_on() -> None:
    run, options = large_run(max_bytes=1_000)
    recorder = run.begin(**options)
    run.send(*[(KILOBYTES_20,)] * 16)
    for number in range(1, 16):
        assert (run.journal.end, recorder.waits_for_room) == (number, True)
        recorder.committed(number)
        run.time.settle()
    assert run.publisher.outstanding == 0
    recorder.committed(16)
    run.time.settle()
    assert run.publisher.outstanding == 1
    assert run.failures == []


def test_a_source_may_complete_while_the_journal_is_at_its_bound_in_bytes() -> None:
    run, options = large_run(max_bytes=1_000)
    run.begin(**options)
    run.publisher.next((KILOBYTES_20,))
    run.publisher.complete()
    run.time.settle()
    assert run.failures == []
    assert run.journal.sealed


# A journal that is full when the run begins.


@pytest.mark.parametrize("bounds", [{"max_rows": 8}, {"max_rows": 2}, {"max_bytes": 100}])
def test_a_journal_that_is_full_at_the_start_is_said_to_wait_for_room(
    bounds: dict[str, int], tmp_path: Path
) -> None:
    with open_journal(tmp_path, max_rows=8) as journal:
        journal.append(numbered(0, 8), {"elements": 8, "position": None})
    run = Run(tmp_path, open_journal(tmp_path, **bounds))
    recorder = run.begin()
    assert recorder.waits_for_room
    assert run.publisher.requests == []
    recorder.committed(8)
    run.time.settle()
    assert not recorder.waits_for_room
    assert run.publisher.outstanding > 0


# Batches that come in parts.


def test_of_a_batch_that_is_given_again_only_the_rest_is_written() -> None:
    run = new_run(max_rows=10)
    recorder = run.begin(replays=True)
    run.send(numbered(0, 4), numbered(4, 25))
    assert run.journal.last_source_position == {"elements": 1, "position": None, "rows": 6}
    with collect_undelivered():
        recorder.stop()
        run.time.settle()
    again = Run(run.place, run.journal)
    recorder = again.begin(replays=True)
    recorder.committed(10)
    again.time.settle()
    again.send(numbered(4, 25), numbered(25, 27))
    assert again.rows == [*range(10, 20)]
    recorder.committed(20)
    again.time.settle()
    assert again.rows == [*range(20, 27)]
    assert recorder.taken == 3
    assert again.journal.last_source_position == {"elements": 3, "position": None}


def test_a_source_that_does_not_give_a_batch_again_goes_on_with_the_next_one() -> None:
    run = new_run(max_rows=10)
    run.begin()
    run.send(numbered(0, 25))
    again = Run(run.place, run.journal)
    again.begin().committed(10)
    again.time.settle()
    again.send(numbered(25, 30))
    assert again.rows == [*range(25, 30)]


# Draining.


def test_a_drain_writes_all_that_has_come_as_room_is_made() -> None:
    run = new_run(max_rows=4)
    recorder = run.begin()
    run.send(numbered(0, 10), numbered(10, 11))
    recorder.drain()
    run.time.settle()
    assert run.publisher.cancelled
    for committed in (4, 8):
        assert not recorder.is_over
        recorder.committed(committed)
        run.time.settle()
    assert recorder.is_over
    assert run.rows == [8, 9, 10]
    with collect_undelivered() as lost:
        recorder.stop()
        run.time.settle()
    assert lost == []
    assert (recorder.taken, recorder.unrecorded) == (2, 0)
    assert not run.journal.sealed


def test_an_element_on_its_way_to_a_drain_is_written() -> None:
    run = new_run()
    run.publisher = ManualPublisher(misbehave=True)  # it sends after a cancel, as rule 2.8 allows
    recorder = run.begin()
    run.send(0)
    recorder.drain()
    run.time.settle()
    assert recorder.is_over
    run.publisher.next(1)
    assert not recorder.is_over
    run.time.settle()
    assert run.rows == [0, 1]
    assert (recorder.admitted, recorder.taken, recorder.is_over) == (2, 2, True)


def test_an_element_after_the_stop_counts_as_unrecorded() -> None:
    run = new_run()
    run.publisher = ManualPublisher(misbehave=True)
    recorder = run.begin()
    run.send(0)
    recorder.stop()
    run.time.settle()
    assert recorder.unrecorded == 0
    run.send(1)
    assert (run.rows, recorder.unrecorded) == ([0], 1)


def test_what_a_stop_leaves_behind_counts_as_unrecorded() -> None:
    run = new_run(max_rows=4)
    recorder = run.begin()
    run.send(numbered(0, 10), numbered(10, 11))
    recorder.drain()
    run.time.settle()
    assert recorder.unrecorded == 0  # there is still hope
    with collect_undelivered() as lost:
        recorder.stop()
        run.time.settle()
    assert recorder.unrecorded == 2
    assert [each.what for each in lost] == ["2 elements had come and are not in the journal"]


def test_what_follows_a_misfit_that_ends_the_stream_counts_as_unrecorded() -> None:
    run = new_run()
    recorder = run.begin()
    run.send(0, "one", 2)
    recorder.stop()
    run.time.settle()
    assert (recorder.taken, recorder.unrecorded) == (1, 2)
