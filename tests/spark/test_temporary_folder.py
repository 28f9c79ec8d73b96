"""Temporary folders: those of the dead are removed, and never one of the living."""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import socket
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NoReturn

import pytest

from penstock.spark.session.temporary_files import folder_of_jvm, java_option, sockets_in
from penstock.spark.temporary_folder import AS_FOLDER, PREFIX, TemporaryFolder
from tests.attacks.another_user import NOBODY, can_be_nobody

PROGRAM = """
import sys
from penstock.spark.temporary_folder import TemporaryFolder

folder = TemporaryFolder()
(folder.path / "block").write_text("of a gigabyte")
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where temporary folders are."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def abandoned(place: Path, name: str = "abandoned") -> Path:
    """As a killed program leaves it."""
    folder = place / f"{PREFIX}{name}"
    (folder / "blockmgr" / "0c").mkdir(parents=True)
    (folder / "blockmgr" / "0c" / "block").write_text("of a gigabyte")
    return folder


def test_it_is_for_its_user_alone_until_it_is_removed(place: Path) -> None:
    before = os.umask(0)
    try:
        folder = TemporaryFolder()
    finally:
        os.umask(before)
    assert folder.path.parent == place
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    (folder.path / "block").write_text("of a gigabyte")
    folder.remove()
    folder.remove()
    assert [*place.iterdir()] == []


def test_that_of_a_killed_program_goes_and_that_of_a_living_one_stays(place: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "TMPDIR": str(place)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as program:
        assert program.stdout is not None
        theirs = Path(program.stdout.readline().strip())
        ours = TemporaryFolder()
        TemporaryFolder().remove()
        assert {*place.iterdir()} == {theirs, ours.path}
        assert (theirs / "block").exists()
        program.kill()
        program.wait()
    assert {*place.iterdir()} == {theirs, ours.path}
    TemporaryFolder().remove()
    assert [*place.iterdir()] == [ours.path]


def test_what_is_not_ours_stays(place: Path) -> None:
    outside = place / "precious"
    outside.mkdir()
    (outside / "file").write_text("")
    (place / f"{PREFIX}link").symlink_to(outside)
    (place / f"{PREFIX}file").write_text("")
    (place / "spark-of-somebody").mkdir()
    os.mkfifo(place / f"{PREFIX}pipe")
    if can_be_nobody():
        os.chown(abandoned(place, "theirs"), NOBODY.pw_uid, NOBODY.pw_gid)
    before = {*place.rglob("*")}
    abandoned(place)
    TemporaryFolder().remove()
    assert {*place.rglob("*")} == before


def test_what_cannot_be_removed_stays_and_is_no_error(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = abandoned(place)

    def refuse(path: object, *, dir_fd: int | None = None) -> NoReturn:
        raise OSError(errno.EROFS, "Read-only file system", path)

    with monkeypatch.context() as patched:
        for name in ("unlink", "rmdir"):
            patched.setattr(os, name, refuse)
        made = TemporaryFolder()
    assert folder.exists()
    TemporaryFolder().remove()
    assert [*place.iterdir()] == [made.path]


# Others who start at the same moment.


def test_one_that_another_program_removes_before_it_is_locked_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make = tempfile.mkdtemp
    lost: list[str] = []

    def make_and_lose(prefix: str) -> str:
        made = make(prefix=prefix)
        if not lost:
            lost.append(made)
            shutil.rmtree(made)
        return made

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_lose)
    folder = TemporaryFolder()
    assert [*place.iterdir()] == [folder.path]
    TemporaryFolder().remove()
    assert [*place.iterdir()] == [folder.path]


def test_one_that_another_program_is_removing_is_made_again(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, lock = tempfile.mkdtemp, fcntl.flock
    removing: list[tuple[Path, int]] = []

    def make_and_be_found(prefix: str) -> str:
        made = make(prefix=prefix)
        monkeypatch.setattr(tempfile, "mkdtemp", make)
        removing.append((Path(made), os.open(made, AS_FOLDER)))
        lock(removing[0][1], fcntl.LOCK_EX)
        return made

    def wait_for_the_other(descriptor: int, operation: int) -> None:
        for path, held in removing:
            path.rmdir()
            os.close(held)
        removing.clear()
        lock(descriptor, operation)

    monkeypatch.setattr(tempfile, "mkdtemp", make_and_be_found)
    monkeypatch.setattr(fcntl, "flock", wait_for_the_other)
    folder = TemporaryFolder()
    assert [*place.iterdir()] == [folder.path]


def test_many_that_are_made_at_once_are_all_there(place: Path) -> None:
    for number in range(20):
        abandoned(place, str(number))
    with ThreadPoolExecutor(8) as threads:
        made = [*threads.map(lambda _: TemporaryFolder(), range(200))]
    assert {*place.iterdir()} == {folder.path for folder in made}
    for folder in made:
        folder.leave()
    TemporaryFolder().remove()
    assert [*place.iterdir()] == []


def test_without_locks_nobody_removes_what_may_be_in_use(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(descriptor: int, operation: int) -> NoReturn:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    folder = TemporaryFolder()
    TemporaryFolder().remove()
    assert [*place.iterdir()] == [folder.path]
    folder.remove()
    assert [*place.iterdir()] == []


# The folder of a JVM; those of programs with a JVM are in tests/cli.


@pytest.fixture
def no_jvm(monkeypatch: pytest.MonkeyPatch) -> None:
    """As before the first session of a program."""
    monkeypatch.setattr("penstock.spark.session.temporary_files.own_jvm", lambda: None)
    monkeypatch.setattr("penstock.spark.session.temporary_files._held", [])
    for name in ("SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS", "JAVA_TOOL_OPTIONS"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("no_jvm")
def test_a_second_jvm_gets_another_folder_and_that_of_the_dead_one_goes(place: Path) -> None:
    with folder_of_jvm({}) as first:
        assert first is not None
    with folder_of_jvm({}) as second:
        assert second is not None
    assert first != second
    assert [*place.iterdir()] == [second]


@pytest.mark.usefixtures("no_jvm")
def test_a_jvm_that_does_not_start_leaves_no_folder(place: Path) -> None:
    with pytest.raises(OSError, match="no java"), folder_of_jvm({}):
        raise OSError("no java")
    assert [*place.iterdir()] == []


@pytest.mark.usefixtures("no_jvm")
@pytest.mark.parametrize(
    "variable", ["SPARK_SUBMIT_OPTS", "PYSPARK_SUBMIT_ARGS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"]
)
def test_the_place_that_the_user_names_is_left_alone(
    variable: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, "-Xmx1g -Djava.io.tmpdir=/fast")
    with folder_of_jvm({}) as folder:
        assert folder is None
    assert [*place.iterdir()] == []


@pytest.mark.usefixtures("no_jvm")
def test_options_of_the_user_are_left_alone(place: Path) -> None:
    with folder_of_jvm({"spark.driver.extraJavaOptions": "-Xss4m"}) as folder:
        assert folder is None
    assert [*place.iterdir()] == []


@pytest.mark.usefixtures("no_jvm")
@pytest.mark.parametrize("where", ["/proc", "/dev/null", "/nowhere"])
def test_where_there_is_no_place_for_a_folder_spark_finds_its_own(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", where)
    with folder_of_jvm({}) as folder:
        assert folder is None


def test_the_option_of_java_has_quotes_since_paths_may_have_spaces() -> None:
    assert java_option(Path('/a b/"c"\\d')) == r'"-Djava.io.tmpdir=/a b/\"c\"\\d"'


# Sockets of workers in it.


@pytest.fixture
def short() -> Iterator[Path]:
    """A folder with a path that is short on any machine."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        yield Path(place)


def test_a_folder_has_sockets_as_far_as_spark_takes_its_path(short: Path) -> None:
    longest, longer = (short / ("x" * (size - len(f"{short}/"))) for size in (61, 62))
    for folder in (longest, longer):
        folder.mkdir()
    assert sockets_in(longest)["spark.python.unix.domain.socket.dir"] == str(longest)
    assert sockets_in(longer) == {}
    assert [*longest.iterdir()] == []


def test_it_is_the_bytes_of_a_path_that_count(short: Path) -> None:
    folder = short / ("\u00e4" * 30)
    folder.mkdir()
    assert len(str(folder)) < 61 < len(os.fsencode(folder))
    assert sockets_in(folder) == {}


def test_where_a_file_system_knows_no_sockets_there_are_none(
    short: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class OfAnotherSystem(socket.socket):
        def bind(self, address: object) -> NoReturn:
            raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(socket, "socket", OfAnotherSystem)
    assert sockets_in(short) == {}
