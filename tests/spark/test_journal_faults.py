"""A system that fails in the middle of something: it happened wholly, or not at all."""

from __future__ import annotations

import errno
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock.spark.journal import JournalReader, JournalUnusable, NoSpace, local_store
from tests.spark.journals import all_rows, append_rows, open_journal, segment_files


class Failing:
    """Stands in for a function of the system that fails a number of times."""

    def __init__(self, function: Callable[..., Any], error: int, times: int = 1) -> None:
        self._function = function
        self._error = error
        self.times = times

    def __call__(self, *arguments: Any) -> Any:
        if self.times:
            self.times -= 1
            raise OSError(self._error, os.strerror(self._error))
        return self._function(*arguments)


def test_a_sync_that_fails_leaves_no_row_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3)
        size = segment_files(tmp_path)[0].stat().st_size
        monkeypatch.setattr(local_store, "sync_content", Failing(os.fsync, errno.EIO))
        with pytest.raises(JournalUnusable, match="cannot be written: .*Input/output error"):
            append_rows(journal, 3)
        assert journal.end == JournalReader(tmp_path).end() == 3
        assert segment_files(tmp_path)[0].stat().st_size == size
        append_rows(journal, 3)
        assert all_rows(tmp_path) == list(range(6))
        assert journal.bytes_held == segment_files(tmp_path)[0].stat().st_size


def test_rows_whose_end_cannot_be_published_are_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3)
        monkeypatch.setattr(os, "pwrite", Failing(os.pwrite, errno.ENOSPC))
        with pytest.raises(NoSpace):
            append_rows(journal, 3)
        assert journal.end == 3
        append_rows(journal, 3)
    with open_journal(tmp_path) as again:
        assert again.end == 6
    assert all_rows(tmp_path) == list(range(6))


def test_remains_that_cannot_be_removed_at_once_are_removed_before_the_next_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3)
        monkeypatch.setattr(local_store, "sync_content", Failing(os.fsync, errno.EIO))
        monkeypatch.setattr(os, "ftruncate", Failing(os.ftruncate, errno.EIO))
        with pytest.raises(JournalUnusable):
            append_rows(journal, 5)
        append_rows(journal, 4)
    open_journal(tmp_path).close()
    assert all_rows(tmp_path) == list(range(7))


def test_a_record_that_is_written_in_pieces_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_a_little(descriptor: int, parts: list[memoryview]) -> int:
        return os.write(descriptor, parts[0][:100])

    monkeypatch.setattr(os, "writev", write_a_little)
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3, 50)
    open_journal(tmp_path).close()
    assert all_rows(tmp_path) == list(range(53))


def test_a_segment_that_cannot_be_begun_is_begun_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_journal(tmp_path, max_bytes=8_000) as journal:
        append_rows(journal, 5)
        monkeypatch.setattr(os, "fsync", Failing(os.fsync, errno.ENOSPC))
        with pytest.raises(NoSpace):
            append_rows(journal, 5)
        append_rows(journal, 5)
        assert len(segment_files(tmp_path)) == 2
    open_journal(tmp_path).close()
    assert all_rows(tmp_path) == list(range(10))


def test_a_segment_that_cannot_be_deleted_is_deleted_with_the_next_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_journal(tmp_path, max_bytes=12_000) as journal:
        append_rows(journal, *[5] * 6)
        failing = Failing(Path.unlink, errno.EPERM)
        monkeypatch.setattr(Path, "unlink", lambda path, **_: failing(path))
        with pytest.raises(JournalUnusable, match="not permitted"):
            journal.commit(20)
        assert journal.start == 20
        journal.commit(21)
        assert sum(file.stat().st_size for file in segment_files(tmp_path)) == journal.bytes_held
        assert all_rows(tmp_path) == list(range(21, 30))


def test_a_journal_never_unpickles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("loads", "load", "Unpickler"):
        monkeypatch.setattr(pickle, name, Failing(bool, errno.EPERM, times=1000))
    with open_journal(tmp_path) as journal:
        append_rows(journal, 3)
    with open_journal(tmp_path):
        assert all_rows(tmp_path) == [0, 1, 2]
