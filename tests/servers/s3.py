"""A server of S3 of the tests' own, and boto3, which sees it as any other program does."""

from __future__ import annotations

import os
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

from tests.held_port import held_port
from tests.servers.process import ServerProcess, running

__all__ = ["S3Server", "prepare_s3", "running_s3", "s3_server"]

WHO: Final = {
    "AWS_ACCESS_KEY_ID": "penstock",
    "AWS_SECRET_ACCESS_KEY": "s3cret",
    "AWS_REGION": "us-east-1",
    "AWS_DEFAULT_REGION": "us-east-1",
}


def prepare_s3() -> None:
    """See to it that the server and what connects to it can be loaded."""
    for name in ("moto.server", "boto3", "obstore"):
        import_module(name)


class S3Server(ServerProcess):
    """It keeps all in memory; ``environment`` is what its clients need.

    With ``strict``, it lets nobody in: no user was made there.
    """

    def __init__(self, folder: Path, port: int, *, strict: bool) -> None:
        self._numbers = count(1)
        self.url = f"http://127.0.0.1:{port}"
        self.environment = {**WHO, "AWS_ENDPOINT_URL": self.url}
        more = {"INITIAL_NO_AUTH_ACTION_COUNT": "0"} if strict else {}
        super().__init__(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
            folder,
            self._is_ready,
            {**os.environ, **WHO, **more},
        )

    def create(self) -> str:
        """A new bucket, as a URI."""
        bucket = f"bucket-{next(self._numbers)}"
        self.client().create_bucket(Bucket=bucket)
        return f"s3://{bucket}"

    def client(self) -> Any:
        """A plain client."""
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=self.url,
            region_name=WHO["AWS_REGION"],
            aws_access_key_id=WHO["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=WHO["AWS_SECRET_ACCESS_KEY"],
        )

    def files(self, place: str) -> list[str]:
        """The paths of all files below a place."""
        bucket, _, folder = place.removeprefix("s3://").partition("/")
        found = self.client().list_objects_v2(Bucket=bucket, Prefix=folder)
        return [each["Key"].removeprefix(f"{folder}/") for each in found.get("Contents", ())]

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
