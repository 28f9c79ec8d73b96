"""Server-sent events: both ends, and servers of others."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event as ThreadEvent
from threading import Thread
from typing import Any, TypeAlias

import httpx
import pytest
import uvicorn

from penstock import Flow, Retry, X
from penstock.connectors import (
    Event,
    RemoteError,
    Request,
    from_server_sent_events,
    serve_server_sent_events,
)
from penstock.flow.base_flow import with_origin
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.connectors.numbers import numbers_after
from tests.connectors.server_process import ServerProcess

Answer: TypeAlias = Callable[[BaseHTTPRequestHandler], None]
QUICKLY = Retry(times=3, backoff=0.01)
PATIENCE = 60


@pytest.fixture
def publisher() -> ManualPublisher[Any]:
    return ManualPublisher()


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """The address of a server of somebody else."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            answer(self)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def send(handler: BaseHTTPRequestHandler, text: str, status: int = 200) -> None:
    handler.send_response(status)
    handler.send_header("Content-Type", "text/event-stream")
    handler.end_headers()
    handler.wfile.write(text.encode())


# Both ends.


def test_elements_come_as_events_and_the_end_is_told() -> None:
    with serve_server_sent_events(numbers_after) as server:
        events = from_server_sent_events(f"{server.address}/?up_to=2").to_list().run_sync()
    assert events == [Event("", "message", 0), Event("", "message", 1)]


def test_an_error_at_the_server_stays_there_and_comes_out_with_its_number(
    caplog: pytest.LogCaptureFixture,
) -> None:
    flow: Flow[Any] = Flow.concat(Flow.of(1), Flow.error(ValueError("no\nmore")))
    subscriber: ManualSubscriber[Event] = ManualSubscriber(request=5)
    with serve_server_sent_events(lambda request: flow) as server:
        from_server_sent_events(server.address).subscribe(subscriber)
        subscriber.await_end()
    assert subscriber.elements == [("", "message", 1)]
    subscriber.assert_failed(RemoteError, match="the server has failed")
    assert str(subscriber.error).split()[-1] in caplog.text
    assert r"ValueError: no\nmore" in caplog.text


def test_a_flow_that_cannot_be_made_is_answered_with_a_status(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(request: Request) -> Flow[Any]:
        raise LookupError("nothing here")

    with serve_server_sent_events(refuse) as server:
        response = httpx.get(server.address, timeout=PATIENCE)
        assert response.status_code == 500
        assert response.text.startswith("the server has failed; its log says why, under ")
        (line,) = (line for line in caplog.text.splitlines() if response.text[-8:] in line)
        assert "LookupError: nothing here" in line
        assert httpx.get(f"{server.address}/?after=x", timeout=PATIENCE).status_code == 400
        with pytest.raises(ConnectionError, match="gave up.*the status 500"):
            from_server_sent_events(server.address, reconnect=Retry(times=0)).run_sync()


def test_what_is_on_its_way_to_a_connection_is_bounded(publisher: ManualPublisher[Any]) -> None:
    subscriber: ManualSubscriber[Event] = ManualSubscriber()
    with serve_server_sent_events(lambda request: publisher, capacity=4) as server:
        from_server_sent_events(server.address).subscribe(subscriber)
        subscriber.await_subscription()
        assert not publisher.subscribed
        subscriber.request(1)
        publisher.await_requested(4)
        publisher.next(1, 2, 3)
        publisher.await_requested(7)
        subscriber.await_elements(1)
        assert [event.data for event in subscriber.elements] == [1]
        subscriber.cancel()
        publisher.await_cancelled()


def test_a_client_that_hangs_up_cancels_an_idle_flow(publisher: ManualPublisher[Any]) -> None:
    with serve_server_sent_events(lambda request: publisher) as server:
        with httpx.stream("GET", server.address, timeout=PATIENCE):
            publisher.await_requested(1)
        publisher.await_cancelled()


def test_a_server_that_is_closed_cancels_its_flows(publisher: ManualPublisher[Any]) -> None:
    with (
        serve_server_sent_events(lambda request: publisher) as server,
        httpx.stream("GET", server.address, timeout=PATIENCE) as response,
    ):
        publisher.await_requested(1)
        server.close()
        publisher.await_cancelled()
        assert response.read() == b""
    server.close()


def test_a_client_that_comes_while_the_server_closes_gets_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers: list[httpx.Response] = []
    shut_down = uvicorn.Server.shutdown

    async def serve_one_more(server: uvicorn.Server, sockets: Any = None) -> None:
        answers.append(await asyncio.to_thread(httpx.get, address, timeout=PATIENCE))
        await shut_down(server, sockets)

    monkeypatch.setattr(uvicorn.Server, "shutdown", serve_one_more)
    with serve_server_sent_events(lambda request: Flow.never()) as server:
        address = server.address
    assert [answer.content for answer in answers] == [b""]


def test_a_client_that_does_not_read_does_not_keep_the_server_from_closing(
    publisher: ManualPublisher[Any],
) -> None:
    with (
        serve_server_sent_events(lambda request: publisher, capacity=4) as server,
        httpx.stream("GET", server.address, timeout=PATIENCE),
    ):
        publisher.await_requested(1)
        publisher.next("x" * 20_000_000)  # more than fits into what lies between
        server.close()
        publisher.await_cancelled()


def test_a_slow_connection_is_cut_off_if_the_policy_says_so(
    publisher: ManualPublisher[Any],
) -> None:
    with (
        serve_server_sent_events(
            lambda request: publisher, capacity=2, policy="disconnect"
        ) as server,
        httpx.stream("GET", server.address, timeout=PATIENCE) as response,
    ):
        publisher.await_requested(256)
        large = "x" * 4_000_000  # more than fits into what lies between
        publisher.next(large, large, large, large, large, large)
        publisher.await_cancelled()
        assert response.read().count(b"penstock.failure") == 1


def test_a_page_that_is_named_may_read_and_no_name_but_our_own_leads_here() -> None:
    with serve_server_sent_events(
        lambda request: Flow.of(1), origins=["https://example.org"]
    ) as server:
        home = httpx.get(
            server.address, headers={"Origin": "https://example.org"}, timeout=PATIENCE
        )
        assert home.headers["access-control-allow-origin"] == "https://example.org"
        stranger = httpx.get(
            server.address, headers={"Origin": "https://evil.example"}, timeout=PATIENCE
        )
        assert "access-control-allow-origin" not in stranger.headers
        assert (
            httpx.get(
                server.address, headers={"Host": "evil.example"}, timeout=PATIENCE
            ).status_code
            == 400
        )


def test_markup_and_line_breaks_in_elements_stay_text() -> None:
    text = "<b>\n\ndata: x\r\nevent: y"
    with serve_server_sent_events(lambda request: Flow.of(text)) as server:
        assert from_server_sent_events(server.address).map(X.data).run_sync() == text


def test_a_server_that_is_killed_and_comes_back_loses_and_repeats_nothing() -> None:
    subscriber: ManualSubscriber[Event] = ManualSubscriber()
    states: list[str] = []
    with ServerProcess("server-sent events") as server:
        from_server_sent_events(
            server.address,
            reconnect=Retry(times=None, backoff=0.05, longest=0.2),
            on_state=states.append,
        ).subscribe(subscriber)
        subscriber.request(100)
        subscriber.await_elements(100)
        server.kill()
        server.start()
        # More than a connection holds: what comes is of the second server.
        subscriber.request(20_000)
        subscriber.await_elements(20_100, timeout=PATIENCE)
        subscriber.cancel()
    assert [event.data for event in subscriber.elements] == [*range(20_100)]
    assert sum("connected to" in state for state in states) == 2


def test_a_flow_of_events_can_be_resumed_after_an_id() -> None:
    with serve_server_sent_events(numbers_after, position_of=lambda number: number) as server:
        flow = from_server_sent_events(f"{server.address}/?up_to=5").map(X.data)
        origin: Any = flow.plan.origin
        assert origin.replay == "position"
        assert flow.to_list().run_sync() == [0, 1, 2, 3, 4]
        assert with_origin(flow, origin.at("2")).to_list().run_sync() == [3, 4]


# Servers of others.


def test_events_of_a_server_of_somebody_else_come_with_their_kind_and_text() -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        if handler.headers.get("Last-Event-ID"):
            send(handler, "", status=204)
        else:
            send(handler, ": hello\n\nid: 7\nevent: delay\ndata: 12\ndata: min\n\n")

    with answering(answer) as url:
        flow = from_server_sent_events(url, decode=str, reconnect=QUICKLY)
        assert flow.to_list().run_sync() == [Event("7", "delay", "12\nmin")]


def test_the_server_learns_the_id_of_the_last_event_and_names_the_time_to_wait() -> None:
    ids: list[str | None] = []
    states: list[str] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        ids.append(handler.headers.get("Last-Event-ID"))
        if len(ids) == 4:
            send(handler, "", status=204)
        else:
            send(handler, f"retry: 120\nid: {len(ids)}\ndata: {len(ids)}\n\n")

    with answering(answer) as url:
        flow = from_server_sent_events(url, reconnect=QUICKLY, on_state=states.append)
        assert flow.map(X.data).to_list().run_sync() == [1, 2, 3]
    assert ids == [None, "1", "2", "3"]
    assert sum("next attempt in 0.1 s" in state for state in states) == 3


def test_a_server_that_is_overloaded_is_asked_again() -> None:
    answers = iter([503, 429, 204])
    with answering(lambda handler: send(handler, "", next(answers))) as url:
        flow = from_server_sent_events(url, reconnect=QUICKLY)
        assert flow.to_list().run_sync() == []


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (404, "text/event-stream", "the server answered with the status 404"),
        (200, "text/html", "got 'text/html'"),
    ],
)
def test_a_server_that_refuses_or_sends_something_else_is_not_asked_again(
    status: int, kind: str, words: str
) -> None:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", kind)
        handler.end_headers()

    with answering(answer) as url, pytest.raises(ConnectionError, match=words):
        from_server_sent_events(url).run_sync()


def test_data_that_cannot_be_decoded_is_an_error_that_shows_it() -> None:
    with (
        answering(lambda handler: send(handler, "data: {\n\n")) as url,
        pytest.raises(ValueError, match="sent '{', which cannot be decoded"),
    ):
        from_server_sent_events(url).run_sync()


def test_a_server_that_does_not_wait_is_held_back_by_the_network() -> None:
    stopped = ThreadEvent()
    sent = 0

    def flood(handler: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        send(handler, "")
        handler.connection.settimeout(1)
        event = f"data: {json.dumps('x' * 500_000)}\n\n".encode()
        try:
            for _ in range(200):
                handler.wfile.write(event)
                sent += 1
        except OSError:  # it could not write for a second
            pass
        stopped.set()

    subscriber: ManualSubscriber[Event] = ManualSubscriber(request=1)
    with answering(flood) as url:
        from_server_sent_events(url).subscribe(subscriber)
        assert stopped.wait(PATIENCE)
        subscriber.cancel()
    assert 0 < sent < 60


# Bad arguments.


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("ws://127.0.0.1:1", "begins with http:// or https://"),
        ("https://", "names no host"),
    ],
)
def test_a_url_that_is_none_is_refused_at_once(url: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        from_server_sent_events(url)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"after": 7}, "the id of an event is a text, not 7"),
        ({"after": "a\nb"}, "on one line"),
        ({"decode": None}, "needs a function"),
        ({"reconnect": 1}, "must be a Retry"),
    ],
)
def test_an_option_that_is_none_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        from_server_sent_events("http://127.0.0.1:1", **options)


def test_a_port_in_use_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} of 127.0.0.1 is in use"):
            serve_server_sent_events(numbers_after, port=port)
