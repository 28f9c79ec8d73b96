"""``kill -9`` of a program, and of the server, while entries go into streams: each comes once."""

from __future__ import annotations

from pathlib import Path
from random import Random
from subprocess import Popen, TimeoutExpired

import pytest

from tests.faults.redis_process import REDIS_CRASHES, started
from tests.faults.sink_process import BATCHES, Logs, rows_of
from tests.servers.redis import RedisServer

pytestmark = pytest.mark.redis

KILLED = -9
PATIENCE = 120


def end_in_a_crash(folder: Path, server: RedisServer, point: str, times: int) -> int:
    """Run until that point; the exit code, which is 0 if it was never reached."""
    return started(folder, server.url, "--crash", point, "--time", str(times)).wait(PATIENCE)


def test_each_entry_is_there_once_after_a_kill_at_each_step(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    folder = tmp_path / redis_server.new_name()
    folder.mkdir()
    for point in REDIS_CRASHES:
        assert end_in_a_crash(folder, redis_server, point, 1) == KILLED, point
    assert started(folder, redis_server.url).wait(PATIENCE) == 0
    require_each_entry_once(folder, redis_server)
    assert started(folder, redis_server.url).wait(PATIENCE) == 0
    require_each_entry_once(folder, redis_server)


@pytest.mark.full
@pytest.mark.timeout(1_200)
def test_each_entry_is_there_once_after_kills_at_random_steps(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    random = Random(7)
    kills = 0
    for _ in range(5):
        folder = tmp_path / redis_server.new_name()
        folder.mkdir()
        for _ in range(8):
            point = random.choice([*REDIS_CRASHES])
            kills += end_in_a_crash(folder, redis_server, point, random.randrange(1, 5)) == KILLED
        assert started(folder, redis_server.url).wait(PATIENCE) == 0
        require_each_entry_once(folder, redis_server)
    assert kills >= 20  # the others came to their end before


@pytest.mark.timeout(300)
def test_each_entry_is_there_once_while_the_server_is_killed(
    tmp_path: Path, redis_server: RedisServer
) -> None:
    folder = tmp_path / redis_server.new_name()
    folder.mkdir()
    program = started(folder, redis_server.url)
    while Logs(folder).planned < 0:
        leave(program, 0.01)
    for end in (redis_server.kill, redis_server.stop):
        end()
        leave(program, 0.2)
        redis_server.start()
    assert program.wait(PATIENCE) == 0
    require_each_entry_once(folder, redis_server)


def leave(program: Popen[bytes], seconds: float) -> None:
    """Let it run for a while, or to its end."""
    try:
        program.wait(seconds)
    except TimeoutExpired:
        pass


def require_each_entry_once(folder: Path, server: RedisServer) -> None:
    expected = [
        {"number": str(row["number"]), "text": row["text"]}
        for batch in range(BATCHES)
        for row in rows_of(batch)
    ]
    for name in ("one", "two"):
        assert server.entries(f"{folder.name}-{name}") == expected
