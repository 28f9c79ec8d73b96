"""Files that are complete: CSV, JSON lines, Parquet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow
import pytest
from pyarrow import parquet

from penstock import Flow
from penstock.connectors import read_csv, read_json_lines, read_parquet
from penstock.testing import ManualSubscriber

READERS: list[Callable[[Any], Flow[Any]]] = [read_csv, read_json_lines, read_parquet]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "flights"


@pytest.mark.parametrize("read", READERS)
def test_a_file_that_is_missing_is_refused_at_once(
    read: Callable[[Any], Flow[Any]], file: Path
) -> None:
    with pytest.raises(FileNotFoundError, match=f"{read.__name__}: there is no file {file}"):
        read(file)


@pytest.mark.parametrize("read", [read_csv, read_json_lines])
def test_a_folder_is_refused_at_once(read: Callable[[Any], Flow[Any]], tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=f"{tmp_path} is a folder"):
        read(tmp_path)


@pytest.mark.parametrize("read", READERS)
def test_what_is_no_path_is_refused_at_once(read: Callable[[Any], Flow[Any]]) -> None:
    with pytest.raises(TypeError, match="needs the path of a file, not 17"):
        read(17)


def test_rows_of_a_csv_file_are_texts_by_the_names_of_the_first_line(file: Path) -> None:
    file.write_text('origin,note\nJFK,"late, ""very"""\nEWR,\n')
    assert read_csv(file).to_list().run_sync() == [
        {"origin": "JFK", "note": 'late, "very"'},
        {"origin": "EWR", "note": ""},
    ]


def test_a_mark_of_the_order_of_bytes_is_no_part_of_the_first_line(file: Path) -> None:
    file.write_bytes(b'\xef\xbb\xbf{"n": 1}\n{"n": 2}\n')
    assert read_json_lines(file).to_list().run_sync() == [{"n": 1}, {"n": 2}]


def test_types_turn_columns_and_empty_fields_into_none(file: Path) -> None:
    file.write_text("origin,delay,day\nJFK,12.5,8\nEWR,,9\n")
    rows = read_csv(str(file), types={"delay": float, "day": int}).to_list().run_sync()
    assert rows == [
        {"origin": "JFK", "delay": 12.5, "day": 8},
        {"origin": "EWR", "delay": None, "day": 9},
    ]


def test_a_mark_at_the_beginning_and_empty_lines_are_no_part_of_the_rows(file: Path) -> None:
    file.write_bytes("\ufefforigin\r\nJFK\r\n\r\nEWR\r\n".encode())
    assert read_csv(file).map(lambda row: row["origin"]).to_list().run_sync() == ["JFK", "EWR"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("JFK", "line 17: 1 fields, but there are 2 columns"),
        ("JFK,1,2", "line 17: 3 fields, but there are 2 columns"),
        ("JFK,soon", "line 17: delay is 'soon': could not convert"),
        ('"JFK"x,1', "line 17: ',' expected after"),
    ],
)
def test_a_malformed_row_is_named_by_file_and_line(file: Path, line: str, words: str) -> None:
    file.write_text("origin,delay\n" + "EWR,1\n" * 15 + line + "\nLGA,2\n")
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=100)
    read_csv(file, types={"delay": float}).subscribe(subscriber)
    assert len(subscriber.elements) == 15
    subscriber.assert_failed(ValueError, match=f"{file}, {words}")


def test_bytes_that_are_no_text_are_an_error_that_names_the_file(file: Path) -> None:
    file.write_bytes(b"origin\nJFK\n\xff\n")
    with pytest.raises(ValueError, match=f"{file}, line 3: .*can't decode byte 0xff"):
        read_csv(file).run_sync()


def test_a_csv_file_without_a_first_line_is_refused_at_once(file: Path) -> None:
    file.touch()
    with pytest.raises(ValueError, match=f"{file} has no first line"):
        read_csv(file)


def test_a_csv_file_that_names_a_column_twice_is_refused_at_once(file: Path) -> None:
    file.write_text("origin,delay,origin\n")
    with pytest.raises(ValueError, match="names a column twice in origin, delay, origin"):
        read_csv(file)


@pytest.mark.parametrize(
    ("types", "words"),
    [
        ({"deley": float}, "types has 'deley', but the columns of .* are origin, delay"),
        ({"delay": "float"}, "needs a function, not 'float'"),
        ([("delay", float)], "types maps columns to functions"),
    ],
)
def test_types_that_do_not_fit_are_refused_at_once(file: Path, types: Any, words: str) -> None:
    file.write_text("origin,delay\n")
    with pytest.raises((TypeError, ValueError), match=words):
        read_csv(file, types=types)


def test_values_of_a_json_lines_file_come_line_by_line(file: Path) -> None:
    file.write_text('{"delay": 12}\n\n[1, 2]\n"\u00e9"')
    assert read_json_lines(file).to_list().run_sync() == [{"delay": 12}, [1, 2], "\u00e9"]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{'delay': 1}", "line 17: Expecting property name enclosed in double quotes at column 2"),
        (b'{"n": 25', "line 17: Expecting ',' delimiter at column 9"),
        (b"[" * 200_000, "line 17: it is nested too deeply"),
        (b"null", "line 17: null is not an element"),
        (b'"\xff"', "line 17: .*can't decode byte 0xff"),
    ],
)
def test_a_malformed_line_is_named_by_file_and_line(file: Path, line: bytes, words: str) -> None:
    file.write_bytes(b"1\n" * 16 + line + b"\n1\n")
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=100)
    read_json_lines(file).subscribe(subscriber)
    assert len(subscriber.elements) == 16
    subscriber.assert_failed(ValueError, match=f"{file}, {words}")


def test_the_rows_of_a_parquet_file_are_dictionaries_and_its_batches_stay_whole(
    file: Path,
) -> None:
    table = pyarrow.table({"number": [*range(10)]})
    parquet.write_table(table, file, row_group_size=4)
    assert read_parquet(file).to_list().run_sync() == table.to_pylist()
    batches = read_parquet(file, batches=True).to_list().run_sync() or []
    assert [batch.num_rows for batch in batches] == [4, 4, 2]


def test_a_row_group_that_is_damaged_is_named_after_the_rows_before_it(file: Path) -> None:
    table = pyarrow.table({"number": [*range(10_000)]})
    parquet.write_table(table, file, row_group_size=5_000, compression="snappy")
    start = parquet.ParquetFile(file).metadata.row_group(1).column(0).dictionary_page_offset
    content = bytearray(file.read_bytes())
    content[start : start + 200] = bytes(200)
    file.write_bytes(content)
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=10_000)
    read_parquet(file).subscribe(subscriber)
    assert len(subscriber.elements) == 5_000
    subscriber.assert_failed(ValueError, match=f"{file}, row group 1:")


def test_what_is_no_parquet_file_is_refused_at_once(file: Path) -> None:
    file.write_text("origin,delay\n")
    with pytest.raises(ValueError, match=f"{file} is no Parquet file"):
        read_parquet(file)


def three_elements(kind: str, file: Path) -> Flow[Any]:
    if kind == "csv":
        file.write_text("number\n1\n2\n3\n")
        return read_csv(file)
    if kind == "json":
        file.write_text("1\n2\n3\n")
        return read_json_lines(file)
    parquet.write_table(pyarrow.table({"number": [1, 2, 3]}), file)
    return read_parquet(file)


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_a_file_is_read_again_for_each_subscriber_and_says_so(kind: str, file: Path) -> None:
    flow = three_elements(kind, file)
    assert flow.plan.origin.replay == ("position" if kind == "parquet" else "from_start")
    assert flow.count().run_sync() == flow.count().run_sync() == 3


@pytest.mark.parametrize("kind", ["csv", "json", "parquet"])
def test_an_error_downstream_of_a_file_names_the_connector_and_the_line_that_made_it(
    kind: str, file: Path
) -> None:
    flow = three_elements(kind, file)
    file.unlink()
    with pytest.raises(FileNotFoundError) as caught:
        flow.run_sync()
    assert any("in read_" in note and __file__ in note for note in caught.value.__notes__)


def test_lines_are_read_as_they_are_wanted_and_the_file_is_closed_by_cancel(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[BinaryIO] = []
    open_file: Any = Path.open

    def watched(path: Path, *arguments: Any, **options: Any) -> Any:
        opened.append(open_file(path, *arguments, **options))
        return opened[-1]

    monkeypatch.setattr(Path, "open", watched)
    file.write_text("1\n" * 1_000_000)
    subscriber: ManualSubscriber[int] = ManualSubscriber(request=1)
    read_json_lines(file).subscribe(subscriber)
    assert subscriber.elements == [1]
    assert 0 < opened[-1].tell() < 1_000_000
    subscriber.cancel()
    assert opened[-1].closed
