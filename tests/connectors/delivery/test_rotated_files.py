"""Files that are rotated: between which batches, what a crash leaves, and what is refused."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.connectors import Writer, tail_json_lines, write_csv, write_json_lines
from penstock.connectors.files.text_file import TextFile
from penstock.connectors.shared import durable_files
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.delivery.lives import Checkpoint, crash, live, refused

BATCHES = [[1, 2], [3], [], [4, 5, 6], [7], [8, 9]]
ROWS = [row for batch in BATCHES for row in batch]
LINES = partial(write_json_lines, rotate_bytes=4)
TABLE = partial(write_csv, columns=["n"], rotate_bytes=7)


class Killed(BaseException):
    """Nobody handles it, as nobody handles a kill."""


def dies(*_: object) -> None:
    raise Killed


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "late.jsonl"


def lived(checkpoint: Checkpoint, writer: Writer, batches: list[list[Any]] = BATCHES) -> None:
    for _ in live(checkpoint, writer, batches):
        pass


def content(folder: Path) -> dict[str, str]:
    return {
        path.name: path.read_text()
        for path in sorted(folder.iterdir())
        if path.suffix != ".delivery"
    }


def all_bytes(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in folder.iterdir()}


def test_a_file_is_rotated_after_the_batch_with_which_it_is_long_enough(file: Path) -> None:
    lived(Checkpoint(), LINES(file))
    assert content(file.parent) == {
        "late.000001.jsonl": "1\n2\n",
        "late.000002.jsonl": "3\n4\n5\n6\n",
        "late.000003.jsonl": "7\n8\n9\n",
        "late.jsonl": "",
    }
    record = json.loads(file.with_name("late.jsonl.delivery").read_text())
    assert record["length"] == 0
    assert record["rotated"]["number"] == 3


def test_each_csv_file_begins_with_the_names_of_its_columns(file: Path) -> None:
    lived(Checkpoint(), TABLE(file), [[("a",)], [("b",)], [("c",)]])
    assert [text.split() for text in content(file.parent).values()] == [
        ["n", "a", "b"],
        ["n", "c"],
    ]


def test_a_finished_pipeline_changes_nothing_when_it_runs_again(file: Path) -> None:
    for name, make in (("lines", LINES), ("table", TABLE)):
        path = file.with_name(f"{name}.txt")
        checkpoint = Checkpoint()
        lived(checkpoint, make(path), [[{"n": 1}], [{"n": 2}], [{"n": 3}]])
        before = all_bytes(file.parent)
        lived(checkpoint, make(path), [[{"n": 1}], [{"n": 2}], [{"n": 3}]])
        assert all_bytes(file.parent) == before


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664])
def test_who_may_read_the_file_may_read_those_that_follow_and_nobody_else(
    file: Path, mode: int
) -> None:
    for name in ("rotated", "interrupted"):
        path = file.with_name(f"{name}.jsonl")
        checkpoint, writer = Checkpoint(), write_json_lines(path, rotate_bytes=4)
        writer.sink.open(checkpoint.begin_run())
        path.chmod(mode)
        writer.sink.begin(0)
        writer.sink(1000)
        if name == "interrupted":
            die_amid_the_rotation(writer, 0)
            checkpoint.planned = 0
            writer = write_json_lines(path, rotate_bytes=4)
            writer.sink.open(checkpoint.begin_run())
        else:
            writer.sink.commit(0)
        writer.sink.close()
        parts = (path, path.with_name(f"{name}.000001.jsonl"))
        assert [part.stat().st_mode & 0o777 for part in parts] == [mode, mode]


def die_amid_the_rotation(writer: Writer, batch: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextFile, "_open_next", dies)
        with pytest.raises(Killed):
            writer.sink.commit(batch)
    crash(writer)


def test_by_time_a_file_is_rotated_when_its_first_rows_are_old_over_restarts(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = [1_000.0]
    monkeypatch.setattr(time, "time", lambda: clock[0])
    checkpoint = Checkpoint()
    make = partial(write_json_lines, file, rotate_every=timedelta(minutes=1))
    for number in range(1, 8):
        lived(checkpoint, make(), [[row] for row in range(number)])
        clock[0] += 25
    assert content(file.parent) == {
        "late.000001.jsonl": "0\n1\n2\n3\n",
        "late.jsonl": "4\n5\n6\n",
    }


def test_without_batches_a_file_is_rotated_between_two_rows(file: Path) -> None:
    Flow.range(10, 15).subscribe(writer := write_json_lines(file, rotate_bytes=5))
    assert writer.wait()
    assert writer.error is None
    assert content(file.parent) == {
        "late.000001.jsonl": "10\n11\n",
        "late.000002.jsonl": "12\n13\n",
        "late.jsonl": "14\n",
    }


@contextmanager
def killed_at(step: int) -> Iterator[None]:
    """Each change of a file is a step, before which, or halfway through, the program ends."""
    steps = count(1)

    def is_over() -> bool:
        return next(steps) == step

    def ending(function: Callable[..., Any]) -> Callable[..., Any]:
        def changed(*arguments: Any) -> Any:
            if is_over():
                raise Killed
            return function(*arguments)

        return changed

    def half(descriptor: int, text: bytes) -> int:
        if is_over():
            write(descriptor, text[: len(text) // 2])
            raise Killed
        return write(descriptor, text)

    write = os.write
    with pytest.MonkeyPatch.context() as patch:
        for name in ("sync_file", "replace_file", "sync_folder", "lock_file"):
            patch.setattr(durable_files, name, ending(getattr(durable_files, name)))
        patch.setattr(os, "ftruncate", ending(os.ftruncate))
        patch.setattr(os, "write", half)
        yield


def rows_in(file: Path) -> list[int]:
    parts = [*sorted(file.parent.glob("late.[0-9]*.jsonl")), file]
    return [int(line) for part in parts for line in part.read_text().split() if line != "n"]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(LINES, id="json lines", marks=pytest.mark.full),  # a table has a header, too
        pytest.param(TABLE, id="csv"),
    ],
)
def test_each_row_is_there_once_after_a_kill_at_each_step_and_at_each_of_the_next_start(
    make: Callable[[Path], Writer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # a kill does not ask for it

    def rows() -> list[list[Any]]:
        return [[(row,) if make is TABLE else row for row in batch] for batch in BATCHES]

    kills = 0
    for first in count(1):
        for second in range(1, 14):
            folder = tmp_path / f"{first}-{second}"
            folder.mkdir()
            file, checkpoint = folder / "late.jsonl", Checkpoint()
            struck = killed(first, checkpoint, make(file), rows())
            again = killed(second, checkpoint, make(file), rows())
            lived(checkpoint, make(file), rows())
            assert rows_in(file) == ROWS
            assert all(part.read_text() for part in folder.glob("late.0*"))
            kills += struck + again
        if not struck:
            break
    assert kills > 500


def killed(step: int, checkpoint: Checkpoint, writer: Writer, batches: list[list[Any]]) -> bool:
    """One life, which may end at that step; whether it did."""
    try:
        with killed_at(step):
            lived(checkpoint, writer, batches)
    except Killed:
        crash(writer)
        return True
    return False


def test_a_rotation_that_was_interrupted_is_said_by_a_check(file: Path) -> None:
    checkpoint = Checkpoint()
    writer = LINES(file)
    life = live(checkpoint, writer, BATCHES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TextFile, "_open_next", dies)
        with pytest.raises(Killed):
            list(life)
    assert not file.exists()
    words = LINES(file).sink.check(checkpoint.begin_run())
    assert words == f"goes on in {file} after {file.with_name('late.000001.jsonl')}"
    assert not file.exists()


def test_a_number_that_somebody_else_has_used_is_refused_and_stays(file: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, LINES(file))
    foreign = file.with_name("late.000004.jsonl")
    foreign.write_text("mine\n")
    before = all_bytes(file.parent)
    assert refused(LINES(file), checkpoint.begin_run()) == (
        f"write_json_lines: {foreign} is there, and this pipeline has rotated {file} up to number "
        "3 only: it is somebody else's; move it away, or give the pipeline another file"
    )
    assert all_bytes(file.parent) == before


def test_a_name_that_is_taken_while_it_runs_is_refused_and_the_batch_is_stored(file: Path) -> None:
    checkpoint = Checkpoint()
    writer = LINES(file)
    foreign = file.with_name("late.000001.jsonl")
    life = live(checkpoint, writer, BATCHES)
    assert next(life) == "open"
    foreign.write_text("mine\n")
    with pytest.raises(DeliveryRefused, match=r"late.000001.jsonl is there already, and .*late"):
        list(life)
    writer.sink.close()
    assert content(file.parent) == {"late.000001.jsonl": "mine\n", "late.jsonl": "1\n2\n"}
    foreign.unlink()
    lived(checkpoint, LINES(file))
    assert rows_in(file) == ROWS


def test_a_copy_of_the_file_is_not_taken_for_one_that_was_rotated(file: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, LINES(file), [[1]])
    file.with_name("late.000001.jsonl").write_text(file.read_text())
    assert "it is somebody else's" in refused(LINES(file), checkpoint.begin_run())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("7\n", "has 2 bytes, and had 6 when it was rotated"),
        ("7\n8\n8\n", "has 6 bytes, and had 6"),
    ],
)
def test_the_last_rotated_file_is_refused_when_somebody_has_changed_it(
    file: Path, text: str, words: str
) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, LINES(file))
    file.with_name("late.000003.jsonl").write_text(text)
    line = refused(LINES(file), checkpoint.begin_run())
    assert f"late.000003.jsonl {words}" in line
    assert "restore it, or move it away" in line


def test_rotated_files_may_be_moved_away_or_compressed(file: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, LINES(file), BATCHES[:4])
    for part in file.parent.glob("late.0*"):
        part.rename(part.with_name(f"{part.name}.gz"))
    lived(checkpoint, LINES(file))
    assert content(file.parent).keys() == {
        *("late.000001.jsonl.gz", "late.000002.jsonl.gz", "late.000003.jsonl", "late.jsonl")
    }


@pytest.mark.parametrize("epoch", [None, Epoch.begun()], ids=["alone", "checkpoint"])
def test_files_that_seem_rotated_are_refused_unless_it_is_said_to_append_after_them(
    file: Path, epoch: Epoch | None
) -> None:
    foreign = file.with_name("late.000007.jsonl")
    foreign.write_text("mine\n")
    line = refused(LINES(file), epoch, FileExistsError)
    assert f"{foreign} is there, to which {file} would be rotated" in line
    assert "append=True goes on after it" in line
    line = refused(LINES(file, overwrite=True), epoch, FileExistsError)
    assert "overwrite=True does not delete it; move it away" in line
    assert content(file.parent) == {"late.000007.jsonl": "mine\n"}
    sink = LINES(file, append=True).sink
    sink.open(epoch)
    for number in (0, 1):
        sink.begin(number)
        for row in BATCHES[number]:
            sink(row)
        sink.commit(number)
    sink.close()
    assert content(file.parent) == {
        "late.000007.jsonl": "mine\n",
        "late.000008.jsonl": "1\n2\n",
        "late.jsonl": "3\n",
    }


def test_overwrite_deletes_what_an_earlier_checkpoint_has_rotated(file: Path) -> None:
    lived(Checkpoint(), LINES(file))
    writer = LINES(file, overwrite=True)
    assert writer.sink.check(Epoch.begun()).endswith(", and deletes 3 to which it was rotated")
    lived(Checkpoint(), writer, [[1, 2], [3]])
    assert content(file.parent) == {"late.000001.jsonl": "1\n2\n", "late.jsonl": "3\n"}


def test_a_pipeline_that_has_batches_finds_its_record_missing(file: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, LINES(file))
    file.with_name("late.jsonl.delivery").unlink()
    line = refused(LINES(file), checkpoint.begin_run())
    assert "late.000003.jsonl is there, and no late.jsonl.delivery beside it" in line


@pytest.mark.parametrize(
    "rotated", [{"number": -1}, {"last": [1]}, {"since": "noon"}, {"last": [1, 2]}, 3]
)
def test_a_record_whose_rotation_is_damaged_is_refused(file: Path, rotated: Any) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, LINES(file))
    path = file.with_name("late.jsonl.delivery")
    path.write_text(json.dumps({**json.loads(path.read_text()), "rotated": rotated}))
    assert "late.jsonl.delivery is damaged" in refused(LINES(file), checkpoint.begin_run())


def test_rotation_can_be_begun_and_ended_over_restarts(file: Path) -> None:
    checkpoint = Checkpoint()
    for number, most in enumerate((None, 4, None, 4), 1):
        batches = [[row, row] for row in range(number)]
        lived(checkpoint, write_json_lines(file, rotate_bytes=most), batches)
    assert content(file.parent) == {
        "late.000001.jsonl": "0\n0\n1\n1\n",
        "late.000002.jsonl": "2\n2\n3\n3\n",
        "late.jsonl": "",
    }


def test_a_pipe_is_not_rotated(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for epoch in (None, Epoch.begun()):
        assert "cannot be rotated" in refused(LINES(tmp_path / "pipe"), epoch)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rotate_bytes": 0}, "write_json_lines: rotate_bytes must be at least 1, not 0"),
        (
            {"rotate_bytes": 1.5},
            "write_json_lines: rotate_bytes must be an int of at least 1, not 1.5",
        ),
        ({"rotate_every": 0}, "write_json_lines: rotate_every must be above 0 seconds, not 0"),
        ({"rotate_every": "1h"}, "rotate_every must be seconds or a timedelta, not '1h'"),
    ],
)
def test_what_cannot_be_meant_is_refused_at_once(
    file: Path, options: dict[str, Any], words: str
) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        write_json_lines(file, **options)


def test_our_own_tail_reads_all_parts_one_after_the_other(file: Path) -> None:
    checkpoint = Checkpoint()
    batches = [[{"n": row} for row in batch] for batch in ([0], *BATCHES)]
    make = partial(write_json_lines, file, rotate_bytes=16)
    lived(checkpoint, make(), batches[:1])
    (first,) = tail_json_lines(file).take(1).to_list().run_sync() or []
    lived(checkpoint, make(), batches)
    assert len(content(file.parent)) > 3
    rest = tail_json_lines(file, after=first.position).take(len(ROWS)).to_list().run_sync()
    assert [line.value["n"] for line in rest or []] == ROWS
