"""What a journal keeps, for whom, and how much."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.journal import (
    Journal,
    JournalFull,
    JournalInUse,
    JournalReader,
    JournalUnusable,
    Place,
    RowsUnavailable,
    SchemaChanged,
)
from penstock.spark.journal.reader import PART_ROWS
from tests.spark.journals import (
    PLACES,
    SCHEMA,
    all_rows,
    append_rows,
    numbered,
    open_journal,
    read_rows,
    segment_files,
)


@pytest.fixture(params=PLACES, ids=lambda place: str(place.__name__))
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    choose: Callable[[Path], Place] = request.param
    return choose(tmp_path)


def test_append_returns_the_position_after_the_rows(place: Place) -> None:
    with open_journal(place) as journal:
        assert journal.append(numbered(0, 3)) == 3
        assert journal.append(numbered(3, 10)) == 10


def test_a_reader_sees_the_appended_rows_in_order(place: Place) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 3, 1, 7)
        assert read_rows(place, 0, 11) == list(range(11))


@pytest.mark.parametrize(("start", "end"), [(0, 1), (2, 4), (3, 11), (5, 5), (10, 11)])
def test_a_reader_gets_exactly_the_range_that_it_asks_for(
    place: Place, start: int, end: int
) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 3, 1, 7)
        assert read_rows(place, start, end) == list(range(start, end))


def test_a_reader_cannot_read_beyond_the_durable_end(place: Place) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 3)
        with pytest.raises(RowsUnavailable, match="only those up to 3 are durable"):
            read_rows(place, 0, 4)


@pytest.mark.parametrize(("start", "end"), [(-1, 2), (2, 1)])
def test_a_range_that_cannot_be_is_an_error(place: Place, start: int, end: int) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 3)
        with pytest.raises(ValueError, match=f"no rows from {start} to {end}"):
            read_rows(place, start, end)


def test_the_parts_of_a_range_cover_it_in_order_without_a_gap(place: Place) -> None:
    with open_journal(place, max_bytes=1 << 27) as journal:
        append_rows(journal, *[200_000] * 4)
        parts = JournalReader(place).ranges(5, 799_000)
        assert len(parts) > 1
        read = [row for part in parts for row in read_rows(place, *part)]
        assert read == list(range(5, 799_000))


@pytest.mark.parametrize(
    ("rows", "sizes"),
    [
        (PART_ROWS, [PART_ROWS]),
        (2 * PART_ROWS - 1, [2 * PART_ROWS - 1]),
        (2 * PART_ROWS, [PART_ROWS] * 2),
        (3 * PART_ROWS + 1, [PART_ROWS, PART_ROWS, PART_ROWS + 1]),
    ],
)
def test_rows_of_one_file_are_shared_out_if_there_are_enough_for_several_tasks(
    place: Place, rows: int, sizes: list[int]
) -> None:
    with open_journal(place, max_bytes=1 << 27) as journal:
        append_rows(journal, rows)
        parts = JournalReader(place).ranges(0, rows)
        assert [end - start for start, end in parts] == sizes
        read = [row for part in parts for row in read_rows(place, *part)]
        assert read == list(range(rows))


def test_many_small_files_make_one_part(place: Place) -> None:
    with open_journal(place, max_bytes=8) as journal:
        for _ in range(5):
            journal.append(numbered(journal.end, journal.end + 1))
            journal.commit(journal.end)
        assert JournalReader(place).ranges(4, 5) == [(4, 5)]


def test_an_empty_range_has_no_parts(place: Place) -> None:
    with open_journal(place):
        assert JournalReader(place).ranges(0, 0) == []


def test_a_batch_without_rows_leaves_no_trace(place: Place) -> None:
    with open_journal(place) as journal:
        assert journal.append(numbered(0, 0), "position") == 0
        assert journal.last_source_position is None


def test_a_journal_that_is_opened_again_knows_what_it_had(place: Place) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 3, 4)
        journal.commit(2)
        identity = journal.identity
    with open_journal(place) as again:
        assert (again.start, again.end, again.sealed) == (2, 7, False)
        assert again.last_source_position == {"after": 7}
        assert again.identity == identity == JournalReader(place).identity
        append_rows(again, 2)
        assert all_rows(place) == list(range(2, 9))


def test_a_seal_is_seen_by_readers_and_survives(place: Place) -> None:
    reader = JournalReader(place)
    with open_journal(place) as journal:
        append_rows(journal, 3)
        assert not reader.sealed()
        journal.seal()
        journal.seal()
        assert reader.sealed()
        assert reader.end() == 3
    with open_journal(place) as again:
        assert again.sealed
        assert again.last_source_position == {"after": 3}
        with pytest.raises(ValueError, match="takes no more rows"):
            append_rows(again, 1)


def test_a_seal_survives_the_commit_of_all_rows(place: Place) -> None:
    with open_journal(place, max_bytes=4096) as journal:
        append_rows(journal, 3, 100)
        journal.seal()
        journal.commit(103)
    with open_journal(place) as again:
        assert (again.start, again.end, again.sealed) == (103, 103, True)
        assert again.last_source_position == {"after": 103}


def test_an_empty_journal_can_be_sealed(place: Place) -> None:
    with open_journal(place) as journal:
        journal.seal()
    with open_journal(place) as again:
        assert again.sealed
        assert JournalReader(place).bounds() == (0, 0, True)


def test_a_commit_frees_room_for_as_many_rows(place: Place) -> None:
    with open_journal(place, max_rows=10) as journal:
        append_rows(journal, 6)
        assert journal.room == 4
        journal.commit(5)
        assert journal.room == 9


def test_more_rows_than_there_is_room_for_are_refused(place: Place) -> None:
    with open_journal(place, max_rows=10) as journal:
        append_rows(journal, 6)
        with pytest.raises(JournalFull, match="5 rows do not fit: there is room for 4"):
            append_rows(journal, 5)
        append_rows(journal, 4)
        assert all_rows(place) == list(range(10))


def test_more_bytes_than_the_bound_are_refused_until_rows_are_committed(place: Place) -> None:
    with open_journal(place, max_bytes=8_000) as journal:
        with pytest.raises(JournalFull, match="bytes do not fit"):
            append_rows(journal, *[10] * 100)
        assert 7_000 < journal.bytes_held <= 8_000
        journal.commit(journal.end)
        append_rows(journal, *[10] * 5)


def test_a_batch_above_the_bound_in_bytes_is_taken_when_nothing_else_waits(place: Place) -> None:
    with open_journal(place, max_bytes=100) as journal:
        append_rows(journal, 50)
        with pytest.raises(JournalFull):
            append_rows(journal, 50)
        journal.commit(50)
        append_rows(journal, 50)
        assert read_rows(place, 50, 100) == list(range(50, 100))


def test_bytes_stay_within_the_bound_as_rows_come_and_go(place: Place) -> None:
    with open_journal(place, max_bytes=20_000) as journal:
        for _ in range(100):
            append_rows(journal, 10)
            journal.commit(max(0, journal.end - 50))
            assert journal.bytes_held <= 20_000


def test_trimming_removes_nothing_that_is_not_committed(place: Place) -> None:
    with open_journal(place, max_bytes=20_000) as journal:
        for _ in range(60):
            append_rows(journal, 7)
            journal.commit(max(0, journal.end - 33))
            assert all_rows(place) == list(range(journal.start, journal.end))
        with pytest.raises(RowsUnavailable, match="row 0 was committed, and is deleted"):
            read_rows(place, 0, 10)


def test_the_source_position_survives_the_commit_of_all_rows(place: Place) -> None:
    with open_journal(place, max_bytes=1_000) as journal:
        for _ in range(5):
            append_rows(journal, 10)
            journal.commit(journal.end)
    with open_journal(place) as again:
        assert (again.start, again.end) == (50, 50)
        assert again.last_source_position == {"after": 50}


def test_an_older_commit_changes_nothing(place: Place) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 6)
        journal.commit(4)
        journal.commit(2)
        assert journal.start == JournalReader(place).start() == 4


def test_rows_that_are_not_there_cannot_be_committed(place: Place) -> None:
    with open_journal(place) as journal, pytest.raises(ValueError, match="ends at 0"):
        journal.commit(1)


@pytest.mark.parametrize(
    ("schema", "difference"),
    [
        (SCHEMA.remove(1), "column 'text' of the journal is missing"),
        (SCHEMA.append(pa.field("more", pa.int8())), "column 'more' is not in the journal"),
        (
            SCHEMA.set(0, pa.field("number", pa.int32())),
            "column 'number' is int64 in the journal and int32 here",
        ),
        (
            SCHEMA.set(2, pa.field("half", pa.float64(), nullable=False)),
            "column 'half' is double in the journal and double not null here",
        ),
        (
            pa.schema([SCHEMA.field(each) for each in (1, 0, 2)]),
            "in the order ['number', 'text', 'half'], not ['text', 'number', 'half']",
        ),
    ],
    ids=["missing", "surplus", "type", "null", "sequence"],
)
def test_another_schema_is_refused_and_the_difference_is_named(
    place: Place, schema: pa.Schema, difference: str
) -> None:
    with open_journal(place) as journal:
        append_rows(journal, 3)
    with pytest.raises(SchemaChanged) as refusal:
        Journal.open(place, schema)
    assert difference in str(refusal.value)
    with open_journal(place):
        assert all_rows(place) == [0, 1, 2]


def test_a_batch_of_another_schema_is_refused(place: Place) -> None:
    with (
        open_journal(place) as journal,
        pytest.raises(SchemaChanged, match="'text' of the journal"),
    ):
        journal.append(numbered(0, 1).drop_columns(["text"]))


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("number long", "is a pyarrow.Schema, not 'number long'"),
        (
            pa.schema([("kind", pa.list_(pa.dictionary(pa.int8(), pa.string())))]),
            "column 'kind' is list",
        ),
    ],
    ids=["text", "dictionary"],
)
def test_a_schema_that_cannot_be_kept_is_refused(tmp_path: Path, schema: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Journal.open(tmp_path / "journal", schema)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("bound", ["max_rows", "max_bytes"])
def test_a_bound_is_at_least_one(tmp_path: Path, bound: str) -> None:
    with pytest.raises(ValueError, match=f"{bound} must be at least 1, not 0"):
        open_journal(tmp_path, **{bound: 0})


def test_a_closed_journal_takes_nothing(place: Place) -> None:
    journal = open_journal(place)
    journal.close()
    journal.close()
    with pytest.raises(ValueError, match="is closed"):
        append_rows(journal, 1)


def test_a_second_writer_is_refused_until_the_first_one_is_gone(tmp_path: Path) -> None:
    first = open_journal(tmp_path)
    with pytest.raises(JournalInUse, match="already has a writer, the process"):
        open_journal(tmp_path)
    first.close()
    open_journal(tmp_path).close()


def test_a_writer_that_is_refused_leaves_the_journal_to_the_first_one(tmp_path: Path) -> None:
    with open_journal(tmp_path):
        for _ in range(2):
            with pytest.raises(JournalInUse):
                open_journal(tmp_path)


@pytest.mark.parametrize("choose", PLACES[1:])
def test_where_nothing_can_be_locked_the_later_writer_takes_over(
    choose: Callable[[Path], Place], tmp_path: Path
) -> None:
    place = choose(tmp_path)
    earlier = open_journal(place)
    append_rows(earlier, 3)
    later = open_journal(place)
    with pytest.raises(JournalInUse, match="another writer has taken over"):
        append_rows(earlier, 1)
    append_rows(later, 4)
    assert all_rows(place) == list(range(7))


def test_a_place_that_cannot_be_a_folder_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalUnusable, match=r"file/journal cannot be written: .*Not a directory"):
        open_journal(tmp_path / "file" / "journal")


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("", JournalUnusable, "must not be empty"),
        ("nowhere://here", JournalUnusable, "nowhere://here is no place for a journal"),
        (3, TypeError, "not at 3"),
    ],
)
def test_what_is_no_place_is_refused(place: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        open_journal(place)


def test_a_uri_of_the_local_disk_is_a_folder(tmp_path: Path) -> None:
    with open_journal(f"file://{tmp_path}/journal") as journal:
        append_rows(journal, 3)
        assert all_rows(tmp_path / "journal") == [0, 1, 2]
        assert (tmp_path / "journal" / "lock").exists()


def test_where_there_is_no_journal_the_reader_says_so(tmp_path: Path) -> None:
    with pytest.raises(JournalUnusable, match="is no journal"):
        JournalReader(tmp_path).end()


def test_a_reader_can_be_sent_to_another_process(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3)
        reader = pickle.loads(pickle.dumps(JournalReader(tmp_path)))
        assert reader.end() == 3


def test_without_the_published_end_a_reader_looks_for_the_last_whole_record(
    tmp_path: Path,
) -> None:
    with open_journal(tmp_path, max_bytes=8_000) as journal:
        append_rows(journal, *[5] * 5)
        (tmp_path / "bounds").unlink()
        assert JournalReader(tmp_path).bounds() == (0, 25, False)
        last = segment_files(tmp_path)[-1]
        last.write_bytes(last.read_bytes()[:-1])
        assert JournalReader(tmp_path).end() == 20


def test_a_reader_does_not_see_what_the_writer_has_not_published(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3)
        published = (tmp_path / "bounds").read_bytes()
        append_rows(journal, 3)
        (tmp_path / "bounds").write_bytes(published)
        assert JournalReader(tmp_path).end() == 3
        assert all_rows(tmp_path) == [0, 1, 2]


def test_rows_that_were_whole_but_never_published_count_after_a_restart(tmp_path: Path) -> None:
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3)
        published = (tmp_path / "bounds").read_bytes()
        append_rows(journal, 3)
    (tmp_path / "bounds").write_bytes(published)
    with open_journal(tmp_path):
        assert all_rows(tmp_path) == list(range(6))


def test_a_segment_that_was_committed_but_not_deleted_is_deleted_later(tmp_path: Path) -> None:
    with open_journal(tmp_path, max_bytes=8_000) as journal:
        append_rows(journal, *[5] * 6)
        first = segment_files(tmp_path)[0]
        content = first.read_bytes()
        journal.commit(25)
        assert not first.exists()
    first.write_bytes(content)
    with open_journal(tmp_path) as again:
        assert not first.exists()
        assert (again.start, again.end) == (25, 30)


def test_every_column_type_of_spark_comes_back_as_it_was(place: Place) -> None:
    schema = pa.schema(
        [
            ("flag", pa.bool_()),
            ("amount", pa.decimal128(38, 10)),
            ("day", pa.date32()),
            ("moment", pa.timestamp("us", tz="UTC")),
            ("bytes", pa.binary()),
            ("list", pa.list_(pa.string())),
            ("map", pa.map_(pa.string(), pa.int32())),
            ("nested", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.float32()))])),
        ]
    )
    row = [True, "1.5", 3, 4, b"x", ["a", None], [("k", 1)], {"a": 1, "b": [0.5]}]
    columns = [
        pa.array([value, None]).cast(field.type)
        if field.name in {"flag", "amount", "bytes"}
        else pa.array([value, None], field.type)
        for value, field in zip(row, schema, strict=True)
    ]
    batch = pa.record_batch(columns, schema=schema)
    with Journal.open(place, schema) as journal:
        journal.append(batch)
        journal.append(batch.slice(1))
        (first, second) = JournalReader(place).read(0, 3)
        assert first.equals(batch)
        assert second.equals(batch.slice(1))
