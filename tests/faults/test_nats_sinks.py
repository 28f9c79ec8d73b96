"""``kill -9`` of a program, and of the server, while messages go into streams: each comes once."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from subprocess import Popen, TimeoutExpired

import pytest

from tests.faults.message_pipelines import ROWS, run_through_kills
from tests.faults.nats_process import NATS_CRASHES, started
from tests.faults.sink_process import BATCHES, Logs, rows_of
from tests.servers.nats import NatsServer, create_at, running_nats

pytestmark = [pytest.mark.nats, pytest.mark.full, pytest.mark.timeout(1_200)]

KILLED = -9
PATIENCE = 120
EXPECTED = [row for batch in range(BATCHES) for row in rows_of(batch)]


def place_in(tmp_path: Path, server: NatsServer) -> Path:
    """A folder, and two streams that forget ids before the next start."""
    folder = tmp_path / server.new_name()
    folder.mkdir()
    for name in ("one", "two"):
        create_at(server.url, f"{folder.name}-{name}", duplicate_window=0.1)
    return folder


def end_in_a_crash(folder: Path, server: NatsServer, point: str, times: int) -> int:
    """Run until that point; the exit code, which is 0 if it was never reached."""
    return started(folder, server.url, "--crash", point, "--time", str(times)).wait(PATIENCE)


def test_each_message_is_there_once_after_a_kill_at_each_step(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    folder = place_in(tmp_path, nats_server)
    for point in NATS_CRASHES:
        assert end_in_a_crash(folder, nats_server, point, 1) == KILLED, point
    for _ in range(2):
        assert started(folder, nats_server.url).wait(PATIENCE) == 0
        require_each_message_once(folder, nats_server)


def test_each_message_is_there_once_after_kills_at_random_steps(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    random = Random(7)
    kills = 0
    for _ in range(5):
        folder = place_in(tmp_path, nats_server)
        for _ in range(8):
            point = random.choice([*NATS_CRASHES])
            code = end_in_a_crash(folder, nats_server, point, random.randrange(1, 5))
            assert code in (KILLED, 0), point
            kills += code == KILLED
        assert started(folder, nats_server.url).wait(PATIENCE) == 0
        require_each_message_once(folder, nats_server)
    assert kills >= 20  # the others came to their end before


@pytest.mark.parametrize("seconds", [0.2, 30])
def test_each_message_is_there_once_while_the_server_is_away(
    tmp_path: Path, seconds: float
) -> None:
    with running_nats() as server:
        folder = place_in(tmp_path, server)
        program = started(folder, server.url)
        while Logs(folder).planned < 0:
            leave(program, 0.01)
        for end in (server.kill, server.stop):
            end()
            leave(program, seconds)
            server.start()
        assert program.wait(PATIENCE) == 0
        require_each_message_once(folder, server)


def test_a_pipeline_from_stream_to_stream_has_each_row_once_after_kills(
    tmp_path: Path, nats_server: NatsServer
) -> None:
    rows = [{"number": number} for number in range(ROWS)]
    source = nats_server.create([json.dumps(row).encode() for row in rows])
    sink = nats_server.create(duplicate_window=0.1)
    run_through_kills(tmp_path, "jetstream", server=nats_server.url, source=source, sink=sink)
    assert nats_server.values(sink) == rows


def leave(program: Popen[bytes], seconds: float) -> None:
    """Let it run for a while, or to its end."""
    try:
        program.wait(seconds)
    except TimeoutExpired:
        pass


def require_each_message_once(folder: Path, server: NatsServer) -> None:
    for name in ("one", "two"):
        assert server.values(f"{folder.name}-{name}") == EXPECTED
