"""What is known of any sink."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from penstock import AsyncSubscriber, SyncSubscriber, ThreadPool
from penstock.connectors import (
    Server,
    write_csv,
    write_json_lines,
    write_parquet,
    write_sqlite,
    write_standard_output,
)
from penstock.delivery import BatchSink, Level, level_of
from penstock.testing import ManualSubscriber


class Takes(SyncSubscriber[int]):
    def receive(self, element: int) -> bool:
        return True


class TakesLater(AsyncSubscriber[int]):
    def receive(self, element: int) -> bool:
        return True


class Declares:
    def __init__(self, level: Any) -> None:
        self.level = level

    def __call__(self, element: Any) -> None: ...


@pytest.mark.parametrize(
    ("made", "level"),
    [
        (print, "at least once"),
        (Takes(), "at least once"),
        (TakesLater(ThreadPool()), "at least once"),
        (ManualSubscriber(), None),
        (Declares("exactly once"), "exactly once"),
        (Declares("at most once"), "at most once"),
        (Declares(17), "at least once"),
        (Server, "at least once"),
    ],
    ids=["function", "sync", "async", "foreign", "declares", "declares less", "other", "server"],
)
def test_a_level_is_declared_or_follows_from_when_a_sink_is_done(
    made: Any, level: Level | None
) -> None:
    assert level_of(made) == level


def test_what_we_ship_declares_its_level_and_knows_batches(tmp_path: Path) -> None:
    path = tmp_path / "sink"
    once = [
        write_json_lines(path).sink,
        write_csv(path, ["a"]).sink,
        write_parquet(path).sink,
        write_sqlite(path, "a").sink,
    ]
    for sink in [*once, write_standard_output().sink]:
        assert isinstance(sink, BatchSink)
        assert level_of(sink) == ("exactly once" if sink in once else "at most once")
