"""Websockets: both ends, with Penstock's subprotocol."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from penstock import UNBOUNDED, Flow, Retry
from penstock.connectors import RemoteError, Request, Server, from_websocket, serve_websocket
from penstock.flow.base_flow import with_origin
from penstock.testing import ManualPublisher, ManualSubscriber
from tests.connectors.numbers import numbers_after
from tests.connectors.server_process import ServerProcess
from tests.held_port import held_port

PROTOCOL = Subprotocol("penstock.demand.1")
ONCE = Retry(times=0)
PATIENCE = 60


@pytest.fixture
def publisher() -> ManualPublisher[Any]:
    return ManualPublisher()


@pytest.fixture
def server(publisher: ManualPublisher[Any]) -> Iterator[Server]:
    with serve_websocket(lambda request: publisher) as server:
        yield server


@pytest.fixture
def subscriber() -> Iterator[ManualSubscriber[Any]]:
    with_cancel: ManualSubscriber[Any] = ManualSubscriber()
    yield with_cancel
    if with_cancel.subscribed:
        with_cancel.cancel()


def connected(server: Server, **options: Any) -> ClientConnection:
    client: ClientConnection = connect(server.address, proxy=None, open_timeout=PATIENCE, **options)
    return client


def speaking_our_protocol(server: Server) -> ClientConnection:
    return connected(server, subprotocols=[PROTOCOL])


# How much is asked for.


def test_demand_of_the_subscriber_is_what_the_publisher_at_the_other_end_is_asked_for(
    server: Server, publisher: ManualPublisher[Any], subscriber: ManualSubscriber[Any]
) -> None:
    from_websocket(server.address).subscribe(subscriber)
    subscriber.request(3)
    publisher.await_requested(3)
    publisher.next("a", "b", "c")
    subscriber.await_elements(3)
    assert publisher.requested == 3
    subscriber.request(1)
    publisher.await_requested(4)
    assert publisher.requests == [3, 1]


def test_nobody_is_connected_to_before_something_is_wanted(
    server: Server, publisher: ManualPublisher[Any], subscriber: ManualSubscriber[Any]
) -> None:
    from_websocket(server.address).subscribe(subscriber)
    subscriber.await_subscription()
    assert not publisher.subscribed


def test_a_client_that_wants_all_is_served_by_the_capacity(
    publisher: ManualPublisher[Any],
) -> None:
    with serve_websocket(lambda request: publisher, capacity=4) as server:
        with speaking_our_protocol(server) as client:
            client.send(json.dumps({"request": UNBOUNDED}))
            publisher.await_requested(4)
            publisher.next("a", "b", "c", "d")
            assert [json.loads(client.recv(PATIENCE))["next"] for _ in range(4)] == [
                "a",
                "b",
                "c",
                "d",
            ]
            publisher.await_requested(7)
        assert publisher.requests[0] == 4


def test_the_end_needs_no_demand(
    server: Server, publisher: ManualPublisher[Any], subscriber: ManualSubscriber[Any]
) -> None:
    from_websocket(server.address).subscribe(subscriber)
    subscriber.request(1)
    publisher.await_requested(1)
    publisher.next("a")
    publisher.complete()
    subscriber.await_end()
    subscriber.assert_elements("a")
    subscriber.assert_completed()


def test_cancel_reaches_the_publisher_at_the_other_end(
    server: Server, publisher: ManualPublisher[Any], subscriber: ManualSubscriber[Any]
) -> None:
    from_websocket(server.address).subscribe(subscriber)
    subscriber.request(1)
    publisher.await_requested(1)
    subscriber.cancel()
    publisher.await_cancelled()


def test_take_closes_the_connection_after_the_last_element(
    server: Server, publisher: ManualPublisher[Any], subscriber: ManualSubscriber[Any]
) -> None:
    from_websocket(server.address).take(2).subscribe(subscriber)
    subscriber.request(10)
    publisher.await_requested(1)
    publisher.next("a")
    publisher.await_requested(2)
    publisher.next("b")
    subscriber.await_end()
    publisher.await_cancelled()
    subscriber.assert_elements("a", "b")


def test_a_cancel_frame_cancels(server: Server, publisher: ManualPublisher[Any]) -> None:
    with speaking_our_protocol(server) as client:
        client.send('{"request": 1}')
        publisher.await_requested(1)
        client.send('{"cancel": true}')
        publisher.await_cancelled()


# What goes wrong.


def test_an_error_at_the_server_stays_there_and_comes_out_with_its_number(
    server: Server,
    publisher: ManualPublisher[Any],
    subscriber: ManualSubscriber[Any],
    caplog: pytest.LogCaptureFixture,
) -> None:
    from_websocket(server.address).subscribe(subscriber)
    subscriber.request(2)
    publisher.await_requested(2)
    publisher.next("a")
    publisher.error(ValueError("no more"))
    subscriber.await_end()
    subscriber.assert_elements("a")
    subscriber.assert_failed(RemoteError, match="the server has failed")
    assert number_in(subscriber.error) in caplog.text
    assert "ValueError: no more" in caplog.text


def number_in(error: object) -> str:
    """Under which the log of the server has what failed there."""
    found = re.search("its log says why, under ([0-9a-f]{8})$", str(error))
    assert found is not None, error
    return found[1]


def refuse(request: Request) -> Flow[Any]:
    raise LookupError(f"nothing at {request.path}")


@pytest.mark.parametrize(
    ("factory", "words"),
    [
        (refuse, "LookupError: nothing at /board"),
        (lambda request: 17, "serve_websocket needs a publisher, not 17"),
        (lambda request: Flow.of(object()), "has no form in JSON"),
        (lambda request: Flow.of(float("nan")), "not JSON compliant"),
    ],
)
def test_a_flow_that_cannot_be_made_or_sent_is_an_error_of_its_connection(
    factory: Callable[[Request], Any], words: str, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        serve_websocket(factory) as server,
        pytest.raises(RemoteError, match="the server has failed") as raised,
    ):
        from_websocket(f"{server.address}/board").run_sync()
    (line,) = (line for line in caplog.text.splitlines() if number_in(raised.value) in line)
    assert words in line


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ('{"request": 0}', "at least 1 is allowed"),
        ('{"request": "all"}', "takes an int"),
        ('{"more": 1}', "one of request, cancel"),
        ("more!", "is no JSON"),
    ],
)
def test_a_client_that_breaks_the_protocol_is_told_so(
    server: Server, publisher: ManualPublisher[Any], message: str, words: str
) -> None:
    with speaking_our_protocol(server) as client:
        client.send(message)
        assert words in json.loads(client.recv(PATIENCE))["error"]
        publisher.await_cancelled()


@pytest.mark.parametrize("after", ["x", "[" * 5000])
def test_after_that_is_no_json_is_refused_and_told(server: Server, after: str) -> None:
    with pytest.raises(ConnectionError, match="the server answered with the status 400"):
        from_websocket(f"{server.address}?after={after}").run_sync()
    with pytest.raises(InvalidStatus) as refused:
        connect(f"{server.address}?after={after}", proxy=None)
    assert b"after must be JSON, not '" in refused.value.response.body


# What is served.


def test_the_request_of_a_connection_has_path_query_and_position() -> None:
    requests: list[Request] = []

    def seen(request: Request) -> Flow[Any]:
        requests.append(request)
        return Flow.empty()

    with serve_websocket(seen) as server:
        position = {"file": "a & b", "line": 3}
        from_websocket(f"{server.address}/board?airport=JFK", after=position).run_sync()
    (request,) = requests
    assert request.path == "/board"
    assert request.query["airport"] == "JFK"
    assert request.after == position


def test_elements_with_names_and_times_are_sent_as_json() -> None:
    from dataclasses import dataclass
    from datetime import UTC, date, datetime
    from typing import NamedTuple

    class Flight(NamedTuple):
        origin: str
        day: date

    @dataclass
    class Weather:
        at: datetime

    elements = Flow.of(
        Flight("JFK", date(2013, 2, 8)), Weather(datetime(2013, 2, 8, 12, tzinfo=UTC))
    )
    with serve_websocket(lambda request: elements) as server:
        received = from_websocket(server.address).to_list().run_sync()
    assert received == [
        {"origin": "JFK", "day": "2013-02-08"},
        {"at": "2013-02-08T12:00:00+00:00"},
    ]


def test_markup_in_elements_stays_text() -> None:
    text = "<script>alert('\u2028')</script>"
    with serve_websocket(lambda request: Flow.of(text)) as server:
        assert from_websocket(server.address).run_sync() == text


def test_a_slow_connection_does_not_hold_up_another_one(
    publisher: ManualPublisher[Any], subscriber: ManualSubscriber[Any]
) -> None:
    with serve_websocket(numbers_after) as server:
        from_websocket(server.address).subscribe(subscriber)
        subscriber.request(1)
        subscriber.await_elements(1)
        quick = from_websocket(f"{server.address}?up_to=1000").count().run_sync()
        assert quick == 1000
        assert subscriber.elements == [0]


def test_a_plain_client_gets_plain_messages(
    server: Server, publisher: ManualPublisher[Any]
) -> None:
    with connected(server) as client:
        publisher.await_requested(256)
        publisher.next({"delay": 12})
        assert json.loads(client.recv(PATIENCE)) == {"delay": 12}
        client.send("what a plain client says is not listened to")
        publisher.complete()
        assert list(client) == []


def test_a_plain_client_that_hangs_up_cancels_an_idle_flow(
    server: Server, publisher: ManualPublisher[Any]
) -> None:
    with connected(server):
        publisher.await_requested(1)
    publisher.await_cancelled()


def test_a_slow_connection_to_a_shared_flow_does_not_hold_up_the_others(
    publisher: ManualPublisher[Any],
) -> None:
    shared = Flow.from_publisher(publisher).share()
    # A client that got the greeting is subscribed to what is shared.
    greeted = Flow.concat(Flow.of("hello"), shared)
    with (
        serve_websocket(lambda request: greeted, policy="latest") as server,
        speaking_our_protocol(server) as slow,
        speaking_our_protocol(server) as quick,
    ):
        for client, wanted in ((slow, 1), (quick, 10)):
            client.send(json.dumps({"request": wanted}))
            assert json.loads(client.recv(PATIENCE)) == {"next": "hello"}
        for element in ("a", "b", "c"):
            publisher.next(element)
            assert json.loads(quick.recv(PATIENCE)) == {"next": element}
        slow.send('{"request": 1}')
        assert json.loads(slow.recv(PATIENCE)) == {"next": "c"}


@pytest.mark.parametrize(
    ("policy", "left"),
    [("drop", [0, 1, 2]), ("latest", [9])],
)
def test_a_policy_says_which_elements_a_slow_connection_gets(
    publisher: ManualPublisher[Any], policy: Any, left: list[int]
) -> None:
    with (
        serve_websocket(lambda request: publisher, capacity=3, policy=policy) as server,
        speaking_our_protocol(server) as client,
    ):
        publisher.await_requested(10)
        publisher.next(*range(10))
        client.send('{"request": 5}')
        publisher.complete()
        frames = [json.loads(message) for message in client]
    assert [frame["next"] for frame in frames[:-1]] == left
    assert frames[-1] == {"complete": True}


def test_a_connection_that_is_too_slow_is_closed_if_the_policy_says_so(
    publisher: ManualPublisher[Any],
) -> None:
    frames: list[Any] = []
    with (
        serve_websocket(lambda request: publisher, capacity=3, policy="disconnect") as server,
        speaking_our_protocol(server) as client,
    ):
        publisher.await_requested(10)
        publisher.next(*range(4))
        publisher.await_cancelled()
        client.send('{"request": 5}')
        with pytest.raises(ConnectionClosedError):
            frames.extend(json.loads(message) for message in client)
    assert [frame.get("next") for frame in frames[:-1]] == [0, 1, 2]
    assert "3 waited" in frames[-1]["error"]
    assert client.close_code == 1013


def test_a_page_of_a_stranger_is_refused_and_one_that_is_named_is_not(
    publisher: ManualPublisher[Any],
) -> None:
    from websockets.typing import Origin

    home = Origin("https://example.org")
    with serve_websocket(lambda request: publisher, origins=[home]) as server:
        with (
            pytest.raises(InvalidStatus, match="403"),
            connected(server, origin=Origin("https://evil.example")),
        ):
            pass
        with connected(server, origin=home):
            publisher.await_requested(1)


def test_closing_the_server_cancels_and_frees_the_port(publisher: ManualPublisher[Any]) -> None:
    with (
        held_port() as port,
        serve_websocket(lambda request: publisher, port=port) as server,
        connected(server) as client,
    ):
        publisher.await_requested(1)
        server.close()
        publisher.await_cancelled()
        assert list(client) == []
        with serve_websocket(lambda request: publisher, port=port) as other:
            assert other.address == server.address
    server.close()


def test_a_server_works_in_an_async_with_block() -> None:
    import asyncio

    async def main() -> list[int] | None:
        async with serve_websocket(numbers_after) as server:
            return await from_websocket(f"{server.address}?up_to=3").to_list()

    assert asyncio.run(main()) == [0, 1, 2]


# Bad arguments.


@pytest.mark.parametrize(
    ("url", "error", "words"),
    [
        ("http://127.0.0.1:1", ValueError, "begins with ws:// or wss://"),
        ("127.0.0.1:1", ValueError, "begins with ws:// or wss://"),
        ("ws://", ValueError, "names no host"),
        ("ws://host:99999", ValueError, "a port is a number from 0 to 65535"),
        (17, TypeError, "not 17"),
    ],
)
def test_a_url_that_is_none_is_refused_at_once(
    url: Any, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        from_websocket(url)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"after": {1, 2}}, "a position is JSON"),
        ({"max_queue": 0}, "max_queue must be at least 1"),
        ({"decode": "json"}, "needs a function, not 'json'"),
        ({"reconnect": 3}, "reconnect must be a Retry, not 3"),
        ({"reconnect": Retry(times=None, backoff=0)}, "its backoff must be above 0"),
        ({"on_state": "print"}, "needs a function"),
    ],
)
def test_an_option_that_is_none_is_refused_at_once(options: dict[str, Any], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        from_websocket("ws://127.0.0.1:1", **options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"port": 70000}, "from 0, for any, to 65535, not 70000"),
        ({"port": "80"}, "port must be an int"),
        ({"capacity": 0}, "capacity must be at least 1"),
        ({"policy": "hurry"}, "one of 'wait', 'drop', 'latest', 'disconnect', not 'hurry'"),
        ({"origins": "https://example.org"}, "a list of texts"),
        ({"host": ""}, "host must not be empty"),
    ],
)
def test_an_option_of_a_server_that_is_none_is_refused_at_once(
    options: dict[str, Any], words: str
) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        serve_websocket(numbers_after, **options)


def test_a_port_in_use_is_one_clear_error() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(OSError, match=f"port {port} of 127.0.0.1 is in use"):
            serve_websocket(numbers_after, port=port)


def test_a_host_that_is_not_ours_is_one_clear_error() -> None:
    with pytest.raises(OSError, match="port 0 of 192.0.2.1 cannot be used"):
        serve_websocket(numbers_after, host="192.0.2.1")


# Connections that are lost.


def test_a_server_that_is_killed_and_comes_back_loses_and_repeats_nothing() -> None:
    states: list[str] = []
    subscriber: ManualSubscriber[int] = ManualSubscriber()
    with ServerProcess("websocket") as server:
        from_websocket(
            server.address,
            position_of=lambda number: number,
            reconnect=Retry(times=None, backoff=0.05, longest=0.2),
            on_state=states.append,
        ).subscribe(subscriber)
        subscriber.request(150)
        subscriber.await_elements(100)
        server.kill()
        subscriber.request(50)
        server.start()
        subscriber.await_elements(200, timeout=PATIENCE)
        server.kill()
        server.start()
        subscriber.request(100)
        subscriber.await_elements(300, timeout=PATIENCE)
        subscriber.cancel()
    assert subscriber.elements == [*range(300)]
    subscriber.assert_no_rule_broken()
    assert any("next attempt" in state for state in states)
    assert sum("connected to" in state for state in states) >= 3


def test_what_was_requested_and_did_not_come_is_requested_again_of_the_next_server() -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber()
    first, second = ManualPublisher[str](), ManualPublisher[str]()
    reconnect = Retry(times=None, backoff=0.01, longest=0.1)
    with held_port() as port:
        with serve_websocket(lambda request: first, port=port) as server:
            from_websocket(server.address, reconnect=reconnect).subscribe(subscriber)
            subscriber.request(5)
            first.await_requested(5)
            first.next("a", "b")
            subscriber.await_elements(2)
        with serve_websocket(lambda request: second, port=port):
            second.await_requested(3)
            assert second.requests == [3]
            subscriber.cancel()


def test_attempts_are_bounded_by_the_policy_and_named_in_the_error() -> None:
    states: list[str] = []
    with held_port() as port:
        url = f"ws://127.0.0.1:{port}"
        flow = from_websocket(
            url, reconnect=Retry(times=2, backoff=0.01, jitter=0), on_state=states.append
        )
        message = f"gave up on {url} after 3 attempts: no connection"
        with pytest.raises(ConnectionError, match=message):
            flow.run_sync()
    assert len(states) == 2


@pytest.mark.parametrize(
    ("version", "words"),
    [
        ("HTTP/1.1", "answered with the status 404"),
        ("HTTP/1.0", "did not receive a valid HTTP response"),
    ],
)
def test_a_server_that_refuses_is_not_asked_again(version: str, words: str) -> None:
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Refusing(BaseHTTPRequestHandler):
        protocol_version = version

        def do_GET(self) -> None:
            self.send_error(404)

        def log_message(self, *_: object) -> None: ...

    states: list[str] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        url = f"ws://127.0.0.1:{server.server_port}"
        try:
            with pytest.raises(ConnectionError, match=words):
                from_websocket(url, on_state=states.append).run_sync()
        finally:
            server.shutdown()
            thread.join()
    # An attempt that took too long is another matter: it was not refused.
    assert not any(words in state for state in states)


def test_a_flow_with_positions_can_be_resumed_after_one() -> None:
    with serve_websocket(numbers_after) as server:
        flow = from_websocket(
            f"{server.address}?up_to=10", position_of=lambda number: number, after=3
        ).map(str)
        origin: Any = flow.plan.origin
        assert origin.replay == "position"
        assert flow.to_list().run_sync() == ["4", "5", "6", "7", "8", "9"]
        assert with_origin(flow, origin.at(7)).to_list().run_sync() == ["8", "9"]


def test_a_flow_without_positions_declares_that_it_cannot_be_replayed() -> None:
    assert from_websocket("ws://127.0.0.1:1").plan.origin.replay == "none"


def test_an_error_names_the_connector_and_the_line_that_made_it() -> None:
    flow = from_websocket("ws://127.0.0.1:1", reconnect=ONCE)
    with pytest.raises(ConnectionError) as caught:
        flow.run_sync()
    assert any("from_websocket" in note and __file__ in note for note in caught.value.__notes__)


def test_importing_the_package_loads_no_package_of_others() -> None:
    program = "import sys, penstock, penstock.connectors; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    loaded = done.stdout.split()
    assert {"websockets", "httpx", "starlette", "uvicorn", "pyarrow"}.isdisjoint(loaded)
