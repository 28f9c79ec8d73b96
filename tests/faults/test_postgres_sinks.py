"""``kill -9`` of a program, and of the server, while rows go into tables: each is there once."""

from __future__ import annotations

from pathlib import Path
from random import Random
from subprocess import Popen, TimeoutExpired

import pytest

from tests.faults.postgres_process import POSTGRES_CRASHES, started
from tests.faults.sink_process import BATCHES, Logs, rows_of
from tests.servers.postgres import Database, PostgresServer

pytestmark = pytest.mark.postgres

KILLED = -9
PATIENCE = 120


def end_in_a_crash(folder: Path, database: Database, point: str, times: int) -> int:
    """Run until that point; the exit code, which is 0 if it was never reached."""
    options = ("--crash", point, "--time", str(times))
    return started(folder, database.conninfo, *options).wait(PATIENCE)


def test_each_row_is_there_once_after_a_kill_at_each_step(
    tmp_path: Path, postgres_database: Database
) -> None:
    for point in POSTGRES_CRASHES:
        assert end_in_a_crash(tmp_path, postgres_database, point, 1) == KILLED, point
    assert started(tmp_path, postgres_database.conninfo).wait(PATIENCE) == 0
    require_each_row_once(postgres_database)
    before = state_of(postgres_database)
    assert started(tmp_path, postgres_database.conninfo).wait(PATIENCE) == 0
    assert state_of(postgres_database) == before


@pytest.mark.full
@pytest.mark.timeout(1_200)
def test_each_row_is_there_once_after_kills_at_random_steps(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    random = Random(7)
    kills = 0
    for number in range(5):
        folder, database = tmp_path / str(number), postgres_server.database()
        folder.mkdir()
        for _ in range(8):
            point = random.choice([*POSTGRES_CRASHES])
            kills += end_in_a_crash(folder, database, point, random.randrange(1, 7)) == KILLED
        assert started(folder, database.conninfo).wait(PATIENCE) == 0
        require_each_row_once(database)
    assert kills >= 20  # the others came to their end before


@pytest.mark.full
@pytest.mark.timeout(1_200)
def test_each_row_is_there_once_while_the_server_is_killed(
    tmp_path: Path, postgres_server: PostgresServer
) -> None:
    random = Random(11)
    for number in range(5):
        folder, database = tmp_path / str(number), postgres_server.database()
        folder.mkdir()
        program = started(folder, database.conninfo)
        while Logs(folder).planned < 0:
            leave(program, 0.01)
        for end in (postgres_server.kill, postgres_server.stop, postgres_server.kill):
            leave(program, random.uniform(0.0, 0.1))
            end()
            postgres_server.start()
        assert program.wait(PATIENCE) == 0
        require_each_row_once(database)


def leave(program: Popen[bytes], seconds: float) -> None:
    """Let it run for a while, or to its end."""
    try:
        program.wait(seconds)
    except TimeoutExpired:
        pass


def require_each_row_once(database: Database) -> None:
    expected = [
        (str(row["number"]), row["text"]) for batch in range(BATCHES) for row in rows_of(batch)
    ]
    for table in ("rows", "latest"):
        assert database.psql(f"SELECT number, text FROM {table} ORDER BY number") == expected


def state_of(database: Database) -> list[tuple[str, ...]]:
    """Where each row lies, and by which transaction: a finished pipeline leaves it as it is."""
    return [
        row
        for table in ("rows", "latest", "penstock_delivery")
        for row in database.psql(f"SELECT ctid, xmin FROM {table} ORDER BY ctid")
    ]
