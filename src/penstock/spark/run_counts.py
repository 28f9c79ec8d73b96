"""What a run through Spark has counted, at one moment."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.observe.meters import Timestamped
from penstock.observe.status import BatchStatus, StateSize
from penstock.spark.egress.batch_counts import SparkCounts
from penstock.spark.ingest.journal_subscriber import JournalSubscriber
from penstock.spark.journal import Journal
from penstock.spark.plan import SparkInput

__all__ = [
    "InputCounts",
    "RunCounts",
    "input_counts",
]


@dataclass(frozen=True, slots=True)
class InputCounts:
    """An input that goes through a journal.

    ``requested``  elements that were asked of the source in this run, and ``admitted`` came
    ``taken``      elements that were taken since the journal was made, dead letters included
    ``end``        rows that were ever written; ``done`` of them Spark is done with, and those
                   before ``start`` are no longer kept
    ``bytes``      what the journal holds, at most ``max_bytes``
    ``full``       whether it has no room
    ``over``       whether this run takes no more of it

    ``taken_before``, ``rows_before`` and ``done_before`` are what ``taken``, ``end`` and ``done``
    were when this run began. ``dead_letters`` counts its elements that did not fit;
    ``last_dead_letters`` has the reasons of the last ones. ``unrecorded`` elements have come, and
    will never be written. ``has_batches`` says whether elements are several rows each.
    """

    requested: int
    admitted: int
    taken: int
    start: int
    end: int
    done: int
    max_rows: int
    bytes: int
    max_bytes: int
    full: bool
    over: bool
    taken_before: int
    rows_before: int
    done_before: int
    dead_letters: int
    last_dead_letters: tuple[Timestamped, ...]
    unrecorded: int = 0
    has_batches: bool = False

    @property
    def waiting(self) -> int:
        """The rows that Spark has to go through."""
        return self.end - self.done

    @property
    def all_dead_letters(self) -> int:
        """Those of all runs: of the elements that earlier ones had taken, these made no row."""
        return max(self.taken_before - self.rows_before, 0) + self.dead_letters


@dataclass(frozen=True, slots=True)
class RunCounts:
    """A run at one moment.

    ``started``       whether Spark runs the query
    ``restarts``      how often the query was started again, since it had lost a worker
    ``batch``         the last batch that this run has done
    ``done_batch``    the number of the last one that any run has done; -1 if there is none
    ``delivering``    whether a batch waits until all of it is wanted
    ``emitted``       elements that have come out, which are ``emitted_rows`` rows
    ``last_emitted``  the last of them
    ``failure``       the error with which Spark has ended it
    ``oldest``        for how many seconds the oldest row waits
    ``inputs``        those that go through journals
    ``replayed``      for each of them, the rows that Spark had begun when the last run ended: from,
                      to
    ``is_out_of_space``  whether Spark waits until it can write its files
    ``counts``        what Spark has counted itself
    ``begun_batch``   the last batch of what Spark reads itself that it was let compute
    ``done_since``    for how many seconds the last batch of this run is done
    ``unfinished_batch``  the batch that Spark had planned and not done when the last run ended
    """

    started: bool
    restarts: int
    inputs: tuple[InputCounts, ...]
    batch: BatchStatus | None
    done_batch: int
    delivering: bool
    emitted: int
    emitted_rows: int
    last_emitted: tuple[Timestamped, ...]
    failure: Timestamped | None
    oldest: float | None
    replayed: tuple[tuple[int, int], ...]
    page: str | None
    is_out_of_space: bool = False
    counts: SparkCounts = field(default_factory=SparkCounts)
    begun_batch: int = -1
    unfinished_batch: int | None = None
    done_since: float | None = None

    @property
    def kept(self) -> tuple[StateSize, ...]:
        """What each operator of Spark keeps, and what came too late for it in this run."""
        late = self.counts.late
        return tuple(
            StateSize(*each, late[each.operator].rows if each.operator in late else 0)
            for each in self.counts.kept
        )


def input_counts(
    each: SparkInput, journal: Journal, recorder: JournalSubscriber, done: int, done_before: int
) -> InputCounts:
    """The input at this moment; Spark is done with the rows up to ``done``. From any thread."""
    rows = journal.end  # before the elements: of these, it can have no more than have come
    return InputCounts(
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
        over=journal.sealed or recorder.is_over,
        taken_before=recorder.taken_before,
        rows_before=recorder.rows_before,
        done_before=done_before,
        dead_letters=recorder.dead_letters.count,
        last_dead_letters=recorder.dead_letters.last,
        unrecorded=recorder.unrecorded,
        has_batches=rows > recorder.taken_before + recorder.admitted,
    )
