"""The program that is killed while it writes into a stream of NATS.

``python -m tests.faults.nats_process FOLDER`` writes to the server that ``$PENSTOCK_TEST_NATS``
names. With ``--crash POINT`` and ``--time N`` it kills itself when it comes to that point for the
Nth time. See ``tests.faults.sink_process``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from nats.aio.client import Client

from penstock import Retry
from penstock.connectors import write_jetstream
from penstock.connectors.nats.marks import Marks, Progress
from penstock.connectors.nats.stream_sink import StreamSink
from penstock.pipeline.sinks import BatchedSink
from tests.faults.crashing import around, nothing
from tests.faults.sink_process import ROOT, run_until_a_crash, write_all

__all__ = ["NATS_CRASHES", "started"]

SERVER: Final = "PENSTOCK_TEST_NATS"
QUICKLY: Final = Retry(times=None, backoff=0.05, longest=0.1)
SOME: Final = 700
"""Rows of a batch, and not a multiple of what is sent at a time."""
End = Callable[..., object]


def run(folder: Path) -> None:
    """Into two streams, so that a kill may come between them."""
    url = os.environ[SERVER]
    streams = {name: f"{folder.name}-{name}" for name in ("one", "two")}
    write_all(
        folder,
        {
            name: write_jetstream(url, stream, f"{stream}.rows", reconnect=QUICKLY)
            for name, stream in streams.items()
        },
    )


def amid_the_rows(end: End) -> None:
    """When some rows are sent, of which the server has some."""
    publish = Client.publish
    sent = iter(range(1, sys.maxsize))

    async def counted(self: Client, *arguments: Any, **given: Any) -> None:
        await publish(self, *arguments, **given)
        if next(sent) % SOME == 0:
            await self.flush()
            end()

    Client.publish = counted  # type: ignore[method-assign]


def before_a_mark(end: End) -> None:
    around(Marks, "store", before=end, after=nothing)


def after_a_mark(end: End) -> None:
    """The first one of a batch, or the last."""
    store = Marks.store

    async def stored(self: Marks, progress: Progress) -> None:
        await store(self, progress)
        end()

    Marks.store = stored  # type: ignore[method-assign]


NATS_CRASHES: Final[dict[str, Callable[[End], None]]] = {
    "when rows are kept": lambda end: around(StreamSink, "insert", before=nothing, after=end),
    "before a mark": before_a_mark,
    "after a mark": after_a_mark,
    "amid the rows": amid_the_rows,
    "between two sinks that commit": lambda end: around(
        BatchedSink, "commit", before=nothing, after=end
    ),
}


def started(folder: Path, url: str, *options: str) -> subprocess.Popen[bytes]:
    """The program, which goes on with what is in the folder and at the server."""
    command = [sys.executable, "-m", __name__, str(folder), *options]
    return subprocess.Popen(command, cwd=ROOT, env={**os.environ, SERVER: url})


if __name__ == "__main__":
    run_until_a_crash(run, NATS_CRASHES)
