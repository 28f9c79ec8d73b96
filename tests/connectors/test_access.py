"""What a source sends to be let in, and that nobody else ever sees it."""

from __future__ import annotations

import base64
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection

from penstock import Flow, Retry
from penstock.connectors import (
    Request,
    Server,
    from_server_sent_events,
    from_websocket,
    serve_server_sent_events,
    serve_websocket,
)
from penstock.connectors.shared.reconnecting import listening
from tests.connectors.test_server_sent_events import answering
from tests.connectors.test_websocket_strangers import served
from tests.held_port import held_port

ONCE = Retry(times=0)
BASIC = f"Basic {base64.b64encode(b'me:SEC:RET').decode()}"
Read = Callable[..., Flow[Any]]
ENDS = [(serve_websocket, from_websocket), (serve_server_sent_events, from_server_sent_events)]
SCHEMES = [("ws", from_websocket), ("http", from_server_sent_events)]


class Asked:
    """A server that keeps what it was asked."""

    def __init__(self, serve: Callable[..., Server]) -> None:
        self.requests: list[Request] = []
        self._serve = serve

    def flow(self, request: Request) -> Flow[Any]:
        self.requests.append(request)
        return Flow.of(1)

    @contextmanager
    def at(self) -> Iterator[str]:
        with self._serve(self.flow) as server:
            yield server.address

    @property
    def authorization(self) -> list[str | None]:
        return [request.headers.get("authorization") for request in self.requests]


def with_credentials(address: str, credentials: str, rest: str = "") -> str:
    return address.replace("://", f"://{credentials}@") + rest


@pytest.mark.parametrize(("serve", "read"), ENDS)
def test_credentials_and_headers_arrive_at_the_server(
    serve: Callable[..., Server], read: Read
) -> None:
    asked = Asked(serve)
    tokens = iter(["first", "second"])
    with asked.at() as url:
        read(url).run_sync()
        read(url, auth=("me", "SEC:RET")).run_sync()
        read(url, auth="SECRET").run_sync()
        read(with_credentials(url, "me:SEC%3ARET")).run_sync()
        changing = read(url, auth=lambda: next(tokens), headers={"X-Key": "SECRET"})
        changing.run_sync()
        changing.run_sync()
    assert asked.authorization == [
        None, BASIC, "Bearer SECRET", BASIC, "Bearer first", "Bearer second",
    ]  # fmt: skip
    assert asked.requests[-1].headers["x-key"] == "SECRET"


@pytest.mark.parametrize(("serve", "read"), ENDS)
def test_what_opens_a_server_is_shown_nowhere(
    serve: Callable[..., Server], read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    states: list[str] = []
    announced: list[str] = []

    class Listener:
        def connects_to(self, url: str) -> None:
            announced.append(url)

        def has_advice(self, words: str) -> None:
            states.append(words)

        def has_trouble(self, words: str) -> None:
            states.append(words)

        def has_lost(self, elements: int | None, words: str) -> None:
            states.append(words)

    with Asked(serve).at() as address, listening(Listener()):
        url = with_credentials(address, "SECRET:SECRET", "/live?token=SECRET#SECRET")
        flow = read(url, headers={"X-Key": "SECRET"}, on_state=states.append, reconnect=ONCE)
        flow.run_sync()
        given = read(address, auth=lambda: "SECRET", headers={"X-Key": "SECRET"})
        given.run_sync()
    with pytest.raises(ConnectionError, match="gave up on .*/live.token=... after 1 attempt") as up:
        flow.run_sync()
    assert announced == [f"{address}/live?token=...", address]
    assert any("connected to" in state for state in states)
    assert any("give it as auth=" in state for state in states)
    shown = [
        str(up.value), repr(up.value), repr(flow), str(flow.explain()), repr(given),
        str(given.explain()), repr(vars(given.plan.origin)), *states, caplog.text,
    ]  # fmt: skip
    assert [text for text in shown if "SECRET" in text or "U0VDUkVU" in text] == []


@pytest.mark.parametrize(("scheme", "read"), SCHEMES)
def test_a_password_in_an_address_is_hinted_at_once(
    scheme: str, read: Read, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(3):
        read(f"{scheme}://me:SECRET@hinted.example/live?token=SECRET")
    read(f"{scheme}://hinted.example/live?token=SECRET")
    (record,) = caplog.records
    assert f"the address {scheme}://hinted.example/live?token=... has a" in record.getMessage()
    assert "give it as auth=(user, password)" in record.getMessage()
    assert "SECRET" not in caplog.text


@pytest.mark.parametrize(("scheme", "read"), SCHEMES)
@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"auth": 17}, r"auth must be \(user, password\), a bearer token"),
        ({"auth": ("SECRET",)}, "auth must be"),
        ({"auth": ("SECRET", 1)}, "auth must be"),
        ({"auth": ["me", "SECRET"]}, "auth must be"),
        ({"auth": ("me:SECRET", "SECRET")}, "the user in auth must not have a colon"),
        ({"auth": ""}, "the token in auth must be in ASCII, without spaces"),
        ({"auth": "SECRET\r\nHost: x"}, "the token in auth must be in ASCII, without spaces"),
        ({"headers": "SECRET"}, "headers must map names to texts"),
        ({"headers": {"X Key": "SECRET"}}, "'X Key', which is no name of one"),
        ({"headers": {"X-Key": "SECRET\r\nHost: x"}}, "the header X-Key must be a text in ASCII"),
        ({"headers": {"X-Key": 17}}, "the header X-Key must be a text"),
        ({"headers": {"Host": "SECRET"}}, "the header Host is set by the connector"),
        ({"headers": {"Authorization": "SECRET"}, "auth": "SECRET"}, "keep one of them"),
        ({"ssl": 17}, "ssl is for an encrypted url"),
        ({"max_bytes": 0}, "max_bytes must be at least 1"),
    ],
)
def test_an_option_that_is_none_is_refused_at_once_and_not_shown(
    scheme: str, read: Read, options: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words) as refused:
        read(f"{scheme}://example.org", **options)
    assert "SECRET" not in str(refused.value)


@pytest.mark.parametrize(("scheme", "read"), SCHEMES)
@pytest.mark.parametrize(
    "rest", ["me:SEC/RET@host/", "me:SEC?RET@host/", "me:SECRET@", "host:SECRET/", "me:SECRET@[x"]
)
def test_a_url_that_is_none_is_refused_without_its_password(
    scheme: str, read: Read, rest: str
) -> None:
    with pytest.raises(ValueError, match=f"the url '{scheme}://.*' ") as refused:
        read(f"{scheme}://{rest}")
    assert "RET" not in str(refused.value)
    assert "SEC" not in str(refused.value)


def test_credentials_in_two_places_are_refused() -> None:
    with pytest.raises(ValueError, match="credentials in the url and in auth"):
        from_websocket("ws://me:SECRET@example.org", auth="SECRET")


def test_a_redirect_is_not_followed_with_credentials() -> None:
    elsewhere = Asked(serve_websocket)

    async def three(connection: ServerConnection) -> None:
        raise AssertionError("nobody is served here")

    with elsewhere.at() as there:

        def lead_away(connection: ServerConnection, request: Any) -> Any:
            response = connection.respond(302, "")
            response.headers["Location"] = there
            return response

        with served(three, process_request=lead_away) as url:
            for options in ({"auth": "SECRET"}, {"headers": {"X-Key": "SECRET"}}):
                with pytest.raises(ConnectionError, match="the status 302"):
                    from_websocket(url, **options).run_sync()
            assert elsewhere.requests == []
            assert from_websocket(url).run_sync() == 1


def test_a_redirect_of_an_http_server_is_not_followed() -> None:
    elsewhere = Asked(serve_server_sent_events)
    with elsewhere.at() as there:

        def lead_away(handler: BaseHTTPRequestHandler) -> None:
            handler.send_response(302)
            handler.send_header("Location", there)
            handler.end_headers()

        with answering(lead_away) as url, pytest.raises(ConnectionError, match="the status 302"):
            from_server_sent_events(url, auth="SECRET").run_sync()
    assert elsewhere.requests == []


@pytest.mark.parametrize(("scheme", "read"), SCHEMES)
def test_what_keeps_a_source_from_its_work_is_told_without_credentials(
    scheme: str, read: Read
) -> None:
    states: list[str] = []
    with held_port() as port:
        url = f"{scheme}://me:SECRET@127.0.0.1:{port}/?token=SECRET"
        again = Retry(times=1, backoff=0.001)
        with pytest.raises(ConnectionError) as gave_up:
            read(url, reconnect=again, on_state=states.append).run_sync()
    assert f"gave up on {scheme}://127.0.0.1:{port}/?token=... after 2 attempts" in str(
        gave_up.value
    )
    assert len(states) == 1
    assert "SECRET" not in states[0] + str(gave_up.value)


def test_what_a_remote_end_says_commands_no_terminal() -> None:
    clipboard = "\x1b]52;c;ZXZpbA==\x07"

    async def fail(connection: ServerConnection) -> None:
        await connection.recv()
        await connection.send('{"error": "\\u001b]52;c;ZXZpbA==\\u0007"}')

    async def leave(connection: ServerConnection) -> None:
        await connection.close(1011, clipboard)

    def failure(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        handler.wfile.write(b'event: penstock.failure\ndata: "\\u001b]52;c;ZXZpbA==\\u0007"\n\n')

    def page(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Type", f"text/{clipboard}")
        handler.end_headers()

    said: list[str] = []
    with (
        served(fail, subprotocols=["penstock.demand.1"]) as speaking,
        served(leave) as leaving,
        answering(failure) as failing,
        answering(page) as serving,
    ):
        for flow in (
            from_websocket(speaking),
            from_websocket(leaving, reconnect=ONCE, on_state=said.append),
            from_server_sent_events(failing),
            from_server_sent_events(serving, reconnect=ONCE),
        ):
            with pytest.raises(Exception, match=r"x1b\]52|connection") as raised:
                flow.run_sync()
            said.append(str(raised.value))
    assert "\x1b" not in "".join(said)
    assert "\x07" not in "".join(said)
    assert sum(r"\x1b]52;c;ZXZpbA==\x07" in each for each in said) >= 3
