"""Streams of Redis as sources and sinks, seen by ``redis-cli``."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from penstock import Flow, Retry, collect_undelivered
from penstock.connectors import Entry, Writer, read_redis_stream, write_redis_stream
from penstock.delivery import BatchesLost, DeliveryRefused, Epoch
from penstock.flow.resume.planning import resumption_of
from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber
from tests.connectors.delivery.lives import refused
from tests.connectors.flights import Departure, Flight
from tests.connectors.losses import losses
from tests.servers.forwarder import forwarding
from tests.servers.redis import RedisServer, running_redis

pytestmark = [pytest.mark.redis, pytest.mark.timeout(120)]

PATIENCE = 60
QUICKLY = Retry(times=None, backoff=0.05, longest=0.1)
ONCE = Retry(times=0)


@pytest.fixture
def stream(redis_server: RedisServer) -> str:
    return redis_server.new_name()


def filled(server: RedisServer, stream: str, numbers: range) -> str:
    """A stream of numbers, whose ids are the numbers after those."""
    if numbers:
        script = "for n=ARGV[1],ARGV[2] do redis.call('XADD',KEYS[1],(n+1)..'-0','n',n) end"
        server.command("EVAL", script, 1, stream, numbers[0], numbers[-1])
    return stream


def numbers_of(entries: list[Entry]) -> list[int]:
    return [int(entry.fields["n"]) for entry in entries]


def written(writer: Writer, *elements: Any) -> Exception | None:
    with collect_undelivered():
        Flow.of(*elements).subscribe(writer)
        assert writer.wait(PATIENCE)
    return writer.error


# The source.


def test_entries_come_as_they_are(redis_server: RedisServer, stream: str) -> None:
    first = redis_server.command("XADD", stream, "*", "origin", "JFK", "delay", 12)
    second = redis_server.command("XADD", stream, "*", "origin", "é")
    found = read_redis_stream(redis_server.url, stream, until_end=True).to_list().run_sync()
    assert found == [
        Entry(first, {"origin": "JFK", "delay": "12"}),
        Entry(second, {"origin": "é"}),
    ]


def test_nothing_is_read_that_was_not_requested(redis_server: RedisServer, stream: str) -> None:
    filled(redis_server, stream, range(100))
    flow = read_redis_stream(redis_server.url, stream)
    flow.subscribe(subscriber := ManualSubscriber[Entry]())
    for n, total in ((3, 3), (1, 4), (40, 44)):
        subscriber.request(n)
        subscriber.await_elements(total)
    subscriber.assert_not_ended()
    assert numbers_of(subscriber.elements) == [*range(44)]
    subscriber.cancel()


def test_what_is_added_later_comes_as_well(redis_server: RedisServer, stream: str) -> None:
    flow = read_redis_stream(redis_server.url, stream)
    flow.subscribe(subscriber := ManualSubscriber[Entry](request=10))
    for number in range(3):  # the stream was not even there
        filled(redis_server, stream, range(number, number + 1))
        subscriber.await_elements(number + 1)
    subscriber.cancel()
    assert numbers_of(subscriber.elements) == [0, 1, 2]


def test_it_goes_on_after_an_id(redis_server: RedisServer, stream: str) -> None:
    filled(redis_server, stream, range(10))
    flow = read_redis_stream(redis_server.url, stream, after="7-0", until_end=True)
    assert numbers_of(flow.to_list().run_sync() or []) == [7, 8, 9]
    flow = read_redis_stream(redis_server.url, stream, after="7", until_end=True)
    assert numbers_of(flow.to_list().run_sync() or []) == [7, 8, 9]


def test_it_begins_with_what_comes_from_now_on(redis_server: RedisServer, stream: str) -> None:
    filled(redis_server, stream, range(10))
    connected = Event()
    flow = read_redis_stream(
        redis_server.url, stream, after="$", on_state=lambda words: connected.set()
    )
    flow.subscribe(subscriber := ManualSubscriber[Entry](request=10))
    assert connected.wait(PATIENCE)
    filled(redis_server, stream, range(10, 12))
    subscriber.await_elements(2)
    subscriber.cancel()
    assert numbers_of(subscriber.elements) == [10, 11]


@pytest.mark.full
def test_the_source_keeps_all_rules(redis_server: RedisServer, search_briefly: None) -> None:
    streams: dict[int, str] = {}

    def flow_of(n: int) -> Flow[Entry]:
        if n not in streams:
            streams[n] = filled(redis_server, redis_server.new_name(), range(n))
        return read_redis_stream(redis_server.url, streams[n], until_end=True)

    verify_publisher(
        flow_of,
        failed=lambda: read_redis_stream("redis://127.0.0.1:9", "a", reconnect=ONCE),
        concurrent_requests=True,
        explains_illegal_requests=True,
        max_elements=10_000,
        reports_to_hook=True,
        strict_types=True,
        answers_within=0.5,
        repeatable=True,
    ).raise_if_failed()


def test_entries_that_were_trimmed_before_they_were_read_are_missed(
    redis_server: RedisServer, stream: str
) -> None:
    filled(redis_server, stream, range(10))
    redis_server.command("XTRIM", stream, "MAXLEN", "=", 4)
    flow = read_redis_stream(redis_server.url, stream, after="3-0")
    with pytest.raises(LookupError, match=f"entries after 3-0 .* {stream} at .* has 7-0 to 10-0"):
        flow.take(1).to_list().run_sync()
    with losses() as lost:
        flow = read_redis_stream(
            redis_server.url, stream, after="3-0", until_end=True, on_missing="skip"
        )
    assert numbers_of(flow.to_list().run_sync() or []) == [6, 7, 8, 9]
    assert lost.counts == [None]


def test_a_stream_that_was_trimmed_is_read_from_its_beginning(
    redis_server: RedisServer, stream: str
) -> None:
    filled(redis_server, stream, range(10))
    redis_server.command("XTRIM", stream, "MAXLEN", "=", 4)
    redis_server.command("XDEL", stream, "8-0")
    flow = read_redis_stream(redis_server.url, stream, until_end=True, fetch=1)
    assert numbers_of(flow.to_list().run_sync() or []) == [6, 8, 9]


def test_entries_that_are_removed_between_two_requests_are_missed(
    redis_server: RedisServer, stream: str
) -> None:
    filled(redis_server, stream, range(10))
    read_redis_stream(redis_server.url, stream).subscribe(
        subscriber := ManualSubscriber[Entry](request=3)
    )
    subscriber.await_elements(3)
    redis_server.command("XTRIM", stream, "MAXLEN", "=", 7)  # those that were read
    subscriber.request(1)
    subscriber.await_elements(4)
    redis_server.command("XTRIM", stream, "MAXLEN", "=", 2)
    subscriber.request(1)
    subscriber.await_end()
    subscriber.assert_failed(LookupError, match="entries after 4-0 were removed")


@pytest.mark.parametrize("read", [2, 3])
def test_a_stream_that_is_made_anew_with_older_ids_is_noticed(
    redis_server: RedisServer, stream: str, read: int
) -> None:
    """As after a failover to a server whose clock is behind: nobody would see its entries."""
    filled(redis_server, stream, range(10, 13))
    readers = [ManualSubscriber[Entry](request=read) for _ in range(2)]
    with losses() as lost:
        skipping = read_redis_stream(redis_server.url, stream, on_missing="skip")
    for reader, flow in zip(
        readers, (read_redis_stream(redis_server.url, stream), skipping), strict=True
    ):
        flow.subscribe(reader)
        reader.await_elements(read)
    redis_server.command("DEL", stream)
    filled(redis_server, stream, range(2))
    for reader in readers:
        reader.request(2)
    readers[0].await_end()
    readers[0].assert_failed(LookupError, match="was made anew, or its .*; it has 1-0 to 2-0; on_")
    readers[1].await_elements(read + 2)
    readers[1].cancel()
    assert numbers_of(readers[1].elements) == [*range(10, 10 + read), 0, 1]
    assert lost.counts == [None]


@pytest.mark.parametrize("entries", [range(2), range(5), range(9)])
def test_a_stream_that_was_made_anew_between_two_runs_is_noticed(
    redis_server: RedisServer, stream: str, entries: range
) -> None:
    """With fewer entries than were read, as many, and more, of other contents."""
    filled(redis_server, stream, range(9))
    flow = read_redis_stream(redis_server.url, stream, until_end=True)
    read = flow.take(5).to_list().run_sync() or []
    position = [*read[-1].position]  # as a journal gives it back
    again = read_redis_stream(redis_server.url, stream, after=read[-1].position, until_end=True)
    assert numbers_of(again.to_list().run_sync() or []) == [5, 6, 7, 8]
    redis_server.command("DEL", stream)
    for number in entries:
        redis_server.command("XADD", stream, f"{number + 1}-0", "n", 100 + number)
    resumed = resumption_of(flow).positioned(position)
    with pytest.raises(LookupError, match="was made anew, or its .* after 5-0 was read; it"):
        resumed.to_list().run_sync()
    with losses() as lost:
        skipping = read_redis_stream(
            redis_server.url, stream, after=read[-1].position, until_end=True, on_missing="skip"
        )
    assert numbers_of(skipping.to_list().run_sync() or []) == [100 + n for n in entries]
    assert lost.counts == [None]


def test_an_id_alone_goes_on_as_a_position_does(redis_server: RedisServer, stream: str) -> None:
    """As older checkpoints have it, and for entries that come later than some time."""
    filled(redis_server, stream, range(4))
    flow = read_redis_stream(redis_server.url, stream, until_end=True)
    resumed = resumption_of(flow).positioned("2-0").to_list().run_sync() or []
    assert [int(each.element.fields["n"]) for each in resumed] == [2, 3]
    later = read_redis_stream(redis_server.url, stream, after="1700000000000", until_end=True)
    assert later.to_list().run_sync() == []
    for wrong in (["2-0", "x"], ["2-0"], [2, 3], ("2-0", 1, 2), 7):
        with pytest.raises(ValueError, match="is the id of an entry, .* its position, or"):
            read_redis_stream(redis_server.url, stream, after=wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("behind", [True, False])
def test_a_stream_that_is_deleted_is_missed_by_those_who_had_not_read_it(
    redis_server: RedisServer, stream: str, behind: bool
) -> None:
    filled(redis_server, stream, range(5))
    read = 2 if behind else 5
    read_redis_stream(redis_server.url, stream).subscribe(
        reader := ManualSubscriber[Entry](request=read)
    )
    reader.await_elements(read)
    redis_server.command("DEL", stream)
    filled(redis_server, stream, range(20, 22))
    reader.request(2)
    if behind:
        reader.await_end()
        reader.assert_failed(LookupError, match="was made anew, or its .* after 2-0 was read; it")
    else:
        reader.await_elements(7)
        reader.cancel()
        assert numbers_of(reader.elements) == [0, 1, 2, 3, 4, 20, 21]


def test_a_reader_who_has_read_all_does_not_miss_what_is_trimmed_behind_it(
    redis_server: RedisServer, stream: str
) -> None:
    filled(redis_server, stream, range(10))
    read_redis_stream(redis_server.url, stream, after="9-0").subscribe(
        subscriber := ManualSubscriber[Entry](request=5)
    )
    subscriber.await_elements(1)
    filled(redis_server, stream, range(10, 12))
    subscriber.await_elements(3)
    redis_server.command("XTRIM", stream, "MAXLEN", "=", 0)
    filled(redis_server, stream, range(12, 13))
    subscriber.await_elements(4)
    subscriber.cancel()
    assert numbers_of(subscriber.elements) == [9, 10, 11, 12]


def test_a_server_that_comes_back_is_read_on(stream: str) -> None:
    with running_redis() as server:
        filled(server, stream, range(10))
        told: list[str] = []
        lost = Event()

        def tell(words: str) -> None:
            told.append(words)
            if "next attempt" in words:
                lost.set()

        read_redis_stream(server.url, stream, reconnect=QUICKLY, on_state=tell).subscribe(
            subscriber := ManualSubscriber[Entry](request=12)
        )
        subscriber.await_elements(10)
        server.kill()
        assert lost.wait(PATIENCE)
        server.start()
        filled(server, stream, range(10, 12))
        subscriber.await_elements(12)
        subscriber.cancel()
        assert numbers_of(subscriber.elements) == [*range(12)]
        assert not any("s3cret" in words for words in told)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://127.0.0.1", "begins with redis:// or rediss://"),
        ("redis://", "names no host"),
    ],
)
def test_a_url_that_is_none_is_refused_at_once(url: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read_redis_stream(url, "flights")
    with pytest.raises(ValueError, match=complaint):
        write_redis_stream(url, "flights")


@pytest.mark.parametrize("after", ["", "soon", "1-2-3", "-1"])
def test_an_id_that_is_none_is_refused_at_once(after: str) -> None:
    with pytest.raises(ValueError, match="is the id of an entry"):
        read_redis_stream("redis://127.0.0.1", "flights", after=after)


def test_who_is_not_let_in_is_told_so_without_the_password(redis_server: RedisServer) -> None:
    url = redis_server.url.replace("s3cret", "0ther")
    with pytest.raises(ConnectionError, match="does not let us in") as caught:
        read_redis_stream(url, "flights").take(1).to_list().run_sync()
    assert "0ther" not in str(caught.value)
    error = written(write_redis_stream(url, "flights"), {"a": 1})
    assert "does not let us in" in str(error)
    assert "0ther" not in str(error)


def test_what_is_no_stream_is_refused(redis_server: RedisServer, stream: str) -> None:
    redis_server.command("SET", stream, 1)
    complaint = f"the stream {stream} at {redis_server.address} is no stream, but a string"
    with pytest.raises(ValueError, match=complaint):
        read_redis_stream(redis_server.url, stream).take(1).to_list().run_sync()
    assert complaint in str(written(write_redis_stream(redis_server.url, stream), {"a": 1}))


# The sink.


def test_bytes_that_are_no_text_are_named(redis_server: RedisServer, stream: str) -> None:
    assert written(write_redis_stream(redis_server.url, stream), {"n": b"\xff"}) is None
    flow = read_redis_stream(redis_server.url, stream)
    with pytest.raises(ValueError, match=f"an entry after 0-0 of the stream {stream} at .*no text"):
        flow.to_list().run_sync()


def test_elements_become_entries(redis_server: RedisServer, stream: str) -> None:
    elements = [{"origin": "JFK", "delay": 12}, Flight("é", 1.5), Departure("LGA", 0.5)]
    assert written(write_redis_stream(redis_server.url, stream), *elements) is None
    assert redis_server.entries(stream) == [
        {"origin": "JFK", "delay": "12"},
        {"origin": "é", "delay": "1.5"},
        {"origin": "LGA", "delay": "0.5"},
    ]


@pytest.mark.parametrize("element", [{"a": None}, {"a": True}, {"a": [1]}, {}, 7])
def test_what_has_no_form_is_shown(redis_server: RedisServer, stream: str, element: Any) -> None:
    error = written(write_redis_stream(redis_server.url, stream), element)
    assert isinstance(error, TypeError | ValueError)
    assert "encode= makes" in str(error)
    assert redis_server.entries(stream) == []


def test_a_function_makes_fields_of_any_element(redis_server: RedisServer, stream: str) -> None:
    writer = write_redis_stream(redis_server.url, stream, encode=lambda n: {"n": n})
    assert written(writer, 1, 2) is None
    assert redis_server.entries(stream) == [{"n": "1"}, {"n": "2"}]


@pytest.mark.parametrize("made", [{}, None, [("n", 1)], {"n": None}, {"n": True}])
def test_what_a_function_makes_is_looked_at_as_well(
    redis_server: RedisServer, stream: str, made: Any
) -> None:
    error = written(write_redis_stream(redis_server.url, stream, encode=lambda n: made), 1)
    assert isinstance(error, TypeError | ValueError)
    assert "encode= makes" in str(error)


def test_a_stream_is_trimmed(redis_server: RedisServer, stream: str) -> None:
    writer = write_redis_stream(redis_server.url, stream, max_entries=100)
    Flow.range(5_000).map(lambda n: {"n": n}).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert redis_server.command("XLEN", stream) < 300
    assert redis_server.entries(stream)[-1] == {"n": "4999"}


def test_a_batch_that_comes_again_is_skipped(redis_server: RedisServer, stream: str) -> None:
    epoch = Epoch.begun()
    for _ in range(2):
        sink = write_redis_stream(redis_server.url, stream).sink
        sink.open(epoch)
        if sink.begin(0):
            sink({"n": 1})
            sink.commit(0)
        sink.close()
        epoch = Epoch.begun(epoch.starts, 0)
    assert redis_server.entries(stream) == [{"n": "1"}]


def test_a_batch_that_is_not_committed_leaves_no_trace(
    redis_server: RedisServer, stream: str
) -> None:
    sink = write_redis_stream(redis_server.url, stream).sink
    sink.open(Epoch.begun())
    assert sink.begin(0)
    for number in range(2_000):
        sink({"n": number})
    sink.close()
    assert redis_server.entries(stream) == []


def test_the_stream_of_another_checkpoint_is_refused(
    redis_server: RedisServer, stream: str
) -> None:
    sink = write_redis_stream(redis_server.url, stream).sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 1})
    sink.commit(0)
    sink.close()
    other = write_redis_stream(redis_server.url, stream).sink
    for attempt in (other.check, other.open):
        with pytest.raises(DeliveryRefused, match="written from another checkpoint"):
            attempt(Epoch.begun())


def test_a_server_that_may_evict_the_mark_is_refused(
    redis_server: RedisServer, stream: str
) -> None:
    def set_memory(most: str, policy: str) -> None:
        redis_server.command("CONFIG", "SET", "maxmemory", most, "maxmemory-policy", policy)

    set_memory("1gb", "allkeys-lru")
    try:
        line = refused(write_redis_stream(redis_server.url, stream), Epoch.begun())
        assert "can be evicted, and so can the mark" in line
        assert "maxmemory-policy allkeys-lru; take noeviction or one of volatile-*" in line
        assert written(write_redis_stream(redis_server.url, stream), {"n": 1}) is None
        set_memory("1gb", "volatile-lru")
        assert write_redis_stream(redis_server.url, stream).sink.check(Epoch.begun())
    finally:
        set_memory("0", "noeviction")


def test_two_who_write_at_once_are_noticed(redis_server: RedisServer, stream: str) -> None:
    epoch = Epoch.begun()
    sinks = [write_redis_stream(redis_server.url, stream).sink for _ in range(2)]
    for sink in sinks:
        sink.open(epoch)
        sink.begin(0)
        sink({"n": 1})
    sinks[0].commit(0)
    with pytest.raises(DeliveryRefused, match="written by another pipeline"):
        sinks[1].commit(0)
    for sink in sinks:
        sink.close()
    assert redis_server.entries(stream) == [{"n": "1"}]


@pytest.mark.parametrize("lost", ["request", "answer"])
@pytest.mark.parametrize(
    ("command", "after"), [(b"WATCH", b""), (b"GET", b"WATCH"), (b"EXEC", b"WATCH")]
)
def test_a_connection_that_is_lost_amid_a_transaction_is_made_again(
    redis_server: RedisServer, stream: str, command: bytes, after: bytes, lost: str
) -> None:
    with forwarding(redis_server.port) as forwarder:
        url = redis_server.url.replace(str(redis_server.port), str(forwarder.port))
        sink = write_redis_stream(url, stream, reconnect=QUICKLY).sink
        sink.open(Epoch.begun())
        for batch in range(2):
            assert sink.begin(batch)
            sink({"n": batch})
            forwarder.lose(lost, command, after=after)
            sink.commit(batch)
        sink.close()
        assert not forwarder.loses
    assert redis_server.entries(stream) == [{"n": "0"}, {"n": "1"}]


def test_a_server_that_has_lost_what_it_had_acknowledged_is_named_and_nobody_else(
    redis_server: RedisServer, stream: str
) -> None:
    sink = write_redis_stream(redis_server.url, stream).sink
    sink.open(Epoch.begun())
    for batch in range(2):
        sink.begin(batch)
        sink({"n": batch})
        if batch:  # as after a crash of a server that does not sync what it answers
            assert redis_server.command("DEL", f"penstock:delivery:{{{stream}}}:{stream}") == 1
            with pytest.raises(BatchesLost, match="has no batch of this .* and has had batch 0:"):
                sink.commit(batch)
        else:
            sink.commit(batch)
    sink.close()


def test_it_says_what_it_would_do(redis_server: RedisServer, stream: str) -> None:
    sink = write_redis_stream(redis_server.url, stream).sink
    assert sink.check(Epoch.begun()) == f"adds to the stream {stream} at {redis_server.address}"
    away = write_redis_stream("redis://127.0.0.1:9", stream).sink
    with pytest.raises(ConnectionError, match="redis://127.0.0.1:9 does not answer"):
        away.check(None)
