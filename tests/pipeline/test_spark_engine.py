"""The ledger of a way through Spark, over restarts; the test says what the run shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock import Flow
from penstock.delivery import DataFrameSink, Level
from penstock.observe import Signal
from penstock.observe.ledger import equation, in_short
from penstock.observe.meters import EmittedMeter, SinkMeter, Timestamped
from penstock.observe.status import BatchStatus, Status
from penstock.pipeline import AssemblyError, NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.pipeline.engine import Phase
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.egress.batch_counts import BatchCounts, LateRows, SparkCounts
from penstock.spark.failures import SparkFailed
from penstock.spark.run_counts import InputCounts, RunCounts
from penstock.testing import ManualPublisher, ManualSubscriber

NOTHING = InputCounts(
    requested=100,
    admitted=0,
    taken=0,
    start=0,
    end=0,
    done=0,
    max_rows=100,
    bytes=0,
    max_bytes=1 << 20,
    full=False,
    over=False,
    taken_before=0,
    rows_before=0,
    done_before=0,
    dead_letters=0,
    last_dead_letters=(),
)


class DrivenRun:
    """A run of Spark, whose gauges the test sets."""

    def __init__(self, replayed: tuple[tuple[int, int], ...] = ((0, 0),)) -> None:
        self.replayed = replayed
        self.input = NOTHING
        self.batch: BatchStatus | None = None
        self.done_batch = -1
        self.emitted = EmittedMeter()
        self.failure: Timestamped | None = None
        self.batch_counts = BatchCounts()
        self.counted = SparkCounts()
        self.latencies: tuple[float, ...] = ()
        self.started = True

    @property
    def taken_before(self) -> tuple[tuple[int, int], ...]:
        return ((self.input.taken_before, self.input.rows_before),)

    def new_latencies(self) -> tuple[float, ...]:
        found, self.latencies = self.latencies, ()
        return found

    def snapshot(self) -> RunCounts:
        return RunCounts(
            started=self.started,
            restarts=0,
            inputs=(self.input,),
            batch=self.batch,
            done_batch=self.done_batch,
            delivering=False,
            emitted=self.emitted.count,
            emitted_rows=self.emitted.rows,
            last_emitted=self.emitted.last,
            failure=self.failure,
            oldest=None,
            replayed=self.replayed,
            page=None,
            counts=self.counted,
        )


class Driven:
    """A pipeline on Spark whose run and sink the test drives."""

    def __init__(
        self,
        through: Any,
        checkpoint: Path | None,
        run: DrivenRun | None = None,
        sinks: Mapping[str, Any] | None = None,
    ) -> None:
        place = RunTarget(checkpoint=None if checkpoint is None else str(checkpoint))
        pipeline = Pipeline(
            "numbers",
            sources={"numbers": lambda settings: Flow.range(5).map(lambda number: (number,))},
            transform=through,
            sinks={"sink": lambda settings: print, **(sinks or {})},
        )
        made_run: Any = PipelineRun(pipeline, NoSettings(), place)
        self.way = made_run.engine
        self.run = run or DrivenRun()
        if checkpoint is not None:
            Checkpoint(checkpoint).claim("numbers", ["number long"])
        self.way.plan.watch(self.run)
        made: Any = ManualSubscriber()
        self.sink = SinkMeter("sink", made, made, None, lambda sink, error: None)
        publisher: ManualPublisher[int] = ManualPublisher()
        publisher.subscribe(self.sink)
        made.request(100)
        self.way.watch_sinks([self.sink])

    def read(self, phase: Phase = "running") -> Status:
        """Look twice: what is missing only once may be between two gauges."""
        self.way.status([self.sink], phase)
        read: Status = self.way.status([self.sink], phase)
        return read

    def lost(self, phase: Phase = "running") -> int | None:
        return self.read(phase).ledger.lost

    def comes_out(self, count: int, taken: int | None = None) -> None:
        """Rows come out of Spark, and the sink takes them."""
        for number in range(count):
            self.run.emitted.passed(number)
        self.sink.taken += count if taken is None else taken
        self.sink.rows = self.sink.taken

    def batch(self, number: int, count: int) -> None:
        """A batch of so many rows comes to the sink, and is committed."""
        batches = self.way.plan.batches
        batches.begin(number)
        self.comes_out(count)
        batches.commit(number)

    def counts(self, **counts: Any) -> None:
        """Spark has counted that."""
        self.run.counted = SparkCounts(**counts)
        self.run.batch_counts.listener()


def mapped(numbers: Any) -> Any:
    return numbers.on_spark("number long", resume="from_start").map(lambda row: row)


def live(numbers: Any) -> Any:
    return numbers.on_spark("number long", resume="none").map(lambda row: row)


def filtered(numbers: Any) -> Any:
    return numbers.on_spark("number long", resume="from_start").filter(lambda row: True)


def without_replay(numbers: Any) -> Any:
    return numbers.on_spark("number long", resume="none").map(lambda row: row)


def with_sql(numbers: Any) -> Any:
    return numbers.on_spark("number long", resume="from_start").sql("SELECT * FROM {stream}")


def lenient(numbers: Any) -> Any:
    return numbers.on_spark("number long", dead_letters=lambda letter: None).map(lambda row: row)


def filtered_downstream(numbers: Any) -> Any:
    return mapped(numbers).rows().filter(lambda row: True)


def batches(numbers: Any) -> Any:
    return mapped(numbers).batches()


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    return tmp_path / "checkpoint"


def test_rows_that_wait_or_are_on_their_way_are_not_lost(checkpoint: Path) -> None:
    driven = Driven(mapped, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=7, end=7, start=1, done=3)
    driven.comes_out(5, taken=4)
    assert driven.lost() == 0


def test_an_element_that_the_journal_never_got_is_lost(checkpoint: Path) -> None:
    driven = Driven(mapped, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=8)
    assert driven.lost() == 1


@pytest.mark.parametrize(("through", "lost"), [(live, 2), (mapped, 0)])
def test_what_came_and_is_not_recorded_is_lost_unless_it_comes_again(
    through: Any, lost: int, checkpoint: Path
) -> None:
    driven = Driven(through, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=7, end=7, done=7)
    driven.comes_out(7)
    assert driven.lost() == 0
    driven.run.input = replace(driven.run.input, unrecorded=2)
    assert driven.lost("completed") == lost


def test_what_came_after_the_end_is_lost_as_well(checkpoint: Path) -> None:
    driven = Driven(live, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=9, done=9, unrecorded=1)
    driven.comes_out(9)
    assert driven.lost("completed") == 1


def test_a_dead_letter_is_not_lost_and_stands_at_its_journal(checkpoint: Path) -> None:
    driven = Driven(lenient, checkpoint)
    letter = Timestamped(5.0, "a word is no number")
    driven.run.input = replace(
        NOTHING, admitted=9, taken=9, end=8, dead_letters=1, last_dead_letters=(letter,)
    )
    read = driven.read()
    assert (read.ledger.lost, read.dead_letters) == (0, 1)
    (journal,) = (stage for stage in read.stages if stage.kind == "journal")
    assert journal.dead_letters == 1
    assert journal.last_dead_letters == (Signal(5.0, "a word is no number"),)
    assert read.last_dead_letters == journal.last_dead_letters


def test_rows_that_are_freed_before_spark_is_done_with_them_are_lost(checkpoint: Path) -> None:
    driven = Driven(filtered, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=9, start=5, done=3)
    assert driven.lost() == 2


def test_a_row_that_goes_into_a_map_on_spark_and_does_not_come_out_is_lost(
    checkpoint: Path,
) -> None:
    driven = Driven(mapped, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=9, done=9)
    driven.comes_out(8)
    assert driven.lost() == 1


@pytest.mark.parametrize("through", [filtered, batches])
def test_what_spark_leaves_out_or_puts_together_is_not_lost(through: Any, checkpoint: Path) -> None:
    driven = Driven(through, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=9, done=9)
    if through is batches:
        rows = pa.record_batch([pa.array(range(9))], names=["number"])
        driven.run.emitted.passed(rows)
        driven.sink.taken += 1
    assert driven.lost("completed") == 0


def test_a_row_that_the_sink_never_got_is_lost_once_all_is_through(checkpoint: Path) -> None:
    driven = Driven(filtered, checkpoint)
    driven.comes_out(5, taken=4)
    assert driven.lost() == 0
    assert driven.lost("broken") == 0  # its batch comes again
    assert driven.lost("completed") == 1


def test_downstream_of_a_filter_in_this_program_nobody_counts(checkpoint: Path) -> None:
    driven = Driven(filtered_downstream, checkpoint)
    driven.comes_out(5, taken=4)
    assert driven.lost("completed") == 0
    takers = [passage.taker for passage in driven.read().ledger.passages]
    assert takers == ["journal", "spark", "spark"]


def test_without_a_checkpoint_a_run_that_breaks_loses_what_waits() -> None:
    driven = Driven(mapped, None)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=9, done=6)
    driven.comes_out(6)
    assert driven.lost() == 0
    assert driven.lost("broken") == 3
    assert driven.read().checkpoint == "none"


def test_after_a_kill_what_is_done_once_more_is_neither_lost_nor_duplicated(
    checkpoint: Path,
) -> None:
    Driven(mapped, checkpoint)  # the history know that there was a run
    driven = Driven(mapped, checkpoint, DrivenRun(replayed=((4, 7),)))
    before = replace(NOTHING, taken_before=9, rows_before=9, done_before=4, start=4)
    driven.sink.made.duplicated = 0  # it knows the three rows by their places
    driven.run.input, driven.run.done_batch = replace(before, taken=9, end=9, done=4), 0
    assert driven.read().checkpoint == "0 ok"
    driven.batch(0, 3)
    assert driven.lost() == 0
    driven.run.input = replace(before, admitted=2, taken=11, end=11, done=11)
    driven.run.batch, driven.run.done_batch = BatchStatus(1, 7, 0.4), 1
    driven.batch(1, 4)
    read = driven.read("completed")
    ledger = read.ledger
    assert (ledger.replayed, ledger.lost, ledger.duplicated) == (3, 0, 0)
    assert (ledger.taken, ledger.delivered, ledger.restarts) == (11, 7, 1)
    assert read.checkpoint == "1 ok"


def test_after_a_restart_nobody_knows_what_a_live_source_gave_twice_or_not_at_all(
    checkpoint: Path,
) -> None:
    first = Driven(live, checkpoint)
    first.sink.made.duplicated = 0
    assert (first.read().ledger.lost, first.read().ledger.duplicated) == (0, 0)
    second = Driven(live, checkpoint)
    second.sink.made.duplicated = 0
    assert (second.read().ledger.lost, second.read().ledger.duplicated) == (None, None)
    second.run.input = replace(NOTHING, admitted=3, taken=3, end=3, done=3)
    second.comes_out(3, taken=1)
    assert second.lost("completed") == 2  # these two it knows


def test_dead_letters_of_earlier_runs_are_those_that_made_no_row(checkpoint: Path) -> None:
    driven = Driven(lenient, checkpoint)
    before = replace(NOTHING, taken_before=9, rows_before=7, done_before=7, start=7)
    driven.run.input = replace(before, admitted=2, taken=11, end=8, done=8, dead_letters=1)
    driven.comes_out(1)
    read = driven.read("completed")
    assert (read.dead_letters, read.ledger.lost) == (3, 0)


def test_spark_shows_what_has_come_out_of_it_last_and_how_it_has_failed(checkpoint: Path) -> None:
    driven = Driven(mapped, checkpoint)
    driven.comes_out(2)
    driven.run.failure = Timestamped(5.0, SparkFailed("out of memory"))
    (spark,) = (stage for stage in driven.read("broken").stages if stage.kind == "spark")
    assert [signal.text for signal in spark.recent] == ["0", "1"]
    assert spark.errors == (Signal(5.0, "SparkFailed: out of memory"),)


def test_what_was_lost_is_written_down_once_and_known_to_the_next_run(checkpoint: Path) -> None:
    driven = Driven(mapped, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=8)
    driven.read()
    driven.read()
    again = Driven(mapped, checkpoint)
    ledger = again.read().ledger
    assert ledger.lost == 1
    noted = [line.text for line in ledger.lines]
    assert noted == [
        "lost 1 at journal: left numbers and never reached journal",
        "restarted; nothing to replay",
    ]


def test_rows_that_left_spark_and_did_not_arrive_are_lost_on_the_way(checkpoint: Path) -> None:
    driven = Driven(filtered, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=9, done=9)
    driven.counts(batch=0, planned=9, read=9, left=9, arrived=7, through=True)
    (cause,) = driven.read().ledger.causes
    assert (cause.count, cause.place) == (2, "this program")
    assert cause.words == "left spark and never reached this program"


@pytest.mark.parametrize(
    ("through", "read", "left", "missing"),
    [(True, 6, 6, 0), (True, 6, 5, 1), (False, 9, 6, 0), (False, 8, 6, 1)],
)
def test_what_a_function_leaves_out_is_filtered_and_what_spark_loses_is_not(
    checkpoint: Path, through: bool, read: int, left: int, missing: int
) -> None:
    driven = Driven(filtered, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=9, end=9, done=9)
    driven.run.done_batch = 0
    driven.batch(0, left)
    driven.counts(batch=0, planned=9, read=read, left=left, arrived=left, through=through)
    ledger = driven.read("completed").ledger
    assert (ledger.filtered, ledger.lost) == (read - left if not through else 9 - read, missing)
    assert (ledger.delivered, ledger.difference) == (left, missing)


@pytest.mark.parametrize("through", [with_sql, filtered_downstream])
def test_where_nobody_knows_what_is_left_out_the_term_is_not_0(
    checkpoint: Path, through: Any
) -> None:
    driven = Driven(through, checkpoint)
    driven.counts(batch=0, planned=9, read=9, left=5, arrived=5)
    ledger = driven.read("completed").ledger
    assert (ledger.filtered, ledger.difference) == (None, None)


def test_late_rows_and_filtered_ones_are_known_to_the_next_run(checkpoint: Path) -> None:
    first = Driven(with_sql, checkpoint)
    late = {"aggregation": LateRows("aggregation", 7), "join": LateRows("join", 1)}
    first.counts(batch=3, planned=9, late=late)
    again = Driven(with_sql, checkpoint)
    again.counts(batch=4, planned=9, late={"join": LateRows("join", 2)})
    ledger = again.read().ledger
    assert (ledger.late, ledger.at_least) == (10, ())
    assert [(each.count, each.words) for each in ledger.causes] == [
        (7, "came too late for aggregation"),
        (3, "came too late for join"),
    ]


def test_rows_that_spark_counted_in_groups_are_so_many_or_more(checkpoint: Path) -> None:
    driven = Driven(with_sql, checkpoint)
    driven.counts(batch=0, planned=9, late={"aggregation": LateRows("aggregation", 2, exact=False)})
    ledger = driven.read().ledger
    assert (ledger.late, ledger.at_least) == (2, ("late",))


def test_a_batch_that_spark_did_not_report_makes_no_0(checkpoint: Path) -> None:
    driven = Driven(with_sql, checkpoint)
    driven.run.done_batch = 2
    driven.counts(batch=1, planned=9, late={"aggregation": LateRows("aggregation", 0)})
    assert driven.read().ledger.at_least == ()  # it may still come
    assert driven.read("completed").ledger.at_least == ("filtered", "late")


@pytest.mark.parametrize(("through", "lost"), [(mapped, 0), (without_replay, 3)])
def test_what_came_and_could_not_be_recorded_is_lost_unless_it_comes_again(
    checkpoint: Path, through: Any, lost: int
) -> None:
    driven = Driven(through, checkpoint)
    driven.run.input = replace(NOTHING, admitted=9, taken=6, end=6, unrecorded=3)
    ledger = driven.read("broken").ledger
    assert ledger.lost == lost
    assert [(each.place, each.words) for each in ledger.causes] == [
        ("journal", "came and could not be recorded")
    ] * bool(lost)


def test_after_a_restart_of_a_source_that_cannot_replay_nobody_knows_what_was_lost(
    checkpoint: Path,
) -> None:
    assert Driven(without_replay, checkpoint).read().ledger.lost == 0
    driven = Driven(without_replay, checkpoint)
    ledger = driven.read().ledger
    assert (ledger.lost, ledger.duplicated) == (None, None)
    assert [(each.field, each.count, each.place) for each in ledger.causes] == [
        ("lost", None, "numbers"),
        ("duplicated", None, "numbers"),
    ]
    sealed = Driven(without_replay, checkpoint)
    sealed.run.input = replace(NOTHING, requested=0, over=True)
    assert sealed.read().ledger.lost is None  # it stays so


class Upserts(DataFrameSink):
    """A sink that Spark serves."""

    def __init__(self, level: Level) -> None:
        self.level = level

    def take(self, dataframe: Any, batch_id: int) -> None: ...


@pytest.mark.parametrize(
    ("level", "possibly"), [("exactly once", 0), ("at least once", None), ("at most once", None)]
)
def test_nobody_knows_how_many_rows_a_sink_that_spark_serves_was_given_again(
    checkpoint: Path, level: Level, possibly: int | None
) -> None:
    sinks = {"upserts": lambda settings: Upserts(level)}
    assert Driven(mapped, checkpoint, sinks=sinks).read().ledger.possibly_duplicated == 0
    driven = Driven(mapped, checkpoint, DrivenRun(replayed=((4, 7),)), sinks=sinks)
    assert driven.read().ledger.possibly_duplicated == possibly


def test_a_source_that_cannot_replay_and_is_not_asked_any_more_has_lost_nothing(
    checkpoint: Path,
) -> None:
    Driven(without_replay, checkpoint)
    sealed = Driven(without_replay, checkpoint)
    sealed.run.input = replace(NOTHING, requested=0, over=True)
    assert sealed.read().ledger.lost == 0


def test_what_spark_counts_takes_no_latency_from_those_who_watch(checkpoint: Path) -> None:
    driven = Driven(mapped, checkpoint)
    driven.run.latencies = (0.4, 0.5)
    driven.counts(batch=0)
    assert driven.way.status([driven.sink], "running").latencies == (0.4, 0.5)


def test_a_new_checkpoint_is_said_to_be_new(checkpoint: Path) -> None:
    assert Driven(mapped, checkpoint).read().checkpoint == "new"


def test_a_checkpoint_of_another_pipeline_is_refused_before_anything_starts(
    checkpoint: Path,
) -> None:
    Checkpoint(checkpoint).claim("others", ["number long"])
    pipeline = Pipeline(
        "numbers",
        sources={"numbers": lambda settings: Flow.of((1,))},
        transform=mapped,
        sinks={"sink": lambda settings: print},
    )
    run = PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(checkpoint)))
    with pytest.raises(AssemblyError, match="belongs to the pipeline 'others', not to 'numbers'"):
        run.require_own_checkpoint()


@pytest.mark.parametrize("runs", [1, 2])
def test_batches_that_were_taken_and_rows_that_were_delivered_are_told_apart(
    runs: int, checkpoint: Path
) -> None:
    """In a run that takes nothing, too, where no element says what it is."""
    driven = Driven(mapped, checkpoint)
    meter = driven.way._sources["numbers"]
    if runs == 1:
        meter.recent.add(pa.RecordBatch.from_pydict({"number": [1, 2, 3]}))
    before = 3 if runs == 2 else 0
    driven.run.input = replace(
        NOTHING, admitted=3 - before, taken_before=before, rows_before=100 * before,
        taken=3, end=300, done=300, has_batches=True,
    )  # fmt: skip
    ledger = driven.read().ledger
    assert in_short(ledger).startswith("taken 3 batches, ")
    assert equation(ledger).startswith("taken 3 batches = ")
    units = [(each.giver, each.unit) for each in ledger.passages[:2]]
    assert units == [("numbers", "batches" if runs == 1 else "rows"), ("journal", "rows")]
    stages = {stage.name: stage.unit for stage in driven.read().stages}
    assert (stages["journal"], stages["spark"]) == ("rows", "rows")


@pytest.mark.parametrize(("rows", "waits"), [(7, False), (9, True)])
def test_nobody_waits_for_a_query_that_has_ended_unless_there_are_rows_for_it(
    rows: int, waits: bool, checkpoint: Path
) -> None:
    """As when all is done, and Spark is being stopped."""
    driven = Driven(mapped, checkpoint)
    driven.run.input = replace(NOTHING, admitted=rows, taken=rows, end=rows, done=7)
    driven.run.started = False
    held_up = {edge.taker: edge.held_up for edge in driven.read().edges}
    assert held_up["spark"] is waits


@pytest.mark.parametrize(
    ("done", "is_over", "waiting_for"),
    [(100, True, []), (40, True, ["spark"]), (40, False, ["journal", "spark"])],
    ids=["nothing left to do", "the source has ended", "more to come"],
)
def test_rows_that_are_kept_for_a_rewind_hold_nobody_up(
    checkpoint: Path, done: int, is_over: bool, waiting_for: list[str]
) -> None:
    driven = Driven(mapped, checkpoint)
    driven.run.input = replace(NOTHING, end=100, done=done, full=True, over=is_over)
    assert [edge.taker for edge in driven.read().edges if edge.held_up] == waiting_for
