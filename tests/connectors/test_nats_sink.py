"""Streams of NATS as sinks, seen by a plain client."""

from __future__ import annotations

from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest
from nats.js import api

from penstock import Flow, Retry, collect_undelivered
from penstock.connectors import ConnectionLost, Writer, write_jetstream
from penstock.connectors.nats.publishing import RowPublisher
from penstock.connectors.shared import reconnecting
from penstock.connectors.shared.writer import CheckedSink
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.flights import Departure, Flight
from tests.servers.nats import NatsServer, running_nats

pytestmark = [pytest.mark.nats, pytest.mark.timeout(120)]

PATIENCE = 60
QUICKLY = Retry(times=None, backoff=0.05, longest=0.1)
ID = "Nats-Msg-Id"


def write(server: NatsServer, stream: str, **given: Any) -> Writer:
    return write_jetstream(server.url, stream, given.pop("subject", f"{stream}.a"), **given)


def written(writer: Writer, *elements: Any) -> Exception | None:
    with collect_undelivered():
        Flow.of(*elements).subscribe(writer)
        assert writer.wait(PATIENCE)
    return writer.error


def give(sink: CheckedSink, batch: int, *elements: Any) -> bool:
    """One batch, if the sink wants it."""
    if not sink.begin(batch):
        return False
    for element in elements:
        sink(element)
    sink.commit(batch)
    return True


def test_elements_become_messages(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    elements = [{"origin": "JFK", "delay": 12}, Flight("é", 1.5), Departure("LGA", 0.5), [1]]
    assert written(write(nats_server, stream), *elements) is None
    assert nats_server.values(stream) == [
        {"origin": "JFK", "delay": 12},
        {"origin": "é", "delay": 1.5},
        {"origin": "LGA", "delay": 0.5},
        [1],
    ]


def test_functions_make_bytes_headers_and_subjects(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    writer = write(
        nats_server,
        stream,
        subject=lambda n: f"{stream}.{n % 2}",
        encode=lambda n: bytes([n]),
        headers=lambda n: {"Number": str(n)} if n else None,
    )
    assert written(writer, 0, 1) is None
    found = nats_server.messages(stream)
    assert [each[:2] for each in found] == [(f"{stream}.0", b"\0"), (f"{stream}.1", b"\1")]
    assert found[1][2]["Number"] == "1"
    assert "Number" not in found[0][2]


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"encode": lambda n: n}, "a message is bytes or a text, its subject a text; not so 7"),
        ({"subject": lambda n: n}, "not so b'7' for 7"),
        ({"headers": lambda n: {ID: "1"}}, "a header has a name, other than Nats-Msg-Id"),
        ({"headers": lambda n: {"Number": n}}, "not so 'Number': 7"),
        ({"headers": lambda n: {"Number": "1\r\nMore: 2"}}, "a header has a name, .* on one line"),
        ({"subject": lambda n: "none.there"}, "has no stream for the subject none.there"),
        ({"encode": lambda n: b"x" * 2**21}, "maximum payload exceeded; .* its 2097152 bytes are"),
        ({"encode": lambda n: {1, 2}}, "a message is bytes or a text"),
    ],
)
def test_what_cannot_be_published_is_shown(
    nats_server: NatsServer, given: Any, complaint: str
) -> None:
    stream = nats_server.create()
    error = written(write(nats_server, stream, **given), 7)
    assert error is not None
    with pytest.raises(type(error), match=complaint):
        raise error
    assert nats_server.messages(stream) == []


def test_a_number_that_json_does_not_have_is_shown(nats_server: NatsServer) -> None:
    error = written(write(nats_server, nats_server.create()), {"delay": float("nan")})
    assert str(error).startswith("{'delay': nan} has no form in JSON: Out of range")


def test_a_message_that_the_stream_refuses_is_named(nats_server: NatsServer) -> None:
    stream = nats_server.create(max_msg_size=100)
    error = written(write(nats_server, stream), "short", "x" * 100)
    assert "message size exceeds maximum allowed" in str(error)
    assert nats_server.values(stream) == ["short"]


def test_a_batch_that_comes_again_is_skipped(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    epoch = Epoch.begun()
    for is_new in (True, False):
        sink = write(nats_server, stream).sink
        sink.open(epoch)
        assert give(sink, 0, 1, 2) == is_new
        sink.close()
        epoch = Epoch.begun(epoch.starts, 0)
    assert nats_server.values(stream) == [1, 2]


def test_a_batch_that_is_not_committed_leaves_no_trace(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    sink = write(nats_server, stream).sink
    sink.open(Epoch.begun())
    assert sink.begin(0)
    for number in range(2_000):
        sink(number)
    sink.close()
    assert nats_server.messages(stream) == []


# A batch of which some rows are there, long after the server has forgotten their ids.


class Killed(Exception):
    """Stands for the end of the program."""


def end_amid_a_batch(
    server: NatsServer, stream: str, rows: list[int], monkeypatch: pytest.MonkeyPatch
) -> Epoch:
    """Publish the first half of a batch, and no more; the epoch of the next start."""
    epoch = Epoch.begun()
    publish = RowPublisher.publish

    async def half(self: RowPublisher, token: str, given: Any) -> None:
        await publish(self, token, given[: len(given) // 2])
        raise Killed

    sink = write(server, stream).sink
    sink.open(epoch)
    with monkeypatch.context() as patch:
        patch.setattr(RowPublisher, "publish", half)
        with pytest.raises(Killed):
            give(sink, 0, *rows)
    sink.close()
    await_forgotten_ids(server, stream)
    return Epoch.begun(epoch.starts, 0)


def await_forgotten_ids(server: NatsServer, stream: str) -> None:
    """Until the server takes an id again: it has forgotten all that came before."""

    async def published(jetstream: Any) -> None:
        while True:
            sent = await jetstream.publish(f"{stream}.other", b"-1", headers={ID: "mine"})
            if sent.duplicate:
                continue
            if sent.seq > first.seq:
                return

    first = server.call(lambda js: js.publish(f"{stream}.other", b"-1", headers={ID: "mine"}))
    server.call(published)


def of_ours(server: NatsServer, stream: str) -> list[int]:
    return [number for number in server.values(stream) if number >= 0]


def test_the_rest_of_a_batch_is_published_after_the_window(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = nats_server.create(duplicate_window=0.1)
    rows = [*range(10)]
    epoch = end_amid_a_batch(nats_server, stream, rows, monkeypatch)
    assert of_ours(nats_server, stream) == rows[:5]
    sink = write(nats_server, stream).sink
    assert "goes on in the stream" in sink.check(epoch)
    sink.open(epoch)
    assert give(sink, 0, *rows)
    assert give(sink, 1, 10)
    sink.close()
    assert of_ours(nats_server, stream) == [*rows, 10]


@pytest.mark.parametrize("rows", [[9, *range(1, 10)], [0, 1]])
def test_rows_that_come_otherwise_replace_those_that_are_there(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch, rows: list[int]
) -> None:
    stream = nats_server.create(duplicate_window=0.1)
    epoch = end_amid_a_batch(nats_server, stream, [*range(10)], monkeypatch)
    sink = write(nats_server, stream).sink
    sink.open(epoch)
    assert give(sink, 0, *rows)
    sink.close()
    assert of_ours(nats_server, stream) == rows


def test_rows_that_cannot_be_deleted_are_not_doubled(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = nats_server.create(duplicate_window=0.1, deny_delete=True)
    epoch = end_amid_a_batch(nats_server, stream, [*range(10)], monkeypatch)
    sink = write(nats_server, stream).sink
    sink.open(epoch)
    with pytest.raises(DeliveryRefused, match="with other rows .* message 1 cannot be deleted"):
        give(sink, 0, 7)
    sink.close()
    assert of_ours(nats_server, stream) == [*range(5)]


@pytest.mark.parametrize(("first", "is_known"), [(3, True), (6, False)])
def test_what_retention_has_left_tells_what_was_there(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch, first: int, *, is_known: bool
) -> None:
    stream = nats_server.create(duplicate_window=0.1)
    epoch = end_amid_a_batch(nats_server, stream, [*range(10)], monkeypatch)
    nats_server.call(lambda jetstream: jetstream.purge_stream(stream, seq=first))
    sink = write(nats_server, stream).sink
    sink.open(epoch)
    if is_known:
        assert give(sink, 0, *range(10))
        assert of_ours(nats_server, stream) == [*range(2, 10)]
    else:
        with pytest.raises(DeliveryRefused, match="not known how many of its rows are there"):
            give(sink, 0, *range(10))
        assert of_ours(nats_server, stream) == []
    sink.close()


def test_what_another_checkpoint_has_begun_is_refused(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = nats_server.create(duplicate_window=0.1)
    end_amid_a_batch(nats_server, stream, [*range(10)], monkeypatch)
    other = write(nats_server, stream).sink
    for refused in (other.check, other.open):
        with pytest.raises(DeliveryRefused, match="written from another checkpoint"):
            refused(Epoch.begun())


# Others.


def test_the_stream_of_another_checkpoint_is_refused(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    sink = write(nats_server, stream).sink
    sink.open(Epoch.begun())
    give(sink, 0, 1)
    sink.close()
    other = write(nats_server, stream).sink
    for refused in (other.check, other.open):
        with pytest.raises(DeliveryRefused, match="written from another checkpoint"):
            refused(Epoch.begun())
    third = write(nats_server, stream, name="third").sink
    third.open(Epoch.begun())
    third.close()


def test_of_two_who_write_at_once_one_is_refused(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    epoch = Epoch.begun()
    sinks = [write(nats_server, stream).sink for _ in range(2)]
    for sink in sinks:
        sink.open(epoch)
        sink.begin(0)
        sink(1)
    sinks[0].commit(0)
    with pytest.raises(DeliveryRefused, match="written by another pipeline"):
        sinks[1].commit(0)
    for sink in sinks:
        sink.close()
    assert nats_server.values(stream) == [1]


def test_who_comes_between_two_marks_is_refused(
    nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first has begun when the second one comes, and finds its mark gone at the end."""
    stream = nats_server.create()
    epoch = Epoch.begun()
    later = Epoch.begun(epoch.starts, 0)
    first, second = (write(nats_server, stream, reconnect=QUICKLY).sink for _ in range(2))
    first.open(epoch)
    second.open(later)
    publish = RowPublisher.publish

    def come_between() -> None:
        with monkeypatch.context() as patch:
            patch.setattr(RowPublisher, "publish", publish)
            assert give(second, 0, *range(10))

    async def interrupted(self: RowPublisher, token: str, given: Any) -> None:
        await publish(self, token, given)
        came.append(True)
        raise ConnectionLost("as if")

    came: list[bool] = []
    monkeypatch.setattr(RowPublisher, "publish", interrupted)
    pauses = SimpleNamespace(sleep=lambda seconds: come_between() if len(came) == 1 else None)
    monkeypatch.setattr(reconnecting, "time", pauses)
    with pytest.raises(DeliveryRefused, match="written by another pipeline with the mark"):
        give(first, 0, *range(10))
    first.close()
    second.close()
    assert nats_server.values(stream) == [*range(10)]


@pytest.mark.parametrize(
    "retention", [api.RetentionPolicy.WORK_QUEUE, api.RetentionPolicy.INTEREST]
)
def test_a_stream_whose_messages_go_when_they_are_read_promises_less(
    nats_server: NatsServer, retention: api.RetentionPolicy
) -> None:
    stream = nats_server.create(retention=retention)
    with pytest.raises(DeliveryRefused, match=f"has retention={retention.value}: messages go when"):
        write(nats_server, stream).sink.open(Epoch.begun())
    assert written(write(nats_server, stream), 1) is None


def test_a_bucket_that_forgets_is_refused() -> None:
    with running_nats() as server:
        stream = server.create()
        server.call(lambda js: js.create_key_value(bucket="penstock_delivery", ttl=60))
        with pytest.raises(DeliveryRefused, match="penstock_delivery .* forgets .* after 60 s"):
            write(server, stream).sink.open(Epoch.begun())


def test_a_stream_that_is_full_is_waited_for(nats_server: NatsServer) -> None:
    stream = nats_server.create(max_msgs=3, discard=api.DiscardPolicy.NEW)
    full = Event()
    writer = write(nats_server, stream, reconnect=QUICKLY, on_state=lambda words: full.set())
    Flow.range(5).subscribe(writer)
    assert full.wait(PATIENCE)
    assert nats_server.values(stream) == [0, 1, 2]
    nats_server.call(lambda jetstream: jetstream.purge_stream(stream))
    assert writer.wait(PATIENCE)
    assert writer.error is None
    assert nats_server.values(stream) == [3, 4]


# What cannot be.


def test_it_says_what_it_would_do(nats_server: NatsServer) -> None:
    stream = nats_server.create()
    sink = write(nats_server, stream).sink
    expected = f"adds to the stream {stream} at {nats_server.address}"
    assert sink.check(Epoch.begun()) == sink.check(None) == expected
    with pytest.raises(ConnectionError, match="nats://127.0.0.1:9 does not answer"):
        write_jetstream("nats://127.0.0.1:9", stream, "a").sink.check(None)


@pytest.mark.parametrize(
    ("stream", "subject", "complaint"),
    [
        ("none", "none", "has no stream none"),
        ("", "none", "does not take the subject none; it has .*>"),
    ],
)
def test_a_stream_or_a_subject_that_is_not_there_is_named(
    nats_server: NatsServer, stream: str, subject: str, complaint: str
) -> None:
    error = written(write(nats_server, stream or nats_server.create(), subject=subject), 1)
    with pytest.raises(LookupError, match=complaint):
        raise error or AssertionError


def test_who_is_not_let_in_is_told_so_without_the_password(nats_server: NatsServer) -> None:
    url = nats_server.url.replace("s3cret", "0ther")
    error = written(write_jetstream(url, "flights", "flights"), 1)
    assert "does not let us in" in str(error)
    assert "0ther" not in str(error)


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ({"subject": "a.*"}, "subject is words with full stops between them"),
        ({"subject": "a..b"}, "subject is words with full stops between them"),
        ({"name": "a b"}, "name has letters, digits"),
        ({"commit_rows": 0}, "commit_rows"),
        ({"options": {"servers": "a"}}, "the servers are an argument of their own"),
    ],
)
def test_arguments_that_cannot_be_used_are_refused_at_once(given: Any, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        write_jetstream("nats://127.0.0.1", "flights", **{"subject": "flights", **given})
