"""``kill -9`` of a pipeline with a checkpoint on S3, two at once, and an S3 that is away."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from threading import Event

import pytest

from tests.faults.ends.lives import Life
from tests.faults.s3_pipeline import PARTITIONS, ROWS
from tests.servers.forwarder import Forwarder, forwarding
from tests.servers.s3 import S3Server

pytestmark = [pytest.mark.s3, pytest.mark.full, pytest.mark.timeout(1_200)]

PIPELINES = "tests.faults.s3_pipeline"
COMPLETED = 0
FAILED = 1
OUTAGE = 30.0


@pytest.fixture
def place(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in s3_server.environment.items():
        monkeypatch.setenv(name, value)
    return f"{s3_server.create()}/checkpoint"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Each number is there twice, so that only the state tells which ones have come."""
    lines = [json.dumps({"number": number // 2}) for number in range(2 * ROWS)]
    (tmp_path / "numbers.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def lived(folder: Path, place: str, name: str = "counted") -> Life:
    return Life(folder, {"folder": str(folder)}, f"{PIPELINES}:{name}", place)


def require_each_row_once(folder: Path) -> None:
    assert sorted(numbers_in(folder)) == [*range(ROWS)]
    with closing(sqlite3.connect(folder / "rows.db")) as database:
        found = database.execute("SELECT number FROM rows ORDER BY number").fetchall()
    assert found == [(number,) for number in range(ROWS)]


def kept_by_spark(names: list[str]) -> bool:
    """State, of which Spark has the rows."""
    return any(name.startswith("spark/state/") for name in names)


def kept_by_tasks(names: list[str]) -> bool:
    """Where the publishers ended, of the last batches."""
    return sum(name.startswith("ends-0/") for name in names) >= PARTITIONS


@pytest.mark.parametrize(
    ("name", "is_kept"),
    [
        ("counted", kept_by_spark),
        pytest.param("published", kept_by_tasks, marks=pytest.mark.read_limits),
    ],
)
def test_each_row_is_there_once_after_kills(
    folder: Path,
    place: str,
    s3_server: S3Server,
    name: str,
    is_kept: Callable[[list[str]], bool],
) -> None:
    kills = 0
    for kill in (Life.kill_group, Life.kill_alone, Life.kill_jvm, Life.kill_group):
        life = lived(folder, place, name)
        if life.await_rows(0.5 * (1 + kills)):
            kill(life)
            kills += 1
        life.end()
    for _ in range(2):  # the second time, all is there
        life = lived(folder, place, name)
        assert life.end() == COMPLETED, life.said
    assert kills >= 2
    require_each_row_once(folder)
    assert not (folder / "checkpoint").exists()
    names = s3_server.files(place)
    assert is_kept(names)
    assert {"pipeline.json", "runs.json", "spark/metadata"} <= {*names}


def test_of_two_runs_at_once_one_ends_with_a_line_and_no_row_is_lost(
    folder: Path, place: str
) -> None:
    """They write into other files, whose own locks would keep one out before."""
    other = folder / "other"
    other.mkdir()
    (other / "numbers.jsonl").write_bytes((folder / "numbers.jsonl").read_bytes())
    first = lived(folder, place)
    assert first.await_rows(0.0)
    second = lived(other, place)
    codes = [first.end(), second.end()]
    assert codes != [COMPLETED, COMPLETED]
    said = first.said + second.said
    assert "is in use by another run of the pipeline" in said or "has taken over" in said, said
    assert "Traceback" not in said
    # Of the other file the checkpoint knows only if its run was the one that went on.
    last = lived(other if codes[1] == COMPLETED else folder, place)
    assert last.end() == COMPLETED, last.said
    found = [numbers_in(each) for each in (folder, other) if (each / "out.jsonl").exists()]
    assert all(len({*numbers}) == len(numbers) for numbers in found)
    assert {*chain.from_iterable(found)} == {*range(ROWS)}


@pytest.fixture
def way(place: str, s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[Forwarder]:
    with forwarding(s3_server.port) as forwarder:
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{forwarder.port}")
        yield forwarder


@pytest.mark.parametrize("how", ["refuses", "answers nobody"])
def test_an_s3_that_is_away_for_half_a_minute_is_waited_for(
    folder: Path, place: str, s3_server: S3Server, way: Forwarder, how: str
) -> None:
    life = lived(folder, place)
    assert life.await_rows(0.5)
    with way.away() if how == "refuses" else s3_server.frozen():
        before = life.rows
        Event().wait(OUTAGE)  # that is what is tried here
        assert life.process.poll() is None, life.said
    assert before < ROWS
    assert life.end() == COMPLETED, life.said
    again = lived(folder, place)
    assert again.end() == COMPLETED, again.said
    require_each_row_once(folder)
    assert "Traceback" not in life.said


def test_an_s3_that_stays_away_ends_the_run_with_a_line_and_the_next_one_goes_on(
    folder: Path, place: str, way: Forwarder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_S3_TIMEOUT", "3")
    life = lived(folder, place)
    assert life.await_rows(0.5)
    with way.away():
        assert life.end() == FAILED, life.said
    assert "S3 does not answer" in life.said
    assert "it was waited for 3 s" in life.said
    assert "Traceback" not in life.said, life.said
    life = lived(folder, place)
    assert life.end() == COMPLETED, life.said
    require_each_row_once(folder)


def numbers_in(folder: Path) -> list[int]:
    return [json.loads(line)["number"] for line in (folder / "out.jsonl").read_text().splitlines()]
