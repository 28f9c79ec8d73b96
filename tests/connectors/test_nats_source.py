"""Streams of NATS as sources, filled by a plain client and watched at the server."""

from __future__ import annotations

import ssl
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from nats.js import JetStreamContext
from nats.js.api import RetentionPolicy

from penstock import Flow, Retry
from penstock.connectors import JetStreamMessage, read_jetstream, write_jetstream
from penstock.connectors.nats import pulling
from penstock.flow.resume.planning import resumption_of
from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber
from tests.connectors.authority import Authority
from tests.connectors.losses import losses
from tests.servers.nats import NatsServer, running_nats

pytestmark = [pytest.mark.nats, pytest.mark.timeout(120)]

PATIENCE = 60
QUICKLY = Retry(times=None, backoff=0.05, longest=0.1)
ONCE = Retry(times=0)


def numbers(*which: int) -> list[bytes]:
    return [str(number).encode() for number in range(*which)]


def values_of(messages: list[JetStreamMessage] | None) -> list[Any]:
    return [message.value for message in messages or []]


def purge(server: NatsServer, stream: str, before: int) -> None:
    """As retention does: all that come before a sequence are gone."""
    server.call(lambda jetstream: jetstream.purge_stream(stream, seq=before))


def test_messages_come_as_they_are(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    said = {"Airport": "JFK"}
    nats_server.call(lambda js: js.publish(f"{stream}.a", b'{"delay": 12}', headers=said))
    nats_server.publish(f"{stream}.b", ['"é"'.encode()])
    flow = read_jetstream(nats_server.url, stream, until_end=True)
    first, second = flow.to_list().run_sync() or []
    assert first[:5] == (stream, 1, f"{stream}.a", {"delay": 12}, said)
    assert second[:5] == (stream, 2, f"{stream}.b", "é", {})
    assert first.timestamp <= second.timestamp
    plain = read_jetstream(nats_server.url, stream, until_end=True, decode=None)
    assert values_of(plain.to_list().run_sync()) == [b'{"delay": 12}', '"é"'.encode()]
    one = read_jetstream(nats_server.url, stream, subject=f"{stream}.b", until_end=True)
    assert values_of(one.to_list().run_sync()) == ["é"]


def test_nothing_is_asked_for_that_was_not_requested(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(100))
    flow = read_jetstream(nats_server.url, stream)
    flow.subscribe(subscriber := ManualSubscriber[JetStreamMessage]())
    for n, total in ((3, 3), (1, 4), (40, 44)):
        subscriber.request(n)
        subscriber.await_elements(total)
        (consumer,) = nats_server.seen(stream)["consumer_detail"]
        assert consumer["delivered"]["stream_seq"] == total
    subscriber.assert_not_ended()
    assert values_of(subscriber.elements) == [*range(44)]
    subscriber.cancel()


def test_what_is_published_later_comes_as_well(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    flow = read_jetstream(nats_server.url, stream)
    flow.subscribe(subscriber := ManualSubscriber[JetStreamMessage](request=10))
    for number in range(3):
        nats_server.publish(f"{stream}.a", numbers(number, number + 1))
        subscriber.await_elements(number + 1)
    subscriber.cancel()
    assert values_of(subscriber.elements) == [0, 1, 2]


def test_it_goes_on_after_a_sequence(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(10))
    flow = read_jetstream(nats_server.url, stream, after=7, until_end=True)
    assert values_of(flow.to_list().run_sync()) == [7, 8, 9]
    flow = read_jetstream(nats_server.url, stream, after=10, until_end=True)
    assert values_of(flow.to_list().run_sync()) == []
    flow = read_jetstream(nats_server.url, nats_server.create(), until_end=True)
    assert values_of(flow.to_list().run_sync()) == []


def test_it_begins_with_what_comes_from_now_on(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(10))
    connected = Event()
    flow = read_jetstream(
        nats_server.url, stream, start="latest", on_state=lambda words: connected.set()
    )
    flow.subscribe(subscriber := ManualSubscriber[JetStreamMessage](request=10))
    assert connected.wait(PATIENCE)
    nats_server.publish(f"{stream}.a", numbers(10, 12))
    subscriber.await_elements(2)
    subscriber.cancel()
    assert values_of(subscriber.elements) == [10, 11]


def test_a_message_that_is_no_json_ends_the_flow_or_is_a_dead_letter(
    nats_server: NatsServer,
) -> None:
    stream = nats_server.create([b"1", b"soon", b"3"])
    flow = read_jetstream(nats_server.url, stream, until_end=True)
    place = f"{stream}, sequence 2, subject {stream}.a: Expecting value at column 1 of line 1"
    flow.subscribe(subscriber := ManualSubscriber[JetStreamMessage](request=10))
    subscriber.await_end()
    subscriber.assert_failed(ValueError, match=place)
    assert values_of(subscriber.elements) == [1]
    dead: list[tuple[bytes, str]] = []
    flow = read_jetstream(
        nats_server.url,
        stream,
        until_end=True,
        on_bad=lambda message, error: dead.append((message.value, type(error).__name__)),
    )
    assert values_of(flow.to_list().run_sync()) == [1, 3]
    assert dead == [(b"soon", "ValueError")]


@pytest.mark.full
def test_the_source_keeps_all_rules(nats_server: NatsServer, search_briefly: None) -> None:
    streams: dict[int, str] = {}

    def flow_of(n: int) -> Flow[JetStreamMessage]:
        if n not in streams:
            streams[n] = nats_server.create(numbers(n))
        return read_jetstream(nats_server.url, streams[n], until_end=True)

    verify_publisher(
        flow_of,
        failed=lambda: read_jetstream("nats://127.0.0.1:9", "a", reconnect=ONCE),
        concurrent_requests=True,
        explains_illegal_requests=True,
        max_elements=10_000,
        reports_to_hook=True,
        strict_types=True,
        answers_within=0.5,
        repeatable=True,
    ).raise_if_failed()


# What is missing.


def test_messages_that_retention_has_deleted_are_missed(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(10))
    purge(nats_server, stream, 7)
    flow = read_jetstream(nats_server.url, stream, after=3)
    with pytest.raises(LookupError, match="sequence 4 of the stream .* is gone, it has 7 to 10"):
        flow.take(1).to_list().run_sync()
    for on_missing, expected in (("earliest", [6, 7, 8, 9]), ("latest", [])):
        with losses() as lost:
            flow = read_jetstream(
                nats_server.url,
                stream,
                after=3,
                until_end=True,
                on_missing=on_missing,  # type: ignore[arg-type]
            )
        assert values_of(flow.to_list().run_sync()) == expected
        assert lost.counts == [7 - len(expected)]


def test_a_stream_that_was_made_anew_is_noticed(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(3))
    flow = read_jetstream(nats_server.url, stream, after=10)
    with pytest.raises(LookupError, match="sequence 11 .* is not there, it has 1 to 3"):
        flow.take(1).to_list().run_sync()
    with losses() as lost:
        again = read_jetstream(
            nats_server.url, stream, after=10, until_end=True, on_missing="earliest"
        )
    assert values_of(again.to_list().run_sync()) == [0, 1, 2]
    assert lost.counts == [None]


async def make_anew(jetstream: JetStreamContext, stream: str, messages: list[bytes]) -> None:
    await jetstream.delete_stream(stream)
    await jetstream.add_stream(name=stream, subjects=[f"{stream}.>"])
    for message in messages:
        await jetstream.publish(f"{stream}.a", message)


@pytest.mark.parametrize("later", [1, 9])
def test_a_stream_that_was_made_anew_between_two_runs_is_noticed(
    nats_server: NatsServer, later: int
) -> None:
    """Also if it has more messages than were read; a sequence alone goes on in it."""
    stream = nats_server.create(numbers(5))
    flow = read_jetstream(nats_server.url, stream, until_end=True)
    read = flow.take(3).to_list().run_sync() or []
    again = read_jetstream(nats_server.url, stream, after=read[-1].position, until_end=True)
    assert values_of(again.to_list().run_sync()) == [3, 4]
    nats_server.call(lambda jetstream: make_anew(jetstream, stream, numbers(100, 100 + later)))
    resumed = resumption_of(flow).positioned([*read[-1].position])  # as a journal gives it back
    with pytest.raises(LookupError, match="was made anew before sequence 4 was read, it has"):
        resumed.to_list().run_sync()
    with losses() as lost:
        going_on = read_jetstream(
            nats_server.url,
            stream,
            after=read[-1].position,
            until_end=True,
            on_missing="earliest",
        )
    assert values_of(going_on.to_list().run_sync()) == [*range(100, 100 + later)]
    assert lost.counts == [None]
    if later > 3:
        older = resumption_of(flow).positioned(3).to_list().run_sync() or []
        assert [each.element.value for each in older] == [*range(103, 100 + later)]


def reader_of_three(
    server: NatsServer, stream: str, **options: Any
) -> ManualSubscriber[JetStreamMessage]:
    """One that has read three messages, and wants no more for now."""
    flow = read_jetstream(server.url, stream, reconnect=QUICKLY, **options)
    flow.subscribe(subscriber := ManualSubscriber[JetStreamMessage](request=3))
    subscriber.await_elements(3)
    return subscriber


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that knows no such consumer does not answer; that is waited for."""
    monkeypatch.setattr(pulling, "ANSWER", 0.5)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("later", [1, 9])
def test_a_stream_that_is_made_anew_while_it_is_read_is_noticed(
    nats_server: NatsServer, later: int
) -> None:
    """Also if it has more messages than were read."""
    stream = nats_server.create(numbers(3))
    reader = reader_of_three(nats_server, stream)
    with losses() as lost:
        again = reader_of_three(nats_server, stream, on_missing="earliest")
    nats_server.call(lambda jetstream: make_anew(jetstream, stream, numbers(later)))
    for each in (reader, again):
        each.request(later)
    reader.await_end()
    reader.assert_failed(LookupError, match="was made anew before sequence 4 was read, it has")
    again.await_elements(3 + later)
    again.cancel()
    assert values_of(again.elements) == [0, 1, 2, *range(later)]
    assert lost.counts == [None]


@pytest.mark.usefixtures("impatient")
def test_a_consumer_that_somebody_deletes_is_made_again(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(3))
    reader = reader_of_three(nats_server, stream)

    async def delete(jetstream: JetStreamContext) -> None:
        for consumer in await jetstream.consumers_info(stream):
            await jetstream.delete_consumer(stream, consumer.name)

    nats_server.call(delete)
    nats_server.publish(f"{stream}.a", numbers(2))
    reader.request(2)
    reader.await_elements(5)
    reader.cancel()
    assert values_of(reader.elements) == [0, 1, 2, 0, 1]


@pytest.mark.usefixtures("impatient")
def test_a_stream_that_is_deleted_is_named(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(3))
    reader = reader_of_three(nats_server, stream)
    nats_server.call(lambda jetstream: jetstream.delete_stream(stream))
    reader.request(1)
    reader.await_end()
    reader.assert_failed(LookupError, match=f"has no stream {stream}")


def test_a_stream_without_its_first_messages_is_read_from_where_it_begins(
    nats_server: NatsServer,
) -> None:
    stream = nats_server.create(numbers(10))
    purge(nats_server, stream, 7)
    nats_server.call(lambda jetstream: jetstream.delete_msg(stream, 8))
    with losses() as lost:
        flow = read_jetstream(nats_server.url, stream, until_end=True, fetch=1)
    assert values_of(flow.to_list().run_sync()) == [6, 8, 9]
    assert lost.counts == []


def test_messages_that_go_between_two_requests_are_missed(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(10))
    read_jetstream(nats_server.url, stream).subscribe(
        subscriber := ManualSubscriber[JetStreamMessage](request=3)
    )
    subscriber.await_elements(3)
    purge(nats_server, stream, 4)  # those that were read
    subscriber.request(1)
    subscriber.await_elements(4)
    purge(nats_server, stream, 9)
    subscriber.request(1)
    subscriber.await_end()
    subscriber.assert_failed(LookupError, match="sequence 5 .* is gone, it has 9 to 10")


def test_messages_of_others_are_not_missed(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(3))
    flow = read_jetstream(nats_server.url, stream, subject=f"{stream}.a")
    flow.subscribe(subscriber := ManualSubscriber[JetStreamMessage](request=10))
    subscriber.await_elements(3)
    nats_server.publish(f"{stream}.b", numbers(20))
    nats_server.publish(f"{stream}.a", numbers(3, 4))
    subscriber.await_elements(4)
    nats_server.publish(f"{stream}.b", numbers(20))
    purge(nats_server, stream, 24)
    nats_server.publish(f"{stream}.a", numbers(4, 5))
    subscriber.await_elements(5)
    subscriber.cancel()
    assert values_of(subscriber.elements) == [*range(5)]


# The server.


def test_a_server_that_comes_back_is_read_on() -> None:
    with running_nats() as server:
        stream = server.create(numbers(10))
        told: list[str] = []
        lost = Event()

        def tell(words: str) -> None:
            told.append(words)
            if "next attempt" in words:
                lost.set()

        read_jetstream(server.url, stream, reconnect=QUICKLY, on_state=tell).subscribe(
            subscriber := ManualSubscriber[JetStreamMessage](request=14)
        )
        for end, first in ((server.kill, 10), (server.stop, 12)):
            subscriber.await_elements(first)
            lost.clear()
            end()
            assert lost.wait(PATIENCE)
            server.start()
            server.publish(f"{stream}.a", numbers(first, first + 2))
        subscriber.await_elements(14)
        subscriber.cancel()
        assert values_of(subscriber.elements) == [*range(14)]
        assert not any("s3cret" in words for words in told)


def test_of_several_servers_one_that_answers_is_asked(nats_server: NatsServer) -> None:
    stream = nats_server.create(numbers(2))
    flow = read_jetstream(["nats://127.0.0.1:9", nats_server.url], stream, until_end=True)
    assert values_of(flow.to_list().run_sync()) == [0, 1]


@pytest.mark.openssl
def test_a_connection_is_encrypted_and_certificates_are_looked_at(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    files = authority.for_here()
    tls = f'tls {{ cert_file: "{files.certificate}", key_file: "{files.key}" }}'
    context = ssl.create_default_context(cafile=str(authority.file))
    with running_nats(tls) as server:
        secret = server.url.replace("nats://", "tls://")
        with pytest.raises(LookupError, match="has no stream none"):
            read_jetstream(secret, "none", options={"tls": context}).last().run_sync()
        with pytest.raises(ConnectionError, match="cannot be encrypted: .*certificate verify fail"):
            read_jetstream(secret, "none").last().run_sync()


def test_what_is_to_be_secret_is_not_sent_in_the_clear(nats_server: NatsServer) -> None:
    url = nats_server.url.replace("nats://", "tls://")
    with pytest.raises(ValueError, match="offers no encryption, .*; nothing was sent there"):
        read_jetstream(url, "flights").last().run_sync()


# What cannot be.


def test_a_stream_that_is_not_there_is_named(nats_server: NatsServer) -> None:
    with pytest.raises(LookupError, match=f"{nats_server.address} has no stream none"):
        read_jetstream(nats_server.url, "none").last().run_sync()


def test_a_stream_whose_messages_go_when_they_are_read_is_refused(
    nats_server: NatsServer,
) -> None:
    stream = nats_server.create(numbers(3), retention=RetentionPolicy.WORK_QUEUE)
    flow = read_jetstream(nats_server.url, stream, until_end=True)
    with pytest.raises(ValueError, match=f"{stream} at .* has retention=workqueue, so it gives"):
        flow.to_list().run_sync()
    assert nats_server.seen(stream)["state"]["messages"] == 3


def test_a_subject_that_the_stream_does_not_have_is_refused(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    with pytest.raises(ValueError, match=f"{stream} at .*subject is not a valid subset"):
        read_jetstream(nats_server.url, stream, subject="none").last().run_sync()


@pytest.mark.parametrize("user", ["me:0ther", "nobody:0ther", "guest:guest"])
def test_who_is_not_let_in_is_told_so_without_the_password(
    nats_server: NatsServer, user: str
) -> None:
    url = nats_server.url.replace("me:s3cret", user)
    with pytest.raises(ConnectionError, match="does not let us in: .*[vV]iolation") as caught:
        read_jetstream(url, "flights").last().run_sync()
    assert "0ther" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://127.0.0.1", "begins with nats:// or tls://"),
        ("nats://", "names no host"),
        ([], "servers must name at least one"),
    ],
)
def test_a_url_that_is_none_is_refused_at_once(url: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_jetstream(url, "flights")
    with pytest.raises(ValueError, match=complaint):
        write_jetstream(url, "flights", "flights")


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"after": -1}, "after must be the position of a message, or its sequence"),
        ({"after": "soon"}, "after must be the position of a message, or its sequence"),
        ({"after": (1, 2, 3)}, "after must be the position of a message, or its sequence"),
        ({"start": "now"}, "start"),
        ({"on_missing": "skip"}, "on_missing"),
        ({"options": {"user_name": "me"}}, "the client has no 'user_name'; it has .*, user,"),
        ({"options": {"allow_reconnect": True}}, "allow_reconnect cannot be set, reconnect= says"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_at_once(given: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_jetstream("nats://127.0.0.1", "flights", **given)


@pytest.mark.parametrize("stream", ["", "a.b", "a b", "a*", "a>"])
def test_a_name_that_no_stream_can_have_is_refused_at_once(stream: str) -> None:
    with pytest.raises(ValueError, match="stream"):
        read_jetstream("nats://127.0.0.1", stream)
