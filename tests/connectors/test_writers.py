"""Files as sinks."""

from __future__ import annotations

import errno
import json
import os
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, collect_undelivered
from penstock.connectors import Writer, write_csv, write_json_lines, write_parquet
from penstock.delivery import DeliveryRefused
from penstock.testing import ManualPublisher
from tests.connectors.flights import Departure, Flight

PATIENCE = 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "board"


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


def test_each_element_is_a_line_of_json(file: Path) -> None:
    written(write_json_lines(file), {"a": "é\n"}, Flight("JFK", None), [1, 2])
    assert file.read_text() == '{"a": "\\u00e9\\n"}\n{"origin": "JFK", "delay": null}\n[1, 2]\n'


def test_a_file_is_replaced_or_goes_on_when_that_was_said(file: Path) -> None:
    written(write_json_lines(file), 1)
    written(write_json_lines(file, overwrite=True), 2)
    written(write_json_lines(file, append=True), 3)
    assert file.read_text() == "2\n3\n"
    assert [each.name for each in file.parent.iterdir()] == ["board"]


def test_a_file_that_is_there_is_refused_and_stays(file: Path) -> None:
    file.write_text("1\n")
    writer = write_json_lines(file)
    with collect_undelivered() as reports:
        Flow.of(2).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert type(writer.error) is FileExistsError
    assert str(writer.error) == (
        f"write_json_lines: {file} is there and has 2 bytes; overwrite=True replaces them, "
        "append=True writes after them"
    )
    assert len(reports) == 1
    assert file.read_text() == "1\n"


def test_a_file_without_bytes_is_as_good_as_none(file: Path) -> None:
    file.touch()
    written(write_json_lines(file), 1)
    assert file.read_text() == "1\n"


def test_nothing_is_appended_to_half_a_line(file: Path) -> None:
    file.write_text("1\n2")
    sink = write_json_lines(file, append=True).sink
    with pytest.raises(DeliveryRefused, match="the last line of .*board is not complete"):
        sink.open(None)
    assert file.read_text() == "1\n2"


def test_nothing_is_made_before_the_first_element_nor_by_closing(file: Path) -> None:
    publisher: ManualPublisher[Any] = ManualPublisher()
    writer = write_csv(file, ["a"])
    publisher.subscribe(writer)
    publisher.await_requested(16)
    writer.sink.close()
    writer.stop()
    assert writer.wait(PATIENCE)
    assert [*file.parent.iterdir()] == []


def test_a_file_that_was_closed_takes_no_more(file: Path) -> None:
    sink = write_json_lines(file).sink
    sink.open(None)
    sink(1)
    sink.close()
    sink.close()
    with pytest.raises(ValueError, match="is not open"):
        sink(2)
    assert file.read_text() == "1\n"


def test_a_file_has_one_writer_at_a_time(file: Path) -> None:
    first, second = write_json_lines(file).sink, write_json_lines(file, append=True).sink
    first.open(None)
    first(1)
    with pytest.raises(DeliveryRefused, match="board is being written by another sink or program"):
        second.open(None)
    first.close()
    second.open(None)
    second(3)
    second.close()
    assert file.read_text() == "1\n3\n"


@pytest.mark.parametrize(
    "write",
    [write_json_lines, partial(write_csv, columns=["a"]), write_parquet],
    ids=["json lines", "csv", "parquet"],
)
def test_to_append_and_to_overwrite_exclude_each_other(write: Any, file: Path) -> None:
    with pytest.raises(ValueError, match="append and overwrite exclude each other"):
        write(file, append=True, overwrite=True)


def test_a_csv_file_begins_with_its_columns_once(file: Path) -> None:
    columns = ["origin", "delay"]
    written(write_csv(file, columns), Flight("JFK", 12.5), {"delay": None, "origin": "E,W"})
    written(write_csv(file, columns, append=True), Departure("LGA", 3), ("EWR", 4))
    assert file.read_text().splitlines() == [
        "origin,delay",
        "JFK,12.5",
        '"E,W",',
        "LGA,3",
        "EWR,4",
    ]


def test_a_flow_without_elements_makes_a_file_without_lines(file: Path) -> None:
    written(write_csv(file, ["origin"]))
    assert file.read_text().split() == ["origin"]


def test_an_element_is_in_the_file_before_the_stream_is_over(file: Path) -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    writer = write_json_lines(file)
    publisher.subscribe(writer)
    publisher.await_requested(16)
    publisher.next(*range(16))
    publisher.await_requested(28)
    assert file.read_text().splitlines()[:12] == [str(number) for number in range(12)]
    writer.stop()
    assert writer.wait(PATIENCE)
    publisher.await_cancelled()


def test_no_more_elements_are_on_their_way_than_there_is_room_for(file: Path) -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    writer = write_json_lines(file)
    publisher.subscribe(writer)
    publisher.await_requested(16)
    assert publisher.requests == [16]
    publisher.complete()
    assert writer.wait(PATIENCE)


@pytest.mark.parametrize(
    ("element", "words"),
    [
        ({"origin": "JFK"}, "but an element has origin"),
        (("JFK", 1, 2), "an element has origin, delay, not so"),
        (17, "not so 17"),
    ],
)
def test_an_element_with_other_columns_cancels_and_is_reported(
    file: Path, element: Any, words: str
) -> None:
    publisher: ManualPublisher[Any] = ManualPublisher()
    writer = write_csv(file, ["origin", "delay"])
    publisher.subscribe(writer)
    publisher.await_requested(1)
    with collect_undelivered() as reports:
        publisher.next(element)
        assert writer.wait(PATIENCE)
    publisher.await_cancelled()
    assert words in str(writer.error)
    assert len(reports) == 1


def test_the_lines_before_one_that_cannot_be_written_are(file: Path) -> None:
    writer = write_json_lines(file)
    with collect_undelivered():
        Flow.of(*range(100), float("nan"), 101).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert str(writer.error).startswith("nan has no form in JSON")
    assert file.read_text().splitlines() == [str(number) for number in range(100)]


def test_lines_of_any_number_and_size_come_in_their_order(file: Path) -> None:
    lines = ["x" * (number * 37 % 5_000) for number in range(3_000)]
    written(write_json_lines(file), *lines)
    assert [json.loads(line) for line in file.read_text().splitlines()] == lines


def test_a_disk_that_is_full_cancels_and_is_reported() -> None:
    publisher: ManualPublisher[int] = ManualPublisher()
    writer = write_json_lines("/dev/full")
    publisher.subscribe(writer)
    publisher.await_requested(1)
    with collect_undelivered() as reports:
        publisher.next(1)
        assert writer.wait(PATIENCE)
    publisher.await_cancelled()
    assert "No space left" in str(writer.error)
    assert len(reports) == 1


def test_a_disk_that_fills_up_leaves_no_half_line(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.write

    def full(descriptor: int, content: Any) -> int:
        if len(content) > 3:
            return write(descriptor, bytes(content)[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    sink = write_json_lines(file).sink
    sink.open(None)
    sink("a")
    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left"):
        sink("bcde")
    monkeypatch.undo()
    sink.close()
    assert file.read_text() == '"a"\n'


def test_an_error_of_the_stream_is_kept_after_what_came_before(file: Path) -> None:
    writer = write_json_lines(file)
    with collect_undelivered() as reports:
        Flow.concat(Flow.of(1), Flow.error(ValueError("no more"))).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert str(writer.error) == "no more"
    assert len(reports) == 1
    assert file.read_text() == "1\n"


def test_a_pipe_whose_reader_is_gone_ends_the_stream_quietly(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    publisher: ManualPublisher[int] = ManualPublisher()
    writer = write_json_lines(pipe)
    publisher.subscribe(writer)
    publisher.await_requested(16)
    publisher.next(*range(12))
    publisher.await_requested(28)
    os.close(reader)
    publisher.next(12)
    publisher.await_cancelled()
    assert writer.wait(PATIENCE)
    assert writer.error is None


@pytest.mark.parametrize(
    "write", [write_json_lines, partial(write_csv, columns=["a"])], ids=["json lines", "csv"]
)
def test_a_place_where_no_file_can_be_is_refused_at_once(write: Any, tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match=f"{tmp_path} is a folder"):
        write(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"there is no folder {tmp_path / 'no'} for board"):
        write(tmp_path / "no" / "board")


@pytest.mark.parametrize("columns", [[], ["a", "a"], "ab", [1]])
def test_columns_that_are_none_are_refused_at_once(file: Path, columns: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="columns must be"):
        write_csv(file, columns)


def test_the_thread_of_a_writer_ends_with_the_stream(tmp_path: Path) -> None:
    writer = write_json_lines(tmp_path / "file.jsonl")
    threads: list[threading.Thread] = []
    Flow.of(1).do_on_next(lambda _: threads.extend(threading.enumerate())).subscribe(writer)
    assert writer.wait(PATIENCE)
    own = [each for each in threads + threading.enumerate() if "penstock-writer" in each.name]
    for thread in own:
        thread.join(PATIENCE)
        assert not thread.is_alive()
