"""Tables of Delta Lake as sinks, read back by DuckDB, by the log of the table, and by delta-rs."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from random import Random
from threading import Barrier, Thread
from typing import Any

import pyarrow
import pytest
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from penstock import Flow, collect_undelivered
from penstock.connectors import Writer, write_delta
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.delivery.lives import Checkpoint, live, lived, refused
from tests.connectors.flights import Departure, Flight
from tests.connectors.small_files import small_files
from tests.lake.delta import delta_rows
from tests.lake.numbered import numbers

PATIENCE = 60
RIVALS = 4


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "flights"


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


def refused_rows(writer: Writer, *elements: Any) -> str:
    with collect_undelivered():
        Flow.of(*elements).subscribe(writer)
        assert writer.wait(PATIENCE)
    return str(writer.error)


def seen(table: Path) -> list[Any]:
    """Two readers agree on the rows, in any order."""
    rows = delta_rows(table)
    other = DeltaTable(table).to_pyarrow_table().to_pylist()
    assert sorted(map(repr, other)) == sorted(map(repr, rows))
    return rows


def test_rows_and_batches_become_one_table(table: Path) -> None:
    schema = pyarrow.schema([("origin", pyarrow.string()), ("delay", pyarrow.float64())])
    batch = pyarrow.RecordBatch.from_pydict({"delay": [3.5], "origin": ["BOS"]})
    written(
        write_delta(table, schema=schema),
        {"delay": 1, "origin": "JFK"},
        batch,
        Flight("EWR", None),
        pyarrow.table({"origin": ["SFO"], "delay": [4.0]}),
        Departure("LGA", 2.5),
        ("DCA", 5),
    )
    assert [tuple(row.values()) for row in seen(table)] == [
        ("JFK", 1.0), ("BOS", 3.5), ("EWR", None), ("SFO", 4.0), ("LGA", 2.5), ("DCA", 5.0),
    ]  # fmt: skip


def test_a_batch_is_a_commit_that_says_its_number(table: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_delta(table), [numbers(1, 2), [], numbers(3)])
    found = DeltaTable(table)
    assert found.version() == 2
    assert found.transaction_version("penstock") == 2
    assert DeltaTable(table, version=1).transaction_version("penstock") == 0
    assert DeltaTable(table, version=0).count() == 0  # it is made first
    assert seen(table) == numbers(1, 2, 3)
    words = write_delta(table).sink.check(checkpoint.begin_run())
    assert words == f"goes on in the Delta table {table} after batch 2"
    lived(checkpoint, write_delta(table), [numbers(1, 2), [], numbers(3)])
    assert DeltaTable(table).version() == 2


def test_types_that_delta_does_not_have_become_those_that_it_has(table: Path) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
    batch = pyarrow.table(
        {
            "text": pyarrow.array(["é"]).dictionary_encode(),
            "large": pyarrow.array(["a"], pyarrow.large_string()),
            "moment": pyarrow.array([moment], pyarrow.timestamp("ns", "UTC")),
            "count": pyarrow.array([7], pyarrow.uint32()),
            "price": pyarrow.array([Decimal("1.50")]),
            "parts": pyarrow.array([[{"a": 1}]]),
        }
    )
    for _ in range(2):
        written(write_delta(table), batch)
    row = {
        "text": "é", "large": "a", "moment": moment, "count": 7, "price": Decimal("1.50"),
        "parts": [{"a": 1}],
    }  # fmt: skip
    assert DeltaTable(table).to_pyarrow_table().to_pylist() == [row, row]
    finer = pyarrow.array([1_001], pyarrow.timestamp("ns", "UTC"))
    other = batch.set_column(2, "moment", finer)
    sink = write_delta(table).sink
    sink.open(None)
    with pytest.raises(ValueError, match="the column moment is timestamp.us, tz=UTC., and a value"):
        sink(other)
    sink.close()
    with pytest.raises(ValueError, match="Delta Lake has no type for one of the columns t time64"):
        write_delta(table, schema=pyarrow.schema([("t", pyarrow.time64("us"))]))


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"n": "late"}, "n cannot be 'late': it is of type str, and needs to be int64; schema="),
        ({"m": 2}, "the columns are n, but an element has m"),
        ({"n": 2, "m": 3}, "the columns are n, but an element has n, m"),
        (7, "an element has n, not so 7"),
        (pyarrow.RecordBatch.from_pydict({"m": [1]}), "the columns are n, but a batch has m"),
        (pyarrow.RecordBatch.from_pydict({"n": ["1"]}), "n is int64, and string in a batch"),
    ],
)
def test_another_schema_in_the_middle_is_one_clear_line(
    table: Path, second: Any, words: str
) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_delta(table), [numbers(1)])
    for sink in (write_delta(table).sink,):
        sink.open(checkpoint.begin_run())
        sink.begin(1)

        def give(sink: Any = sink) -> None:
            sink(second)
            sink.commit(1)

        with pytest.raises(ValueError, match=f"^write_delta: .*{words}"):
            give()
        sink.close()
    assert seen(table) == numbers(1)


def test_a_table_with_other_columns_is_refused(table: Path) -> None:
    written(write_delta(table), *numbers(1))
    for schema, words in (
        ([("m", pyarrow.int64())], "has the columns n, and the rows have m"),
        ([("n", pyarrow.string())], "has int64 for n, and the rows have string"),
    ):
        assert words in refused(write_delta(table, schema=pyarrow.schema(schema)), None)
    assert "is partitioned by nothing, and not by n" in refused(
        write_delta(table, partition_by="n"), None
    )


def test_rows_of_others_stay_and_may_come_at_any_time(table: Path) -> None:
    write_deltalake(table, pyarrow.table({"n": [9]}))
    checkpoint = Checkpoint()
    assert write_delta(table).sink.check(Epoch.begun()) == f"adds to the Delta table {table}"
    life = live(checkpoint, write_delta(table), [numbers(1), numbers(2)])
    for step in life:
        if step == "begun":
            write_deltalake(table, pyarrow.table({"n": [8]}), mode="append")
    assert sorted(row["n"] for row in seen(table)) == [1, 2, 8, 8, 9]


@pytest.mark.parametrize("is_there", [True, False])
def test_of_many_that_commit_at_once_one_comes_through(table: Path, is_there: bool) -> None:
    if is_there:
        write_deltalake(table, pyarrow.table({"n": [0]}))
    epoch, barrier, refused = Epoch.begun(), Barrier(RIVALS), []

    def write() -> None:
        sink: Any = write_delta(table).sink
        sink.open(Epoch.begun(epoch.starts))
        sink.begin(0)
        sink({"n": 1})
        store = sink.store
        sink.store = lambda *arguments: (barrier.wait(), store(*arguments))
        try:
            sink.commit(0)
        except DeliveryRefused as error:
            refused.append(error)
        sink.close()

    threads = [Thread(target=write) for _ in range(RIVALS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen(table) == numbers(*[0] * is_there, 1)
    assert len(refused) == RIVALS - 1


def test_a_stale_commit_under_our_name_is_refused_by_delta_itself(table: Path) -> None:
    """What the promise rests on, in the words of the library: with retries as with none."""
    lived(Checkpoint(), write_delta(table), [numbers(1)])
    stale = DeltaTable(table)
    properties = CommitProperties(app_transactions=[Transaction("penstock", 1, None)])
    rows = pyarrow.table({"n": [2]})
    write_deltalake(DeltaTable(table), rows, mode="append", commit_properties=properties)
    with pytest.raises(Exception, match="Concurrent transaction failed"):
        write_deltalake(stale, rows, mode="append", commit_properties=properties)


def test_a_batch_that_the_disk_has_no_space_for_is_one_line_and_leaves_nothing(
    table: Path,
) -> None:
    epoch = Epoch.begun()
    sink = write_delta(table).sink
    sink.open(epoch)
    sink.begin(0)
    sink({"n": 0, "text": "-"})
    sink.commit(0)
    sink.begin(1)
    for row in random_texts(5_000):
        sink(row)
    with small_files():
        with pytest.raises(OSError, match="write_delta: .*File too large") as told:
            sink.commit(1)
        sink.close()
    assert "\n" not in str(told.value)
    again = write_delta(table).sink
    again.open(epoch)
    again.begin(1)
    again({"n": 1, "text": "-"})
    again.commit(1)
    again.close()
    assert sorted(row["n"] for row in delta_rows(table)) == [0, 1]


def random_texts(count: int) -> list[dict[str, Any]]:
    """Rows that no compression makes small."""
    random = Random(1)
    return [{"n": n, "text": random.randbytes(50).hex()} for n in range(count)]


def test_partitions_are_those_that_were_said(table: Path) -> None:
    rows = [{"origin": "JFK", "n": 1}, {"origin": "EWR", "n": 2}]
    written(write_delta(table, partition_by="origin"), *rows)
    written(write_delta(table, partition_by=["origin"]), *rows)
    assert DeltaTable(table).metadata().partition_columns == ["origin"]
    found = DeltaTable(table).to_pyarrow_table().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, [*rows, *rows]))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "origin cannot be '', since Delta takes that for null in a column to part"),
        (b"JFK", "origin has bytes, and a partition of Delta has a text; give another column"),
    ],
)
def test_a_partition_that_would_have_another_value_is_refused(
    table: Path, value: Any, words: str
) -> None:
    origins = ("JFK", None, value)
    first, second, wrong = ({"origin": each, "n": number} for number, each in enumerate(origins))
    assert words in refused_rows(write_delta(table, partition_by="origin"), wrong)
    assert not table.exists()
    if isinstance(value, str):
        written(write_delta(table, partition_by="origin"), first, second)
        assert words in refused_rows(write_delta(table), first, wrong)
        found = DeltaTable(table).to_pyarrow_table().to_pylist()
        assert sorted(found, key=str) == sorted([first, second], key=str)


def test_a_folder_in_which_somebody_is_about_to_make_a_table_is_no_hindrance(table: Path) -> None:
    """Another process has made the folder of the log, and not yet the first version in it."""
    sink = write_delta(table).sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 1})
    (table / "_delta_log").mkdir(parents=True)
    sink.commit(0)
    sink.close()
    assert seen(table) == numbers(1)


def test_places_that_are_no_table_are_refused(table: Path) -> None:
    table.mkdir()
    assert write_delta(table).sink.check(None) == f"makes the Delta table {table}"
    (table / "notes.txt").write_text("mine")
    assert "holds notes.txt and is no Delta table" in refused(write_delta(table), None)
    shutil.rmtree(table)
    written(write_delta(table), *numbers(1))
    first, second = sorted((table / "_delta_log").glob("*.json"))
    first.write_text("{")
    assert "cannot be read" in refused(write_delta(table), None)
    first.unlink()
    second.unlink()
    assert "holds _delta_log and is no Delta table" in refused(write_delta(table), Epoch.begun())


def test_arguments_that_cannot_be_used_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    make: Any = partial(write_delta, tmp_path / "flights")
    with pytest.raises(NotADirectoryError, match="needs a folder, and .*file is a file"):
        write_delta(tmp_path / "file")
    with pytest.raises(FileNotFoundError, match="there is no folder .*no for flights"):
        write_delta(tmp_path / "no" / "flights")
    with pytest.raises(TypeError, match="schema must be a pyarrow.Schema, not 'n long'"):
        make(schema="n long")
    with pytest.raises(ValueError, match="name must not be empty"):
        make(name="")
    with pytest.raises(TypeError, match="storage_options must be a dict of texts, not an") as error:
        make(storage_options={"key": ["secret"]})
    assert "secret" not in str(error.value)


def test_credentials_are_never_shown() -> None:
    sink: Any = write_delta(
        "s3://bucket/flights?token=secret", storage_options={"aws_secret_access_key": "secret"}
    ).sink
    assert "secret" not in f"{sink.name} {sink._place!r} {sink._place}"
    for address in ("s3://me:secret@bucket/flights", "s3://me:secret@no bucket/flights"):
        with pytest.raises(ValueError, match="has a password in it, .* storage_options=") as caught:
            write_delta(address)
        assert "secret" not in str(caught.value)
