"""Websocket servers that know nothing of Penstock."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from penstock import Retry
from penstock.connectors import from_websocket
from penstock.connectors.shared.loop_thread import LoopThread
from penstock.testing import ManualSubscriber

Handler: TypeAlias = Callable[[ServerConnection], Awaitable[None]]


@contextmanager
def served(handler: Handler, **options: Any) -> Iterator[str]:
    """The address of a server of somebody else."""
    loop = LoopThread("stranger")

    async def start() -> Any:
        return await serve(handler, "127.0.0.1", 0, **options)

    async def stop() -> None:
        server.close()
        await server.wait_closed()

    server = loop.run(start())
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.run(stop())
        loop.close()


async def three_numbers(connection: ServerConnection) -> None:
    for number in range(3):
        await connection.send(str(number))


def test_messages_are_json_and_a_normal_close_completes() -> None:
    with served(three_numbers) as url:
        assert from_websocket(url).to_list().run_sync() == [0, 1, 2]


def test_messages_can_be_decoded_otherwise() -> None:
    with served(three_numbers) as url:
        assert from_websocket(url, decode=str).to_list().run_sync() == ["0", "1", "2"]


@pytest.mark.parametrize(
    ("message", "words"),
    [("{", "sent '{', which cannot be decoded"), ("null", "sent null, which is not an element")],
)
def test_a_message_that_is_no_element_is_an_error_that_names_it(message: str, words: str) -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.send(message)

    with served(speak) as url, pytest.raises(ValueError, match=words):
        from_websocket(url).run_sync()


def test_a_message_that_is_too_large_is_an_error_that_says_what_to_change() -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.send(json.dumps("x" * 1000))

    with served(speak) as url:
        with pytest.raises(ValueError, match="more than 999 bytes at once; raise max_bytes"):
            from_websocket(url, max_bytes=999).run_sync()
        assert from_websocket(url, max_bytes=1002).run_sync() == "x" * 1000


def test_a_server_that_does_not_wait_is_held_back_by_the_network() -> None:
    finished, sent = threading.Event(), 0
    held_back = threading.Event()

    async def flood(connection: ServerConnection) -> None:
        nonlocal sent
        message = json.dumps("x" * 500_000)
        try:
            for _ in range(200):
                sending = asyncio.ensure_future(connection.send(message))
                if not (await asyncio.wait({sending}, timeout=1))[0]:
                    held_back.set()
                await sending
                sent += 1
        except ConnectionClosed:
            pass
        finished.set()

    subscriber: ManualSubscriber[str] = ManualSubscriber()
    with served(flood) as url:
        from_websocket(url).subscribe(subscriber)
        subscriber.request(1)
        subscriber.await_elements(1)
        assert held_back.wait(60)
        assert not finished.is_set()
        assert sent < 60
        subscriber.request(1)
        subscriber.await_elements(2)
        subscriber.cancel()
        assert finished.wait(60)


def test_a_server_that_goes_away_is_connected_to_again_after_the_last_position() -> None:
    paths: list[str] = []

    async def one_at_a_time(connection: ServerConnection) -> None:
        assert connection.request is not None
        paths.append(connection.request.path)
        await connection.send(json.dumps({"number": len(paths)}))
        await connection.close(1001 if len(paths) == 1 else 1012 if len(paths) == 2 else 1000)

    with served(one_at_a_time) as url:
        flow = from_websocket(
            f"{url}/live?airport=JFK",
            position_of=lambda element: element["number"],
            reconnect=Retry(times=1, backoff=0.01),
        )
        received = flow.map(lambda element: element["number"]).to_list().run_sync()
    assert received == [1, 2, 3]
    assert paths == [
        "/live?airport=JFK",
        "/live?airport=JFK&after=1",
        "/live?airport=JFK&after=2",
    ]


def test_attempts_count_from_the_last_one_that_brought_something() -> None:
    connections = 0

    async def sends_every_second_time(connection: ServerConnection) -> None:
        nonlocal connections
        connections += 1
        if connections % 2:
            await connection.send("1")
        await connection.close(1012 if connections < 6 else 1000)

    with served(sends_every_second_time) as url:
        flow = from_websocket(url, reconnect=Retry(times=2, backoff=0.001))
        assert flow.to_list().run_sync() == [1, 1, 1]


@pytest.mark.parametrize(
    ("frame", "error", "words"),
    [
        ({"more": 1}, ValueError, "one of next, complete, error"),
        ({"next": None}, ValueError, "null, which is not an element"),
        ({"error": "broken"}, Exception, "broken"),
    ],
)
def test_a_server_that_breaks_the_protocol_is_an_error(
    frame: object, error: type[Exception], words: str
) -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send(json.dumps(frame))
        await connection.wait_closed()

    with (
        served(speak, subprotocols=["penstock.demand.1"]) as url,
        pytest.raises(error, match=words),
    ):
        from_websocket(url).run_sync()


def test_a_server_that_sends_more_than_was_requested_breaks_rule_1_1() -> None:
    async def speak(connection: ServerConnection) -> None:
        await connection.recv()
        for _ in range(3):
            await connection.send('{"next": 1}')
        await connection.wait_closed()

    subscriber: ManualSubscriber[int] = ManualSubscriber()
    with served(speak, subprotocols=["penstock.demand.1"]) as url:
        from_websocket(url).subscribe(subscriber)
        subscriber.request(2)
        subscriber.await_end()
    subscriber.assert_elements(1, 1)
    subscriber.assert_failed(match="1.1")
