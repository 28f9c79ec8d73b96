"""A server of S3 of the tests' own, and plain requests, as any other program makes them."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Final
from urllib.parse import quote
from xml.etree import ElementTree

import pytest

from tests.held_port import held_port
from tests.servers.process import ServerProcess, running

__all__ = ["REGION", "WHO", "S3Server", "prepare_s3", "running_s3", "s3_server"]

LOCKED: Final = Path(__file__).parents[2] / "requirements" / "s3-server.txt"
REGION: Final = "us-east-1"
WHO: Final = {
    "AWS_ACCESS_KEY_ID": "penstock",
    "AWS_SECRET_ACCESS_KEY": "s3cret",
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
}
SCOPE: Final = f"judge/20260101/{REGION}/s3/aws4_request"
SIGNED: Final = {"Authorization": f"AWS4-HMAC-SHA256 Credential={SCOPE}"}
NAMES: Final = "{http://s3.amazonaws.com/doc/2006-03-01/}"


@cache
def prepare_s3() -> str:
    """See to it that the server is at hand, in an environment of its own; the Python of that."""
    import_module("obstore")
    version = hashlib.sha256(LOCKED.read_bytes() + sys.version.encode()).hexdigest()[:16]
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = caches / "penstock" / f"s3-server-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    python = folder / "bin" / "python"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several processes run tests
        if not (folder / "ready").exists():
            venv.create(folder, with_pip=True)
            install(python)
            (folder / "ready").touch()
    return str(python)


def install(python: Path) -> None:
    command = [str(python), "-m", "pip", "install", "-q", "--require-hashes", "-r", str(LOCKED)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise LookupError(f"moto could not be installed: {done.stderr.strip()[-300:]}")


class S3Server(ServerProcess):
    """It keeps all in memory; ``environment`` is what its clients need.

    With ``strict``, it lets nobody in: no user was made there.
    """

    def __init__(self, folder: Path, port: int, *, strict: bool) -> None:
        self._numbers = count(1)
        self.port = port
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {**WHO, "AWS_ENDPOINT_URL": self.url}
        more = {"INITIAL_NO_AUTH_ACTION_COUNT": "0"} if strict else {}
        super().__init__(
            [prepare_s3(), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            folder,
            self._is_ready,
            {**os.environ, **WHO, **more},
        )

    def create(self) -> str:
        """A new bucket, as a URI."""
        bucket = f"bucket-{next(self._numbers)}"
        self._answer(bucket, "PUT")
        return f"s3://{bucket}"

    def files(self, place: str) -> list[str]:
        """The paths of all files below a place."""
        bucket, _, folder = place.removeprefix("s3://").partition("/")
        found = self._answer(f"{bucket}?list-type=2&prefix={quote(folder)}", "GET")
        keys = [each.text or "" for each in ElementTree.fromstring(found).iter(f"{NAMES}Key")]
        return [key.removeprefix(f"{folder}/") for key in keys]

    def content(self, place: str) -> bytes:
        """What is in a file."""
        return self._answer(quote(place.removeprefix("s3://")), "GET")

    def _answer(self, path: str, method: str) -> bytes:
        request = urllib.request.Request(f"{self.url}/{path}", headers=SIGNED, method=method)
        with urllib.request.urlopen(request) as answer:
            content: bytes = answer.read()
        return content

    def _is_ready(self) -> bool:
        try:
            urllib.request.urlopen(f"{self.url}/moto-api/").close()
        except (OSError, urllib.error.URLError):
            return False
        return True


@contextmanager
def running_s3(*, strict: bool = False) -> Iterator[S3Server]:
    """A server without buckets, until the end of the block."""
    with tempfile.TemporaryDirectory(prefix="penstock-s3-") as name, held_port() as port:
        server = S3Server(Path(name), port, strict=strict)
        with running(server):
            yield server


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """The server of this process of tests."""
    with running_s3() as server:
        yield server
