"""A journal and a checkpoint are for their owner: others can neither read, lock nor move them."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from penstock.spark.checkpoint import Checkpoint, CheckpointError
from penstock.spark.checkpoint_owner import ABOUT
from penstock.spark.journal import Journal, JournalReader, JournalUnusable
from penstock.spark.journal.identity import LABEL
from penstock.spark.journal.private_files import (
    NotPrivate,
    make_private_folder,
    open_private,
    open_to_read,
)
from penstock.spark.journal.segments import BOUNDS
from tests.attacks.another_user import NOBODY, as_nobody, can_be_nobody, reachable_folder

ROWS = pa.record_batch({"number": [1, 2, 3]})


@pytest.fixture
def shared() -> Iterator[Path]:
    with reachable_folder() as folder:
        yield folder


@pytest.fixture(autouse=True)
def generous_umask() -> Iterator[None]:
    """Under which everything is open to everybody unless one takes care."""
    before = os.umask(0)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def written(folder: Path) -> Path:
    """A checkpoint with a journal that has rows."""
    checkpoint = Checkpoint(folder)
    checkpoint.claim("numbers", ["number bigint"])
    with Journal.open(checkpoint.for_journal(0), ROWS.schema) as journal:
        journal.append(ROWS)
    return folder


def rows_of(folder: Path) -> list[Any]:
    reader = JournalReader(str(folder / "journal-0"))
    return [row for batch in reader.read(0, 3) for row in batch.to_pylist()]


def test_all_that_is_made_is_for_its_owner_alone(shared: Path) -> None:
    folder = written(shared / "way" / "checkpoint")
    made = [shared / "way", folder, *folder.rglob("*")]
    assert {path.name for path in made} >= {"checkpoint", ABOUT, "journal-0", "lock", LABEL, BOUNDS}
    assert {path: oct(mode_of(path)) for path in made} == {
        path: oct(0o700 if path.is_dir() else 0o600) for path in made
    }
    assert rows_of(folder) == ROWS.to_pylist()


LOOK = """
import sys
for path in sys.argv[1:]:
    for look in (os.listdir, lambda path: open(path).read(), lambda path: open(path, "a")):
        try:
            print("got", look(path))
        except (PermissionError, IsADirectoryError):
            pass
    try:
        fcntl.flock(os.open(path, os.O_RDONLY), fcntl.LOCK_EX | fcntl.LOCK_NB)
        print("locked", path)
    except PermissionError:
        pass
"""


def test_another_user_reads_nothing_and_locks_nothing(shared: Path) -> None:
    folder = written(shared / "checkpoint")
    files = [folder, *folder.rglob("*")]
    if can_be_nobody():
        assert as_nobody(LOOK, *map(str, files)) == ""
        assert as_nobody("import sys; print(os.listdir(sys.argv[1]))", str(shared)) != "[]"
    assert not any(mode_of(path) & 0o077 for path in files)
    assert Journal.open(folder / "journal-0", ROWS.schema).end == 3


def test_a_folder_that_others_could_read_is_closed_to_them_and_never_opened(shared: Path) -> None:
    folder = written(shared / "checkpoint")
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    (folder / ABOUT).chmod(0o400)
    Checkpoint(folder).claim("numbers", ["number bigint"])
    with Journal.open(folder / "journal-0", ROWS.schema) as journal:
        assert journal.end == 3
    modes = {path.name: oct(mode_of(path)) for path in (folder, *folder.rglob("*"))}
    assert modes["checkpoint"] == modes["journal-0"] == "0o700"
    assert modes["lock"] == "0o600"
    assert modes[ABOUT] == "0o400"


def test_a_folder_with_things_of_others_keeps_its_permissions(shared: Path) -> None:
    (shared / "notes").write_text("mine")
    with Journal.open(shared, ROWS.schema):
        assert mode_of(shared) == 0o755
        assert mode_of(shared / "lock") == 0o600


def test_an_empty_folder_is_taken_and_closed(shared: Path) -> None:
    folder = shared / "checkpoint"
    folder.mkdir(mode=0o777)
    written(folder)
    assert mode_of(folder) == 0o700


def test_a_folder_into_which_others_could_write_is_refused_with_what_to_do(shared: Path) -> None:
    folder = written(shared / "checkpoint")
    folder.chmod(0o770)
    with pytest.raises(CheckpointError, match="others can write to .*: chmod 700"):
        Checkpoint(folder).claim("numbers", ["number bigint"])
    with pytest.raises(CheckpointError, match="others can write to"):
        Checkpoint(folder).holds("numbers", ["number bigint"])
    assert mode_of(folder) == 0o770


def of_somebody_else(shared: Path) -> Path:
    """A folder of another user: that of root, for those who are not root."""
    if not can_be_nobody():
        return Path("/usr")
    folder = shared / "theirs"
    folder.mkdir(mode=0o755)
    os.chown(folder, NOBODY.pw_uid, NOBODY.pw_gid)
    return folder


def test_a_folder_of_another_user_is_refused_also_for_root(shared: Path) -> None:
    folder = of_somebody_else(shared)
    before = folder.stat()
    for use in (Checkpoint(folder).claim, Checkpoint(folder).holds):
        with pytest.raises(CheckpointError, match=f"{folder} belongs to the user") as caught:
            use("numbers", ["number bigint"])
        assert "\n" not in str(caught.value)
    with pytest.raises(JournalUnusable, match="belongs to the user"):
        Journal.open(folder, ROWS.schema)
    after = folder.stat()
    assert (after.st_mode, after.st_mtime_ns) == (before.st_mode, before.st_mtime_ns)


def test_a_link_of_another_user_is_not_followed_to_the_folder(shared: Path) -> None:
    target, link = shared / "mine", shared / "link"
    target.mkdir(mode=0o700)
    link.symlink_to(target)
    written(link)  # one's own link says what one means
    if can_be_nobody():
        os.chown(link, NOBODY.pw_uid, NOBODY.pw_gid, follow_symlinks=False)
        with pytest.raises(CheckpointError, match="is a symbolic link of the user nobody"):
            Checkpoint(link).holds("numbers", ["number bigint"])


@pytest.mark.parametrize("name", ["lock", LABEL, BOUNDS, "00000000000000000000.segment"])
def test_a_planted_link_is_refused_and_what_it_leads_to_is_left_alone(
    shared: Path, name: str
) -> None:
    folder = written(shared / "checkpoint")
    treasure = shared / "treasure"
    planted = folder / "journal-0" / name
    treasure.write_bytes(planted.read_bytes() + b"precious")
    planted.unlink()
    planted.symlink_to(treasure)
    before = treasure.read_bytes(), treasure.stat().st_mode
    with pytest.raises(JournalUnusable, match="is a symbolic link, which was not made here"):
        Journal.open(folder / "journal-0", ROWS.schema)
    assert (treasure.read_bytes(), treasure.stat().st_mode) == before


def test_a_planted_link_at_the_name_of_a_file_to_come_is_replaced(shared: Path) -> None:
    folder, treasure = shared / "checkpoint", shared / "treasure"
    treasure.write_text("precious")
    folder.mkdir(mode=0o700)
    (folder / f"{ABOUT}.new").symlink_to(treasure)
    written(folder)
    assert treasure.read_text() == "precious"
    assert not (folder / ABOUT).is_symlink()


def test_a_planted_label_of_a_checkpoint_is_refused(shared: Path) -> None:
    folder, treasure = written(shared / "checkpoint"), shared / "treasure"
    (folder / ABOUT).rename(treasure)
    (folder / ABOUT).symlink_to(treasure)
    with pytest.raises(CheckpointError, match="is a symbolic link"):
        Checkpoint(folder).holds("numbers", ["number bigint"])


@pytest.mark.parametrize("use", [open_to_read, lambda path: open_private(path, os.O_WRONLY)])
def test_a_pipe_is_refused_without_waiting_for_its_other_end(
    shared: Path, use: Callable[[Path], int]
) -> None:
    os.mkfifo(shared / "pipe")
    refused = threading.Event()

    def attempt() -> None:
        with pytest.raises(NotPrivate, match="is no plain file"):
            use(shared / "pipe")
        refused.set()

    threading.Thread(target=attempt, daemon=True).start()
    assert refused.wait(30)


def test_a_file_is_no_folder(shared: Path) -> None:
    (shared / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="it is a file, not a folder"):
        make_private_folder(shared / "file")
