"""A NATS server of the tests' own, and a plain client, which sees it as any other program does."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pytest

from tests.held_port import held_port
from tests.servers.process import ServerProcess, running

if TYPE_CHECKING:
    from nats.js import JetStreamContext

__all__ = ["NatsServer", "create_at", "messages_at", "nats_server", "prepare_nats", "running_nats"]

T = TypeVar("T")

PASSWORD: Final = "s3cret"
CONFIG: Final = """
listen: "127.0.0.1:{port}"
http: "127.0.0.1:{watched}"
jetstream {{ store_dir: "{folder}" }}
authorization {{ users = [
    {{ user: me, password: "{password}" }}
    {{ user: guest, password: guest, permissions: {{ publish: ["none"] }} }}
] }}
{more}
"""
Message = tuple[str, bytes, dict[str, str]]


def prepare_nats() -> None:
    """Find the program of the server."""
    if shutil.which("nats-server") is None:
        raise LookupError("there is no nats-server: apt-get install nats-server")


class NatsServer(ServerProcess):
    """A server that keeps what it has acknowledged; ``url`` is for clients."""

    def __init__(self, folder: Path, port: int, watched: int, more: str = "") -> None:
        self._numbers = count(1)
        self._watched = watched
        self.port = port
        config = folder / "server.conf"
        config.write_text(
            CONFIG.format(
                folder=folder / "store", port=port, watched=watched, password=PASSWORD, more=more
            )
        )
        super().__init__(["nats-server", "-c", str(config)], folder, self._is_ready)

    @property
    def url(self) -> str:
        return f"nats://me:{PASSWORD}@127.0.0.1:{self.port}"

    @property
    def address(self) -> str:
        """How messages call it."""
        return f"nats://127.0.0.1:{self.port}"

    def new_name(self) -> str:
        """Of a stream that no other test has."""
        return f"stream-{next(self._numbers)}"

    def create(self, messages: Iterable[bytes] = (), **config: Any) -> str:
        """A new stream, which takes all subjects that begin with its name."""
        stream = self.new_name()
        create_at(self.url, stream, **config)
        self.publish(f"{stream}.a", messages)
        return stream

    def publish(self, subject: str, messages: Iterable[bytes]) -> None:
        """Each of them is there when this returns."""

        async def all_of_them(jetstream: JetStreamContext) -> None:
            for message in messages:
                await jetstream.publish_async(subject, message)
            await jetstream.publish_async_completed()

        self.call(all_of_them)

    def call(self, function: Callable[[JetStreamContext], Awaitable[T]]) -> T:
        """What a plain client gets."""
        return call(self.url, function)

    def messages(self, stream: str) -> list[Message]:
        """All that a stream has, in order."""
        return messages_at(self.url, stream)

    def values(self, stream: str) -> list[Any]:
        """The JSON of all messages."""
        return [json.loads(data) for _, data, _ in self.messages(stream)]

    def seen(self, stream: str) -> dict[str, Any]:
        """What the server itself says of a stream, with its consumers."""
        asked = f"http://127.0.0.1:{self._watched}/jsz?streams=true&consumers=true"
        with urllib.request.urlopen(asked) as answer:
            (account,) = json.load(answer)["account_details"]
        (found,) = [each for each in account["stream_detail"] if each["name"] == stream]
        return dict(found)

    def _is_ready(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._watched}/healthz") as answer:
                return bool(json.load(answer)["status"] == "ok")
        except (OSError, urllib.error.URLError):
            return False


def call(url: str, function: Callable[[JetStreamContext], Awaitable[T]]) -> T:
    """What a plain client gets from a server."""
    import nats

    async def connected() -> T:
        client = await nats.connect(url)
        try:
            return await function(client.jetstream())
        finally:
            await client.close()

    return asyncio.run(connected())


def create_at(url: str, stream: str, **config: Any) -> None:
    """Make a stream, unless it is there; it takes all subjects that begin with its name."""
    given = {"subjects": [f"{stream}.>"], **config}
    call(url, lambda jetstream: jetstream.add_stream(name=stream, **given))


def messages_at(url: str, stream: str) -> list[Message]:
    """Subject, bytes and headers of all messages of a stream, as a plain client reads them."""
    return call(url, partial(read_all, stream=stream))


async def read_all(jetstream: JetStreamContext, stream: str) -> list[Message]:
    left = (await jetstream.stream_info(stream)).state.messages
    found: list[Message] = []
    reader = await jetstream.subscribe(">", stream=stream, ordered_consumer=True)
    while len(found) < left:
        message = await reader.next_msg(timeout=60)
        found.append((message.subject, message.data, message.headers or {}))
    return found


@contextmanager
def running_nats(more: str = "") -> Iterator[NatsServer]:
    """A server with an empty folder of its own, until the end of the block."""
    with ExitStack() as leaving:
        folder = leaving.enter_context(tempfile.TemporaryDirectory(prefix="penstock-nats-"))
        port, watched = (leaving.enter_context(held_port()) for _ in range(2))
        server = NatsServer(Path(folder), port, watched, more)
        leaving.enter_context(running(server))
        yield server


@pytest.fixture(scope="session")
def nats_server() -> Iterator[NatsServer]:
    """The server of this process of tests."""
    with running_nats() as server:
        yield server
