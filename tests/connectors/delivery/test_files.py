"""Files with a record beside them: what is gone on with, what is refused, and that nothing is lost.

Each refusal is one line, and leaves every byte as it was.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import pytest

from penstock.connectors import Writer, write_csv, write_json_lines, write_parquet, write_sqlite
from penstock.connectors.shared import durable_files
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.delivery.lives import Checkpoint, ended_by_a_crash, live, refused

BATCHES = [[1, 2], [3], [4, 5]]
NOBODY = 65534


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "late.jsonl"


def record_of(file: Path) -> Path:
    return file.with_name(file.name + ".delivery")


def lived(checkpoint: Checkpoint, writer: Writer, batches: list[list[int]] = BATCHES) -> None:
    for _ in live(checkpoint, writer, batches):
        pass


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_a_restart_goes_on_after_what_was_committed(file: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_json_lines(file), BATCHES[:2])
    writer = write_json_lines(file)
    assert writer.sink.check(checkpoint.begin_run()) == f"goes on in {file} after 6 bytes"
    lived(checkpoint, writer)
    assert file.read_text() == "1\n2\n3\n4\n5\n"
    assert json.loads(record_of(file).read_text())["length"] == 10


class Steps(list[str]):
    """What is synced and renamed, in its order, on which no kill depends but a power failure."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        for name in ("sync_file", "replace_file", "sync_folder"):
            monkeypatch.setattr(durable_files, name, self._noted(name))

    def _noted(self, name: str) -> Callable[..., None]:
        function = getattr(durable_files, name)

        def step(*arguments: Any) -> None:
            what = arguments[0]
            path = what if isinstance(what, Path) else Path(f"/proc/self/fd/{what}").readlink()
            self.append(f"{name} {path.name}")
            function(*arguments)

        return step


@pytest.mark.parametrize(
    ("make", "steps"),
    [
        (
            write_json_lines,
            [
                "sync_file sink",
                "sync_file sink.delivery.new",
                "replace_file sink.delivery.new",
                "sync_folder folder",
            ],
        ),
        (
            write_parquet,
            [
                "sync_file .unfinished.parquet.new",
                "replace_file .unfinished.parquet.new",
                "sync_folder sink",
            ],
        ),
    ],
    ids=["json lines", "parquet"],
)
def test_the_disk_has_the_rows_before_anything_speaks_of_them(
    make: Callable[[Path], Writer],
    steps: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "folder").mkdir()
    sink = make(tmp_path / "folder" / "sink").sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 1})
    noted = Steps(monkeypatch)
    sink.commit(0)
    assert noted == steps
    sink.close()


def test_what_a_crash_has_left_is_cut_off(file: Path) -> None:
    checkpoint = Checkpoint()
    ended_by_a_crash(checkpoint, partial(write_json_lines, file), BATCHES, 6)
    with file.open("ab") as opened:
        opened.write(b"3\n{")
    words = write_json_lines(file).sink.check(checkpoint.begin_run())
    assert words.endswith("after 4 bytes, and cuts off 3 that were not committed")
    lived(checkpoint, write_json_lines(file))
    assert file.read_text() == "1\n2\n3\n4\n5\n"


def test_the_names_of_columns_are_there_once_even_without_rows(file: Path) -> None:
    checkpoint = Checkpoint()
    for _ in range(2):
        lived(checkpoint, write_csv(file, ["n"]), [])
    assert file.read_bytes() == b"n\r\n"


def test_nothing_is_made_by_a_check(file: Path) -> None:
    for writer in (write_json_lines(file), write_parquet(file), write_sqlite(file, "rows")):
        assert writer.sink.check(Epoch.begun()) == f"makes {file}"
        assert writer.sink.check(None) == f"makes {file}"
    assert content(file.parent) == {}


def test_a_file_of_somebody_else_is_refused(file: Path) -> None:
    file.write_text("mine\n")
    line = refused(write_json_lines(file), Epoch.begun(), FileExistsError)
    assert line == (
        f"write_json_lines: {file} is there and has 5 bytes, and no late.jsonl.delivery beside it "
        "says where to go on; overwrite=True replaces them, append=True writes after them"
    )
    assert content(file.parent) == {"late.jsonl": b"mine\n"}


@pytest.mark.parametrize(
    ("option", "kept", "said"),
    [("append", "mine\n", "goes on in"), ("overwrite", "", "replaces the 5 bytes of")],
)
def test_what_was_said_of_such_a_file_holds_for_the_first_start_only(
    file: Path, option: str, kept: str, said: str
) -> None:
    file.write_text("mine\n")
    options: dict[str, Any] = {option: True}
    make = partial(write_json_lines, file, **options)
    assert make().sink.check(Epoch.begun()).startswith(f"{said} {file}")
    checkpoint = Checkpoint()
    for steps in (0, 1, 3, 5, 9):
        ended_by_a_crash(checkpoint, make, BATCHES, steps)
    lived(checkpoint, make())
    lived(checkpoint, make())
    assert file.read_text() == f"{kept}1\n2\n3\n4\n5\n"


def test_a_new_checkpoint_may_replace_what_an_old_one_wrote_if_that_was_said(file: Path) -> None:
    lived(Checkpoint(), write_json_lines(file), [[9]])
    lived(Checkpoint(), write_json_lines(file, overwrite=True))
    assert file.read_text() == "1\n2\n3\n4\n5\n"


@pytest.mark.parametrize("options", [{}, {"append": True}])
def test_a_file_of_another_checkpoint_is_refused(file: Path, options: dict[str, Any]) -> None:
    lived(Checkpoint(), write_json_lines(file), [[9]])
    before = content(file.parent)
    line = refused(write_json_lines(file, **options), Checkpoint().begin_run())
    assert "late.jsonl was written from another checkpoint" in line
    assert content(file.parent) == before


@pytest.mark.parametrize("options", [{}, {"append": True}, {"overwrite": True}])
def test_a_checkpoint_that_was_restored_is_refused(file: Path, options: dict[str, Any]) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_json_lines(file), BATCHES[:1])
    backup = Checkpoint(checkpoint.starts, checkpoint.planned, checkpoint.done)
    lived(checkpoint, write_json_lines(file))
    before = content(file.parent)
    line = refused(write_json_lines(file, **options), backup.begin_run())
    assert "deleted or restored" in line
    assert content(file.parent) == before


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda file: file.write_text("1\n"), "has 2 bytes, and .* says that it had 10: .* cut it"),
        (
            lambda file: file.write_text("1\n2\n3\n4\n6\n7\n"),
            "has 12 bytes, and what stands before byte 10, .* has changed it",
        ),
        (lambda file: file.unlink(), "is missing, and .* says that it had 10 bytes"),
        (lambda file: record_of(file).write_text("{"), "late.jsonl.delivery is damaged"),
        (lambda file: record_of(file).write_text("[1]"), "late.jsonl.delivery is damaged"),
        (
            lambda file: record_of(file).write_text(
                json.dumps({"format": 1, "length": -1, "tail": "", "mark": None})
            ),
            "late.jsonl.delivery is damaged",
        ),
        (
            lambda file: record_of(file).write_text(
                json.dumps({"format": 2, "length": 0, "tail": "", "mark": None})
            ),
            "was written by a later version",
        ),
        (lambda file: record_of(file).unlink(), "has 10 bytes, and no late.jsonl.delivery beside"),
    ],
    ids=["cut", "changed", "file gone", "damaged", "no object", "no length", "format", "no record"],
)
@pytest.mark.parametrize("options", [{}, {"append": True}, {"overwrite": True}])
def test_what_somebody_has_changed_is_refused_and_stays(
    file: Path, change: Callable[[Path], Any], words: str, options: dict[str, Any]
) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_json_lines(file))
    change(file)
    before = content(file.parent)
    with pytest.raises((DeliveryRefused, FileExistsError), match=words):
        write_json_lines(file, **options).sink.open(checkpoint.begin_run())
    assert content(file.parent) == before


def test_a_file_that_is_changed_while_it_is_written_is_noticed(file: Path) -> None:
    for change, words in (
        (lambda: os.truncate(file, 0), "has 2 bytes instead of 4: somebody else has changed it"),
        (lambda: file.rename(file.with_name("moved")), "was moved or deleted by somebody else"),
    ):
        sink = write_json_lines(file, overwrite=True).sink
        sink.open(Epoch.begun())
        sink.begin(0)
        sink(1)
        sink.commit(0)
        change()
        sink.begin(1)
        sink(2)
        with pytest.raises(DeliveryRefused, match=words):
            sink.commit(1)
        sink.close()


def test_two_starts_at_once_are_one_too_many(file: Path) -> None:
    folder = file.with_name("folder")
    for make in (partial(write_json_lines, file), partial(write_parquet, folder)):
        epoch = Epoch.begun()
        first = make().sink
        first.open(epoch)
        with pytest.raises(DeliveryRefused, match="is being written by another sink or program"):
            make().sink.open(epoch)
        first.close()
        second = make().sink
        second.open(epoch)
        second.close()


def test_without_a_checkpoint_nothing_is_added_to_the_file_of_one(file: Path) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_json_lines(file))
    line = refused(write_json_lines(file, append=True), None)
    assert "belongs to a pipeline with a checkpoint, says late.jsonl.delivery" in line
    assert file.read_text() == "1\n2\n3\n4\n5\n"
    sink = write_json_lines(file, overwrite=True).sink
    sink.open(None)
    sink(6)
    sink.close()
    assert content(file.parent) == {"late.jsonl": b"6\n"}


def test_a_pipe_cannot_keep_the_promise_and_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "is no regular file" in refused(write_json_lines(tmp_path / "pipe"), Epoch.begun())


@pytest.fixture
def read_only() -> Iterator[Path]:
    """A folder that the user of this test cannot write, which root always could."""
    folder = Path(mkdtemp())
    (folder / "there.jsonl").write_text("1\n")
    (folder / "there.jsonl").chmod(0o444)
    folder.chmod(0o555)
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(NOBODY)
    yield folder
    if is_root:
        os.seteuid(0)
    folder.chmod(0o755)
    (folder / "there.jsonl").unlink()
    folder.rmdir()


@pytest.mark.parametrize(
    "make",
    [
        write_json_lines,
        partial(write_csv, columns=["a"]),
        write_parquet,
        partial(write_sqlite, table="a"),
    ],
    ids=["json lines", "csv", "parquet", "sqlite"],
)
def test_a_folder_that_cannot_be_written_is_refused_in_one_line(
    make: Callable[[Path], Writer], read_only: Path
) -> None:
    for epoch in (None, Epoch.begun()):
        line = refused(make(read_only / "sink"), epoch, PermissionError)
        assert f"the folder {read_only} cannot be written by this user" in line
    assert [path.name for path in read_only.iterdir()] == ["there.jsonl"]


def test_a_file_that_cannot_be_written_is_refused_in_one_line(read_only: Path) -> None:
    file = read_only / "there.jsonl"
    line = refused(write_json_lines(file, append=True), None, PermissionError)
    assert line == f"write_json_lines: {file} cannot be written by this user"
