"""A server for crowds, in a process of its own, whose memory can be seen from outside."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import repeat
from pathlib import Path
from typing import Any, Literal

from penstock import Flow
from penstock.connectors import Request, Server, serve_server_sent_events, serve_websocket

__all__ = ["CrowdedServer", "Kind", "crowded_server"]

Kind = Literal["websocket", "server-sent events"]
ROOT = Path(__file__).parents[2]
LARGE = "x" * 1000


def flow_for(request: Request) -> Flow[Any]:
    """What each path is for: to wait, to be flooded, and to be served as one should be."""
    if request.path == "/quiet":
        return Flow.never()
    if request.path == "/flood":
        return Flow.from_iterable(repeat(LARGE))
    return Flow.interval(float(request.query["every"])).take(int(request.query["count"]))


def serve(kind: str) -> Server:
    """With room for a crowd."""
    if kind == "websocket":
        return serve_websocket(flow_for, max_connections=2000)
    return serve_server_sent_events(flow_for, max_connections=2000)


class CrowdedServer:
    """The process: where it is, and what it holds."""

    def __init__(self, address: str, process: int) -> None:
        self.address = address
        self._process = process

    @property
    def megabytes(self) -> float:
        """What it holds in memory."""
        pages = int(Path(f"/proc/{self._process}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6

    @property
    def processor_seconds(self) -> float:
        """What it has computed so far."""
        fields = Path(f"/proc/{self._process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @property
    def descriptors(self) -> int:
        """How many files and connections it has open."""
        return sum(1 for _ in Path(f"/proc/{self._process}/fd").iterdir())


@contextmanager
def crowded_server(kind: Kind) -> Iterator[CrowdedServer]:
    """A server until the end of the block; then it has to close by itself, and without a word."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.attacks.crowded_server", kind],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(["src", "."])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        try:
            yield CrowdedServer(process.stdout.readline().strip(), process.pid)
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
        if process.returncode or said:
            raise RuntimeError(f"the server ended with {process.returncode} and said {said:.2000}")


if __name__ == "__main__":
    with serve(sys.argv[1]) as server:
        sys.stdout.write(f"{server.address}\n")
        sys.stdout.flush()
        sys.stdin.read()
