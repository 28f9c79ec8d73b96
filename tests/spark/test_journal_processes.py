"""A journal between real processes, some of which are killed."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from random import Random

import pytest

from penstock.spark.journal import JournalInUse, JournalReader
from tests.spark.journal_process import start
from tests.spark.journals import all_rows, append_rows, open_journal


def kill_a_writer(folder: Path, random: Random) -> int:
    """Kill a writer at a random moment; where the journal ended by its last word."""
    with start("write", folder, random.randrange(1 << 30)) as writer:
        assert writer.stdout is not None
        words = [writer.stdout.readline() for _ in range(random.randrange(1, 60))]
        writer.kill()
        return int([*words, *writer.stdout][-1])


def kill_writers(folder: Path, times: int, random: Random) -> None:
    for _ in range(times):
        promised = kill_a_writer(folder, random)
        with open_journal(folder) as journal:
            assert journal.end >= promised
            assert all_rows(folder) == list(range(journal.start, journal.end))
            assert journal.last_source_position == {"after": journal.end}


def test_nothing_that_append_returned_for_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    kill_writers(tmp_path, 5, Random(5))


@pytest.mark.full
@pytest.mark.timeout(600)
def test_nothing_is_lost_over_a_hundred_kills(tmp_path: Path) -> None:
    kill_writers(tmp_path, 100, Random(6))


def test_a_writer_in_another_process_is_refused(tmp_path: Path) -> None:
    with open_journal(tmp_path):
        assert f"has a writer, the process {os.getpid()}" in answer(tmp_path)
    assert answer(tmp_path) == "opened\n"


def answer(folder: Path) -> str:
    """What another process says that wants to write."""
    with start("open", folder) as other:
        assert other.stdout is not None
        return other.stdout.read()


def test_the_lock_of_a_killed_writer_is_free(tmp_path: Path) -> None:
    with start("write", tmp_path, 0) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        with pytest.raises(JournalInUse, match=f"the process {writer.pid};"):
            open_journal(tmp_path)
        writer.kill()
    open_journal(tmp_path).close()


def test_a_reader_in_another_process_sees_only_durable_rows_and_all_of_them(
    tmp_path: Path,
) -> None:
    random = Random(7)
    with open_journal(tmp_path) as journal, contextlib.ExitStack() as stack:
        reader = stack.enter_context(start("follow", tmp_path))
        assert reader.stdout is not None
        assert reader.stdout.readline() == "ready\n"
        for _ in range(300):
            append_rows(journal, random.choice([1, 20, 1_000]))
        journal.seal()
        assert reader.stdout.read() == f"{journal.end}\n"
    assert reader.returncode == 0
    assert JournalReader(tmp_path).sealed()
