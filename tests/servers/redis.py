"""A Redis server of the tests' own, and ``redis-cli``, which sees it as any other program does."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest

from tests.held_port import held_port
from tests.servers.process import ServerProcess, running

__all__ = ["RedisServer", "entries_at", "prepare_redis", "redis_server", "running_redis"]

PASSWORD: Final = "s3cret"


def prepare_redis() -> None:
    """Find the programs of Redis."""
    for name in ("redis-server", "redis-cli"):
        if shutil.which(name) is None:
            raise LookupError(f"there is no {name}: apt-get install redis-server")


class RedisServer(ServerProcess):
    """A server that keeps what it has acknowledged; ``url`` and ``port`` are for clients."""

    def __init__(self, folder: Path, port: int) -> None:
        self._names = count(1)
        self.port = port
        super().__init__(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(port), "--requirepass", PASSWORD,
             "--dir", str(folder), "--save", "", "--appendonly", "yes", "--appendfsync", "always"],
            folder,
            self._is_ready,
        )  # fmt: skip

    @property
    def url(self) -> str:
        return f"redis://:{PASSWORD}@127.0.0.1:{self.port}/0"

    @property
    def address(self) -> str:
        """How messages call it."""
        return f"redis://127.0.0.1:{self.port}/0"

    def new_name(self) -> str:
        """Of a stream that no other test has."""
        return f"stream-{next(self._names)}"

    def command(self, *words: object) -> Any:
        """What ``redis-cli`` gets for a command."""
        return answer(self.url, *words)

    def entries(self, stream: str) -> list[dict[str, str]]:
        """The fields of all entries, in order."""
        return entries_at(self.url, stream)

    def _is_ready(self) -> bool:
        asked = ["redis-cli", "-p", str(self.port), "--no-auth-warning", "-a", PASSWORD, "PING"]
        done = subprocess.run(asked, check=False, capture_output=True, text=True)
        return done.stdout.strip() == "PONG"


def answer(url: str, *words: object) -> Any:
    """What ``redis-cli`` gets from a server for a command."""
    parts = urlsplit(url)
    access = ["--no-auth-warning", "-p", str(parts.port), "-a", parts.password or ""]
    done = subprocess.run(
        ["redis-cli", "-e", "--json", *access, *map(str, words)],
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def entries_at(url: str, stream: str) -> list[dict[str, str]]:
    """The fields of all entries of a stream, in order."""
    found = answer(url, "XRANGE", stream, "-", "+")
    return [dict(zip(fields[::2], fields[1::2], strict=True)) for _, fields in found]


@contextmanager
def running_redis() -> Iterator[RedisServer]:
    """A server with an empty folder of its own, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="penstock-redis-") as name, held_port() as port:
        server = RedisServer(Path(name), port)
        with running(server):
            yield server


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """The server of this process of tests."""
    with running_redis() as server:
        yield server
