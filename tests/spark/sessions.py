"""Functions whose keys time out, and what plain Python makes of the same elements.

``python -m tests.spark.sessions FOLDER TIME`` is a program to be killed: it goes on with what is in
the folder, and stores each row once.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, Final

from penstock import Flow
from penstock.spark import NumberedBatch, SparkFlow
from tests.spark.cluster import MASTER

__all__ = [
    "COUNTED",
    "EVENTS",
    "SCHEMA",
    "SESSIONS",
    "SessionProcess",
    "by_clock",
    "by_watermark",
    "counted",
    "kill_again_and_again",
    "require_counts",
    "require_exact",
    "sessions",
    "stored",
]

ROOT: Final = Path(__file__).parents[2]
START: Final = datetime(2024, 1, 1, tzinfo=UTC)
GAP: Final = timedelta(seconds=5)
LIVES: Final = timedelta(milliseconds=400)
ROWS: Final = 2_400
SCHEMA: Final = "number long, key long, at timestamp"
SESSIONS: Final = "key long, begun timestamp, rows long"
COUNTED: Final = "key long, number long, count long"
BATCH_ROWS: Final = 120


def event(number: int) -> tuple[int, int, datetime]:
    """Each key has rows for a while, and then the others have."""
    return number, number // 150 % 4 + number % 2, START + timedelta(milliseconds=100 * number)


EVENTS: Final = [*map(event, range(ROWS))]
LAST: Final = (ROWS, -1, START + timedelta(days=1))
"""After which all sessions are over."""


def sessions(key: int, rows: Iterable[Any], state: Any) -> Iterator[tuple[int, datetime, int]]:
    """Rows of a key that follow each other within the gap, once the watermark is past it."""
    begun: Any
    last: Any
    begun, last, count = state.value or (None, None, 0)
    for row in rows:
        if last is not None and row.at - last > GAP:
            yield key, begun, count
            begun, count = None, 0
        begun, last, count = begun or row.at, row.at, count + 1
    if state.timed_out:
        yield key, begun, count
        state.remove()
    else:
        state.update((begun, last, count))
        state.time_out_at(last + GAP)


def expected_sessions(events: Sequence[tuple[int, int, datetime]]) -> list[tuple[Any, ...]]:
    """The same by plain Python."""
    found: list[list[Any]] = []
    open_ones: dict[int, tuple[list[Any], datetime]] = {}
    for _, key, moment in events:
        session, last = open_ones.get(key, (None, START))
        if session is None or moment - last > GAP:
            session = [key, moment, 0]
            found.append(session)
        session[2] += 1
        open_ones[key] = session, moment
    return sorted(tuple(each) for each in found)


def counted(key: int, rows: Iterable[Any], state: Any) -> Iterator[tuple[int, int | None, int]]:
    """Each row with how many there were since the key has timed out; then that is the last one."""
    count = state.value.count if state.value else 0
    if state.timed_out:
        yield key, None, count
        state.remove()
        return
    for row in sorted(rows, key=lambda row: row.number):
        count += 1
        yield key, row.number, count
    state.update((count,))
    state.time_out_at(state.now + LIVES)


def require_counts(rows: Iterable[tuple[Any, ...]], events: Sequence[Any]) -> int:
    """Replay what came out: each number once, and counts that go on; how many have timed out."""
    numbers: dict[int, list[int]] = defaultdict(list)
    counts: dict[int, int] = defaultdict(int)
    timeouts = 0
    for key, number, count in rows:
        if number is None:
            assert count == counts[key], (key, count, counts[key])
            counts[key] = 0
            timeouts += 1
        else:
            numbers[key].append(number)
            counts[key] += 1
            assert count == counts[key], (key, number, count, counts[key])
    wanted: dict[int, list[int]] = defaultdict(list)
    for number, key, _ in events:
        wanted[key].append(number)
    assert numbers == wanted
    return timeouts


def by_watermark(flow: SparkFlow) -> SparkFlow:
    """Sessions by event time."""
    return flow.frame(lambda frame: frame.withWatermark("at", "2 seconds")).stateful(
        sessions,
        key="key",
        schema=SESSIONS,
        state="begun timestamp, last timestamp, count long",
        timeouts="event_time",
    )


def by_clock(flow: SparkFlow) -> SparkFlow:
    """Counts that begin again when nothing has come for a while."""
    return flow.stateful(
        counted, key="key", schema=COUNTED, state="count long", timeouts="processing_time"
    )


class Store:
    """Keeps batches in a database, each of them once."""

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(path, check_same_thread=False)
        self._database.execute("CREATE TABLE IF NOT EXISTS rows (a, b, c)")
        self._database.execute("CREATE TABLE IF NOT EXISTS marks (mark)")

    def add(self, batch: NumberedBatch) -> None:
        found = self._database.execute("SELECT mark FROM marks").fetchone()
        if batch.is_stored(found and found[0]):
            return
        rows = [tuple(map(plain, row.values())) for row in batch.table.to_pylist()]
        with self._database:
            self._database.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
            self._database.execute("DELETE FROM marks")
            self._database.execute("INSERT INTO marks VALUES (?)", [batch.mark])


def plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def stored(folder: Path) -> list[tuple[Any, ...]]:
    """The rows, in the order in which they were stored."""
    path = folder / "rows.db"
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        try:
            return database.execute("SELECT a, b, c FROM rows ORDER BY rowid").fetchall()
        except sqlite3.OperationalError:
            return []  # it is just being made


def require_exact(folder: Path, time: str) -> int:
    """Compare what is stored with plain Python; how many rows have come by timeouts."""
    rows = stored(folder)
    if time == "processing_time":
        return require_counts(rows, EVENTS)
    found = sorted((key, datetime.fromisoformat(begun), count) for key, begun, count in rows)
    assert found == expected_sessions(EVENTS)
    return len(found)


class SessionProcess:
    """The program, seen from the test that kills it."""

    def __init__(self, folder: Path, time: str) -> None:
        self._folder = folder
        self._said = (folder / "said").open("a+")
        self.process = subprocess.Popen(
            [sys.executable, "-m", __name__, str(folder), time],
            cwd=ROOT,
            env=os.environ,
            stdout=self._said,
            stderr=self._said,
            start_new_session=True,
        )

    def kill(self) -> None:
        """All that it has started dies with it."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._said.close()

    def end(self) -> None:
        """Wait for it."""
        code = self.process.wait()
        self._said.close()
        assert code == 0, (self._folder / "said").read_text()


def kill_again_and_again(folder: Path, time: str, kills: int) -> None:
    """Kill the program after any number of rows, and a moment more."""
    random, looking = Random(time), threading.Event()
    most = 400 if time == "processing_time" else 4
    for _ in range(kills):
        program = SessionProcess(folder, time)
        enough = len(stored(folder)) + random.randrange(1, most)
        while len(stored(folder)) < enough and program.process.poll() is None:
            looking.wait(0.005)
        looking.wait(random.uniform(0, 1.5))
        program.kill()


def main(folder: Path, time: str) -> None:
    from penstock.spark.session.spark_session import SparkSettings, spark_session

    options = {"spark.sql.shuffle.partitions": "2"}
    spark_session(SparkSettings(master=os.environ.get(MASTER), options=options))
    by_event = time == "event_time"
    flow = Flow.from_iterable([*EVENTS, LAST] if by_event else EVENTS).on_spark(
        SCHEMA, name=time, checkpoint=folder / "checkpoint", batch_rows=BATCH_ROWS
    )
    made = by_watermark(flow) if by_event else by_clock(flow)
    store = Store(folder / "rows.db")
    made.numbered_batches().for_each(store.add).run_sync()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
