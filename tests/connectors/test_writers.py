"""Files as sinks."""

from __future__ import annotations

import errno
import os
import threading
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from penstock import Flow, collect_undelivered
from penstock.connectors import Writer, write_csv, write_json_lines
from penstock.testing import ManualPublisher

PATIENCE = 60


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "board"


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


class Flight(NamedTuple):
    origin: str
    delay: float | None


@dataclass
class Departure:
    origin: str
    delay: float


def test_each_element_is_a_line_of_json(file: Path) -> None:
    written(write_json_lines(file), {"a": "é\n"}, Flight("JFK", None), [1, 2])
    assert file.read_text() == '{"a": "\\u00e9\\n"}\n{"origin": "JFK", "delay": null}\n[1, 2]\n'


def test_a_file_is_made_anew_or_goes_on(file: Path) -> None:
    written(write_json_lines(file), 1)
    written(write_json_lines(file), 2)
    written(write_json_lines(file, append=True), 3)
    assert file.read_text() == "2\n3\n"


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


def test_a_disk_that_is_full_cancels_and_is_reported(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_file: Any = Path.open

    class FullDisk:
        def __init__(self, opened: Any) -> None:
            self._opened = opened

        def __getattr__(self, name: str) -> Any:
            return getattr(self._opened, name)

        def flush(self) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(
        Path, "open", lambda path, *how, **options: FullDisk(open_file(path, *how, **options))
    )
    publisher: ManualPublisher[int] = ManualPublisher()
    writer = write_json_lines(file)
    publisher.subscribe(writer)
    publisher.await_requested(1)
    with collect_undelivered() as reports:
        publisher.next(1)
        assert writer.wait(PATIENCE)
    publisher.await_cancelled()
    assert "No space left" in str(writer.error)
    assert len(reports) == 1


def test_an_error_of_the_stream_is_kept_behind_what_came_before(file: Path) -> None:
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
