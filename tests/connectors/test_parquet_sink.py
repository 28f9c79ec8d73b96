"""Folders of Parquet files as sinks, read back by Arrow's own readers."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import duckdb
import pyarrow
import pyarrow.dataset
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Flow
from penstock.connectors import Writer, write_parquet
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.delivery.lives import Checkpoint, ended_by_a_crash, live
from tests.connectors.flights import Departure, Flight

PATIENCE = 60


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "flights"


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


def lived(checkpoint: Checkpoint, writer: Writer, batches: list[list[Any]]) -> None:
    for _ in live(checkpoint, writer, batches):
        pass


def seen(folder: Path) -> list[Any]:
    """What any reader has that is given the folder, whatever else lies there."""
    rows: list[Any] = pyarrow.dataset.dataset(folder, format="parquet").to_table().to_pylist()
    return rows


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def numbers(*given: int) -> list[dict[str, int]]:
    return [{"n": number} for number in given]


def test_rows_and_batches_become_one_table(folder: Path) -> None:
    schema = pyarrow.schema([("origin", pyarrow.string()), ("delay", pyarrow.float64())])
    batch = pyarrow.RecordBatch.from_pydict({"delay": [3.5], "origin": ["BOS"]})
    table = pyarrow.table({"origin": ["SFO"], "delay": [4.0]})
    written(
        write_parquet(folder, schema=schema),
        {"delay": 1, "origin": "JFK"},
        batch,
        Flight("EWR", None),
        table,
        Departure("LGA", 2.5),
        ("DCA", 5),
    )
    assert [tuple(row.values()) for row in seen(folder)] == [
        ("JFK", 1.0), ("BOS", 3.5), ("EWR", None), ("SFO", 4.0), ("LGA", 2.5), ("DCA", 5.0),
    ]  # fmt: skip
    assert names(folder) == ["part-0000000000.parquet"]


def test_files_have_as_many_rows_as_they_should_whatever_is_gathered_meanwhile(
    folder: Path,
) -> None:
    """Rows are converted when there are some thousands of them, and a batch comes amid them."""
    batch = pyarrow.RecordBatch.from_pylist(numbers(*range(50)))
    first, later = numbers(*range(10_000)), numbers(*range(10_000, 20_000))
    written(write_parquet(folder, file_rows=9_000), *first, batch, *later)
    sizes = [pyarrow.parquet.read_metadata(path).num_rows for path in sorted(folder.iterdir())]
    assert sizes == [9_000, 9_000, 2_050]


def test_a_source_may_fill_one_dictionary_again_and_again(folder: Path) -> None:
    def filled() -> Iterator[dict[str, int]]:
        row = {"n": 0, "twice": 0}
        for number in range(6_000):
            row["n"], row["twice"] = number, 2 * number
            yield row

    sink = write_parquet(folder).sink
    sink.open(None)
    for row in filled():
        sink(row)
    sink.close()
    assert seen(folder) == [{"n": number, "twice": 2 * number} for number in range(6_000)]


ROWS: list[Any] = [
    {"n": 1, "m": "a"},
    {"n": 2, "m": "b"},
    {"n": 3, "m": "c"},
    {"m": "in another order", "n": 4},
    OrderedDict(n=5, m="of another class"),
    pyarrow.RecordBatch.from_pydict({"n": [6, 7], "m": ["in a", "batch"]}),
    {"n": 8, "other": "columns"},
    {"n": 9, "m": "one column", "more": True},
    (10, "without names"),
]


@given(
    st.lists(st.lists(st.sampled_from(ROWS), max_size=7), max_size=4),
    st.integers(min_value=1, max_value=6),
)
def test_many_at_once_are_as_many_one_by_one(portions: list[list[Any]], file_rows: int) -> None:
    with TemporaryDirectory() as place:
        singly, together = Path(place, "singly"), Path(place, "together")
        ended = given_to(write_parquet(singly, file_rows=file_rows), portions, at_once=False)
        assert (
            given_to(write_parquet(together, file_rows=file_rows), portions, at_once=True) == ended
        )
        assert files_in(together) == files_in(singly)


def given_to(writer: Writer, portions: list[list[Any]], *, at_once: bool) -> str:
    """How it ended."""
    sink: Any = writer.sink
    sink.open(None)
    try:
        for portion in portions:
            if at_once:
                sink.give_all(portion)
            else:
                for element in portion:
                    sink(element)
    except ValueError as error:
        return str(error)
    finally:
        sink.close()
    return "well"


def files_in(folder: Path) -> dict[str, list[Any]]:
    return {path.name: pyarrow.parquet.read_table(path).to_pylist() for path in folder.iterdir()}


def with_dictionary(path: Path) -> list[str]:
    """The columns that have one, by the metadata of a file."""
    group = pyarrow.parquet.read_metadata(path).row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    return [column.path_in_schema for column in columns if column.has_dictionary_page]


@pytest.mark.parametrize(
    ("count", "found"),
    [(1_000, ["airport", "few", "kind", "nothing"]), (999, None)],
    ids=["enough rows", "few rows"],
)
def test_values_that_come_again_get_a_dictionary(
    folder: Path, count: int, found: list[str] | None
) -> None:
    """Few rows do not tell. Another reader finds each value."""
    table = pyarrow.table(
        {
            "n": pyarrow.array(range(count)),
            "airport": [f"airport {number % 500}" for number in range(count)],
            "few": [None if number % 3 else number // 2 for number in range(count)],
            "key": [f"key {number}" for number in range(count)],
            "kind": pyarrow.array([*"ab"] * 500).dictionary_encode()[:count],
            "nothing": pyarrow.nulls(count),
        }
    )
    written(write_parquet(folder), table)
    (path,) = folder.iterdir()
    assert with_dictionary(path) == (found or table.column_names)
    rows = duckdb.execute(f"select * from '{path}'").fetchall()
    assert rows == [*zip(*table.to_pydict().values(), strict=True)]


def test_columns_within_columns_have_dictionaries(folder: Path) -> None:
    rows = [{"n": number, "inner": {"twice": 2 * number}} for number in range(1_000)]
    written(write_parquet(folder), *rows)
    assert with_dictionary(folder / "part-0000000000.parquet") == ["n", "inner.twice"]
    assert seen(folder) == rows


def test_files_are_of_the_size_that_was_said(folder: Path) -> None:
    written(write_parquet(folder, file_rows=2), *numbers(*range(5)))
    sizes = [pyarrow.parquet.read_metadata(path).num_rows for path in sorted(folder.iterdir())]
    assert sizes == [2, 2, 1]
    assert seen(folder) == numbers(*range(5))


def test_files_have_about_so_many_bytes(folder: Path) -> None:
    batches = [pyarrow.RecordBatch.from_pydict({"n": [*range(70_000)]}) for _ in range(4)]
    written(write_parquet(folder, file_bytes=100_000), *batches)
    assert len(names(folder)) == 4
    assert len(seen(folder)) == 280_000


def test_a_batch_is_a_file_with_its_number(folder: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_parquet(folder), [numbers(1, 2), [], numbers(3)])
    assert names(folder) == ["batch-0000000000.parquet", "batch-0000000002.parquet"]
    words = write_parquet(folder).sink.check(checkpoint.begin_run())
    assert words == f"goes on in {folder} after batch 2"


def test_no_half_file_is_ever_seen(folder: Path) -> None:
    checkpoint = Checkpoint()
    batches = [numbers(1), numbers(*range(70_000))]
    ended_by_a_crash(checkpoint, partial(write_parquet, folder), batches, 70_000)
    assert names(folder) == [".unfinished.parquet.new", "batch-0000000000.parquet"]
    assert seen(folder) == numbers(1)
    lived(checkpoint, write_parquet(folder), batches)
    assert names(folder) == ["batch-0000000000.parquet", "batch-0000000001.parquet"]
    assert seen(folder) == [row for batch in batches for row in batch]


def test_a_restart_keeps_the_types_of_the_last_file(folder: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_parquet(folder), [[{"n": 1.5}]])
    lived(checkpoint, write_parquet(folder), [[{"n": 1.5}], [{"n": 2}]])
    assert seen(folder) == [{"n": 1.5}, {"n": 2.0}]


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"n": "late"}, "n cannot be 'late': it is of type str, and needs to be int64; schema="),
        ({"m": 2}, "the columns are n, but an element has m"),
        ({"n": 2, "m": 3}, "the columns are n, but an element has n, m"),
        (7, "an element has n, not so 7"),
        (pyarrow.RecordBatch.from_pydict({"m": [1]}), "the columns are n, but a batch has m"),
        (pyarrow.RecordBatch.from_pydict({"n": ["a"]}), "n is int64, and string in a batch"),
    ],
)
def test_what_does_not_fit_is_refused_and_the_batch_given_up(
    folder: Path, second: Any, words: str
) -> None:
    sink = write_parquet(folder).sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 1})
    sink.commit(0)
    sink.begin(1)

    def give() -> None:
        sink(second)
        sink.commit(1)

    with pytest.raises(ValueError, match=words):
        give()
    sink.close()
    assert names(folder) == ["batch-0000000000.parquet"]


def test_values_without_names_need_a_schema(folder: Path) -> None:
    sink = write_parquet(folder).sink
    sink.open(None)
    with pytest.raises(ValueError, match="has no names for its values; give schema="):
        sink((1, 2))
    sink.close()


def test_a_folder_that_is_not_empty_needs_a_word(folder: Path) -> None:
    written(write_parquet(folder), *numbers(1))
    sink = write_parquet(folder).sink
    for question in (sink.check, sink.open):
        for epoch in (None, Epoch.begun()):
            with pytest.raises(FileExistsError, match="flights is there and is not empty"):
                question(epoch)
    written(write_parquet(folder, append=True), *numbers(2))
    assert seen(folder) == numbers(1, 2)
    written(write_parquet(folder, overwrite=True), *numbers(3))
    assert seen(folder) == numbers(3)


def test_files_of_others_are_never_deleted(folder: Path) -> None:
    written(write_parquet(folder), *numbers(1))
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(FileExistsError, match="holds notes.txt, which write_parquet has not"):
        write_parquet(folder, overwrite=True).sink.open(None)
    assert names(folder) == ["notes.txt", "part-0000000000.parquet"]


@pytest.mark.parametrize(("option", "kept"), [("append", [9]), ("overwrite", [])])
def test_what_was_said_holds_for_the_first_start_only(
    folder: Path, option: str, kept: list[int]
) -> None:
    written(write_parquet(folder), *numbers(9))
    make = partial(write_parquet, folder, **{option: True})
    checkpoint = Checkpoint()
    batches = [numbers(1, 2), numbers(3)]
    for steps in (0, 1, 3, 6):
        ended_by_a_crash(checkpoint, make, batches, steps)
    lived(checkpoint, make(), batches)
    lived(checkpoint, make(), batches)
    assert sorted(row["n"] for row in seen(folder)) == sorted([*kept, 1, 2, 3])


def test_the_folder_of_another_checkpoint_is_refused_or_replaced(folder: Path) -> None:
    lived(Checkpoint(), write_parquet(folder), [numbers(9)])
    for options in ({}, {"append": True}):
        with pytest.raises(DeliveryRefused, match="flights was written from another checkpoint"):
            write_parquet(folder, **options).sink.open(Epoch.begun())
    assert seen(folder) == numbers(9)
    lived(Checkpoint(), write_parquet(folder, overwrite=True), [numbers(1)])
    assert seen(folder) == numbers(1)


def test_a_damaged_last_file_is_refused_and_stays(folder: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_parquet(folder), [numbers(1)])
    last = folder / "batch-0000000000.parquet"
    last.write_bytes(last.read_bytes()[:-9])
    with pytest.raises(DeliveryRefused, match="batch-0000000000.parquet is damaged"):
        write_parquet(folder).sink.open(checkpoint.begin_run())
    pyarrow.parquet.write_table(pyarrow.table({"n": [1]}), last)
    with pytest.raises(DeliveryRefused, match="batch-0000000000.parquet has no mark"):
        write_parquet(folder).sink.open(checkpoint.begin_run())
    assert names(folder) == ["batch-0000000000.parquet"]


def test_a_place_where_no_folder_can_be_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotADirectoryError, match="needs a folder, and .*file is a file"):
        write_parquet(tmp_path / "file")
    with pytest.raises(FileNotFoundError, match="there is no folder .*no for flights"):
        write_parquet(tmp_path / "no" / "flights")
    with pytest.raises(TypeError, match="schema must be a pyarrow.Schema, not 'n long'"):
        write_parquet(tmp_path / "flights", schema="n long")
