"""The program that is killed while it writes into a stream of Redis.

``python -m tests.faults.redis_process FOLDER`` writes to the server that ``$PENSTOCK_TEST_REDIS``
names. With ``--crash POINT`` and ``--time N`` it kills itself when it comes to that point for the
Nth time. See ``tests.faults.sink_process``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from redis.client import Pipeline

from penstock import Retry
from penstock.connectors import write_redis_stream
from penstock.connectors.redis.sink import RedisStream
from penstock.pipeline.sinks import BatchedSink
from tests.faults.crashing import around, nothing
from tests.faults.sink_process import ROOT, run_until_a_crash, write_all

__all__ = ["REDIS_CRASHES", "started"]

SERVER: Final = "PENSTOCK_TEST_REDIS"
QUICKLY: Final = Retry(times=None, backoff=0.05, longest=0.1)
End = Callable[..., object]


def run(folder: Path) -> None:
    """Into two streams, so that a kill may come between them."""
    url = os.environ[SERVER]
    write_all(
        folder,
        {
            name: write_redis_stream(url, f"{folder.name}-{name}", reconnect=QUICKLY)
            for name in ("one", "two")
        },
    )


REDIS_CRASHES: Final[dict[str, Callable[[End], None]]] = {
    "before a transaction begins": lambda end: around(
        RedisStream, "start_transaction", before=end, after=nothing
    ),
    "when rows are kept": lambda end: around(RedisStream, "insert", before=nothing, after=end),
    "before the commit": lambda end: around(Pipeline, "execute", before=end, after=nothing),
    "after the commit": lambda end: around(Pipeline, "execute", before=nothing, after=end),
    "between two sinks that commit": lambda end: around(
        BatchedSink, "commit", before=nothing, after=end
    ),
}


def started(folder: Path, url: str, *options: str) -> subprocess.Popen[bytes]:
    """The program, which goes on with what is in the folder and at the server."""
    command = [sys.executable, "-m", __name__, str(folder), *options]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, SERVER: url})


if __name__ == "__main__":
    run_until_a_crash(run, REDIS_CRASHES)
