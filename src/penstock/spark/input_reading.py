"""What one input of a run shows: its journal, and the subscriber that fills it."""

from __future__ import annotations

from penstock.spark.gauges import InputReading
from penstock.spark.journal import Journal
from penstock.spark.pipeline import Input
from penstock.spark.recorder import Recorder

__all__ = ["input_reading"]


def input_reading(
    each: Input, journal: Journal, recorder: Recorder, done: int, done_before: int
) -> InputReading:
    """The input at this moment; Spark is done with the rows up to ``done``. From any thread."""
    return InputReading(
        requested=recorder.requested,
        admitted=recorder.admitted,
        taken=recorder.taken,
        start=journal.start,
        end=journal.end,
        done=done,
        max_rows=each.max_rows,
        bytes=journal.bytes_held,
        max_bytes=each.max_bytes,
        full=recorder.waits_for_room or not journal.room,
        sealed=journal.sealed,
        taken_before=recorder.taken_before,
        rows_before=recorder.rows_before,
        done_before=done_before,
        misfits=recorder.misfits.count,
        last_misfits=recorder.misfits.last,
        unrecorded=recorder.unrecorded,
    )
