"""Where the batches end that Spark is told of, whether it limits them itself or not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.checkpoint import CheckpointError
from penstock.spark.ingest.schema import Schema
from penstock.spark.journal import Journal, JournalReader, JournalUnusable
from penstock.spark.workers.journal_source import (
    JournalSource,
    SelfBoundedStream,
    offset,
    stream_kind,
)
from tests.spark.capabilities import has_read_limits

SCHEMA = Schema.of("number long")
BATCH = 10


class Spark:
    """A checkpoint, and what Spark does with its sources: ask, write its log, and ask again."""

    def __init__(self, place: Path, journals: int = 1) -> None:
        self.place = place
        self.journals = [
            Journal.open(place / f"journal-{number}", SCHEMA.arrow) for number in range(journals)
        ]
        self.log = place / "spark" / "offsets"
        self.log.mkdir(parents=True)
        self.start()

    def start(self) -> None:
        """Start the query, for the first time or again: the readers are new."""
        self.readers = [self.reader(number) for number in range(len(self.journals))]

    def reader(self, number: int) -> SelfBoundedStream:
        journal = JournalReader(str(self.place / f"journal-{number}"))
        return SelfBoundedStream(journal, BATCH, str(self.place))

    def append(self, rows: int, number: int = 0) -> None:
        batch = pa.RecordBatch.from_pydict({"number": [*range(rows)]}, schema=SCHEMA.arrow)
        self.journals[number].append(batch)

    def ask(self) -> list[int]:
        """Where the next batch is to end in each journal."""
        return [reader.latestOffset()["position"] for reader in self.readers]

    def plan(self) -> list[int]:
        """Ask, and write down what was answered."""
        ends = self.ask()
        pairs = zip(self.journals, ends, strict=True)
        self.write([offset(journal.identity, end) for journal, end in pairs])
        return ends

    def write(self, offsets: list[dict[str, Any]]) -> None:
        """The log of the next batch, as Spark writes it."""
        lines = ["v1", "{}", *map(json.dumps, offsets)]
        (self.log / str(len([*self.log.iterdir()]))).write_text("\n".join(lines))


@pytest.fixture
def spark_of(tmp_path: Path) -> Any:
    return lambda journals=1: Spark(tmp_path / "checkpoint", journals)


def test_the_kind_of_stream_is_what_this_spark_can_use(tmp_path: Path) -> None:
    spark = Spark(tmp_path / "checkpoint")
    options = {"path": str(tmp_path / "checkpoint/journal-0"), "batch_rows": "10"}
    source = JournalSource({**options, "checkpoint": str(spark.place)})
    stream = source.streamReader(SCHEMA.spark)
    assert isinstance(stream, stream_kind())
    assert isinstance(stream, SelfBoundedStream) is not has_read_limits()
    assert stream.initialOffset() == offset(spark.journals[0].identity, 0)


def test_a_new_query_begins_at_the_beginning_and_goes_on_batch_by_batch(spark_of: Any) -> None:
    spark = spark_of()
    spark.append(25)
    assert spark.readers[0].initialOffset()["position"] == 0
    assert [spark.plan() for _ in range(3)] == [[10], [20], [25]]


def test_as_long_as_nothing_is_new_the_answer_stays(spark_of: Any) -> None:
    spark = spark_of()
    assert [spark.ask() for _ in range(3)] == [[0], [0], [0]]
    spark.append(4)
    assert spark.plan() == [4]
    assert [spark.ask() for _ in range(3)] == [[4], [4], [4]]
    spark.append(30)
    assert spark.plan() == [14]


def test_a_reader_that_is_started_again_goes_on_from_the_log_of_spark(spark_of: Any) -> None:
    spark = spark_of()
    spark.append(100)
    for end in range(10, 60, 10):
        assert spark.plan() == [end]
        spark.start()  # in the middle of a query, or with it


def test_a_batch_that_is_replayed_is_not_asked_for_and_the_next_one_follows_it(
    spark_of: Any,
) -> None:
    spark = spark_of()
    spark.append(35)
    spark.plan()
    spark.plan()  # which was not committed
    spark.start()
    (reader,) = spark.readers
    identity = spark.journals[0].identity
    first, again = offset(identity, 10), offset(identity, 20)
    assert reader.partitions(again, again) == []  # so older releases say where they were
    parts = reader.partitions(first, again)
    assert sum(batch.num_rows for part in parts for batch in reader.read(part)) == BATCH
    assert spark.plan() == [30]


def test_the_first_batch_is_replayed_from_the_beginning(spark_of: Any) -> None:
    spark = spark_of()
    spark.append(35)
    spark.plan()
    spark.start()
    assert spark.readers[0].initialOffset()["position"] == 0
    assert spark.plan() == [20]


def test_what_was_told_and_never_written_down_is_told_again(spark_of: Any) -> None:
    spark = spark_of()
    spark.append(35)
    spark.plan()
    assert spark.ask() == [20]
    spark.start()  # Spark could not write its log, say
    assert spark.plan() == [20]


def test_rows_that_were_freed_do_not_matter(spark_of: Any) -> None:
    spark = spark_of()
    spark.append(35)
    spark.plan()
    spark.plan()
    spark.journals[0].commit(10)
    spark.start()
    assert spark.plan() == [30]


def test_each_of_several_sources_finds_its_own_end_whatever_their_order(spark_of: Any) -> None:
    spark = spark_of(2)
    spark.append(35, 0)
    spark.append(4, 1)
    assert spark.plan() == [10, 4]
    assert spark.plan() == [20, 4]
    spark.append(40, 1)
    spark.start()
    spark.journals.reverse()
    spark.write([offset(spark.journals[0].identity, 14), offset(spark.journals[1].identity, 30)])
    assert spark.ask() == [35, 24]


def test_the_last_batch_is_the_one_with_the_largest_number(spark_of: Any) -> None:
    spark = spark_of()
    spark.append(200)
    for _ in range(12):
        spark.plan()
    (spark.log / ".12.tmp").write_text("a file that Spark is writing")
    spark.start()
    assert spark.ask() == [130]


def test_an_end_is_never_before_what_was_planned(spark_of: Any) -> None:
    spark = spark_of()
    spark.append(5)
    spark.write([offset(spark.journals[0].identity, 7)])  # rows that are missing from the journal
    assert spark.ask() == [7]


def test_the_log_of_another_journal_is_refused(spark_of: Any) -> None:
    spark = spark_of()
    spark.write([offset("another", 7)])
    with pytest.raises(JournalUnusable, match="the checkpoint belongs to another journal"):
        spark.ask()


@pytest.mark.parametrize("text", ["", "v9\n{}\n{}", "v1\n{}\n{]", 'v1\n{}\n{"journal": "a"}'])
def test_a_damaged_log_is_refused(text: str, spark_of: Any) -> None:
    spark = spark_of()
    (spark.log / "0").write_text(text)
    with pytest.raises(CheckpointError, match="offsets/0 is missing or damaged"):
        spark.ask()


def test_a_checkpoint_may_be_at_a_uri(tmp_path: Path) -> None:
    spark = Spark(tmp_path / "checkpoint")
    spark.append(35)
    spark.plan()
    place = (tmp_path / "checkpoint").as_uri()
    reader = SelfBoundedStream(JournalReader(f"{place}/journal-0"), BATCH, place)
    assert reader.latestOffset()["position"] == 20


ENDING = """
from penstock.spark.workers.journal_source import JournalStream
try:
    raise {error}  # as the program of Spark that calls a stream
finally:
    JournalStream.stop(None)
"""


@pytest.mark.parametrize("error", ["EOFError", "BrokenPipeError"])
def test_a_reader_whose_jvm_has_hung_up_ends_without_a_word(error: str) -> None:
    done = ended_by(error)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_any_other_error_is_told() -> None:
    done = ended_by("ValueError('the journal is damaged')")
    assert done.returncode == 1
    assert "the journal is damaged" in done.stderr


def ended_by(error: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", ENDING.format(error=error)]
    return subprocess.run(program, check=False, capture_output=True, text=True)
