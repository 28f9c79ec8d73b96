"""Topics of Kafka as sources: each message once, demand, offsets, errors, a broker that goes away.

The broker is a real one, and a plain client writes what is read.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any, Final

import pytest
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from penstock import Flow, Retry
from penstock.connectors import KafkaMessage, read_kafka
from penstock.connectors.kafka.client import WithoutRepetition
from penstock.connectors.kafka.offsets import OnMissing
from penstock.connectors.kafka.reading import TopicReading
from penstock.connectors.shared.reconnecting import listening
from penstock.observe.meters import SourceMeter
from penstock.testing import ManualSubscriber
from tests.servers.kafka import PASSWORD, USER, Kafka, broker

pytestmark = pytest.mark.kafka

SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER}


def numbers(count: int, first: int = 0) -> list[bytes]:
    return [json.dumps({"number": number}).encode() for number in range(first, first + count)]


def numbers_of(messages: list[KafkaMessage]) -> list[int]:
    return [message.value["number"] for message in messages]


def all_of(flow: Flow[Any]) -> list[Any]:
    return flow.to_list().run_sync() or []


@contextmanager
def reading(flow: Flow[Any], request: int = 0) -> Iterator[ManualSubscriber[Any]]:
    """A subscriber that cancels at the end of the block, also if the test has failed."""
    flow.subscribe(subscriber := ManualSubscriber[Any](request=request))
    try:
        yield subscriber
    finally:
        subscriber.close()


def topic_of(kafka: Kafka, *sizes: int) -> str:
    """A topic with so many numbers in each of its partitions."""
    topic = kafka.create(len(sizes))
    for partition, size in enumerate(sizes):
        kafka.produce(topic, numbers(size, partition * 1_000), partition=partition)
    return topic


def test_a_message_has_all_that_the_plain_client_says_of_it(kafka: Kafka) -> None:
    topic = kafka.create(2)
    kafka.produce(topic, [b'{"a": 1}'], key=b"k", headers={"h": b"1"}, partition=1, timestamp=7)
    kafka.produce(topic, [None], key=b"k", partition=1)
    kafka.produce(topic, [b"null"], partition=0)
    deleting = kafka.read(topic)[2].timestamp()[1]
    messages = all_of(read_kafka(kafka.servers, topic, until_end=True))
    assert messages[-1].position[:-1] == (1, 2)
    assert [message[:-1] for message in messages if message.partition == 1] == [
        (topic, 1, 0, b"k", {"a": 1}, (("h", b"1"),), 7),
        (topic, 1, 1, b"k", None, (), deleting),
    ]
    assert [message.value for message in messages if message.partition == 0] == [None]


def test_all_messages_come_once_and_those_of_a_partition_in_their_order(kafka: Kafka) -> None:
    topic = topic_of(kafka, 700, 0, 300)
    messages = all_of(read_kafka([kafka.servers], topic, until_end=True, decode=None, fetch=64))
    assert {message.partition for message in messages} == {0, 2}
    for partition in (0, 2):
        offsets = [each.offset for each in messages if each.partition == partition]
        assert offsets == [*range(len(offsets))]
    found = sorted(message.value for message in messages)
    assert found == sorted(value for value in kafka.values(topic) if value)


@pytest.mark.parametrize(("options", "most"), [({"fetch": 100}, 100), ({}, 300)])
def test_batches_have_the_messages_as_the_client_has_them(
    kafka: Kafka, options: dict[str, Any], most: int
) -> None:
    topic = topic_of(kafka, 450, 450)
    batches = all_of(read_kafka(kafka.servers, topic, until_end=True, batches=True, **options))
    assert max(len(batch.messages) for batch in batches) <= most
    found = [message.value() for batch in batches for message in batch.messages]
    assert sorted(found) == sorted(value for value in kafka.values(topic) if value)
    assert batches[-1].position[:-1] == (450, 450)


def test_as_many_messages_come_as_are_requested(kafka: Kafka) -> None:
    topic = topic_of(kafka, 100)
    with reading(read_kafka(kafka.servers, topic)) as subscriber:
        for n, sum_so_far in ((1, 1), (7, 8), (3, 11)):
            subscriber.request(n)
            subscriber.await_elements(sum_so_far)
            assert len(subscriber.elements) == sum_so_far
    assert numbers_of(subscriber.elements) == [*range(11)]


def test_another_run_goes_on_after_the_position_of_any_message(kafka: Kafka) -> None:
    topic = topic_of(kafka, 4, 3, 5)
    flow = read_kafka(kafka.servers, topic, until_end=True)
    first = all_of(flow)
    everything = {(each.partition, each.offset) for each in first}
    assert len(everything) == len(first) == 12
    for taken in (1, 5, 11, 12):
        position = json.loads(json.dumps(first[taken - 1].position))  # as a journal keeps it
        rest = all_of(read_kafka(kafka.servers, topic, until_end=True, after=position))
        before = {(each.partition, each.offset) for each in first[:taken]}
        after = [(each.partition, each.offset) for each in rest]
        assert len(after) == len({*after}) == 12 - taken
        assert before | {*after} == everything


def test_the_latest_start_leaves_out_what_is_there(kafka: Kafka) -> None:
    topic = topic_of(kafka, 3)
    connected = Event()
    flow = read_kafka(kafka.servers, topic, start="latest", on_state=lambda words: connected.set())
    with reading(flow, request=1) as subscriber:
        assert connected.wait(60)
        kafka.produce(topic, numbers(1, 100))
        subscriber.await_elements(1)
    assert numbers_of(subscriber.elements) == [100]


def test_it_ends_where_the_topic_ended_also_if_that_is_no_message(kafka: Kafka) -> None:
    """A transaction ends with a mark, which has an offset, too; one that was given up is no end."""
    topic = topic_of(kafka, 2)
    producer = Producer({"bootstrap.servers": kafka.servers, "transactional.id": "marks"})
    producer.init_transactions()
    for number, end in ((10, producer.commit_transaction), (20, producer.abort_transaction)):
        producer.begin_transaction()
        producer.produce(topic, json.dumps({"number": number}).encode())
        producer.flush()
        end()
    kafka.await_ends(topic)
    assert numbers_of(all_of(read_kafka(kafka.servers, topic, until_end=True))) == [0, 1, 10]
    producer.begin_transaction()  # and stays open
    producer.produce(topic, b"{}")
    producer.flush()
    assert numbers_of(all_of(read_kafka(kafka.servers, topic, until_end=True))) == [0, 1, 10]
    uncommitted = read_kafka(
        kafka.servers, topic, until_end=True, options={"isolation.level": "read_uncommitted"}
    )
    assert len(all_of(uncommitted)) == 5
    producer.abort_transaction()
    assert all_of(read_kafka(kafka.servers, kafka.create(2), until_end=True)) == []


def test_messages_that_come_together_with_the_end_are_not_left_out(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = kafka.create()
    producer = Producer({"bootstrap.servers": kafka.servers, "transactional.id": f"{topic}-end"})
    producer.init_transactions()
    producer.begin_transaction()
    for value in numbers(3):
        producer.produce(topic, value)
    producer.commit_transaction()
    kafka.await_ends(topic)
    taken = TopicReading._taken

    def taken_with_the_end(reading: TopicReading, most: int) -> list[Any]:
        messages: list[Any] = []
        while not any(message.error() for message in messages):
            messages += taken(reading, most)
        return messages

    monkeypatch.setattr(TopicReading, "_taken", taken_with_the_end)
    for batches in (False, True):
        elements = all_of(read_kafka(kafka.servers, topic, until_end=True, batches=batches))
        count = sum(len(each.messages) for each in elements) if batches else len(elements)
        assert count == 3


# Messages that cannot be decoded.


def test_a_message_that_is_no_json_ends_the_flow_after_those_before_it(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.produce(topic, [*numbers(3), b"{", *numbers(3)])
    flow = read_kafka(kafka.servers, topic, until_end=True)
    with reading(flow, request=10) as subscriber:
        subscriber.await_end()
    assert numbers_of(subscriber.elements) == [0, 1, 2]
    message = f"read_kafka: {topic}, partition 0, offset 3: Expecting property name"
    subscriber.assert_failed(ValueError, match=message)


def test_what_decode_raises_is_told_with_the_place_of_the_message(kafka: Kafka) -> None:
    topic = topic_of(kafka, 1)

    def decode(value: bytes) -> Any:
        raise KeyError("schema")

    with pytest.raises(ValueError, match=f"{topic}, partition 0, offset 0: KeyError: 'schema'"):
        all_of(read_kafka(kafka.servers, topic, until_end=True, decode=decode))


def test_messages_that_cannot_be_decoded_go_to_a_function(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.produce(topic, [b"\xff", *numbers(2), b"{", b"", *numbers(1, 2), b"["])
    dead: list[Any] = []
    flow = read_kafka(
        kafka.servers, topic, until_end=True, on_bad=lambda message, error: dead.append(message)
    )
    messages = all_of(flow)
    assert numbers_of(messages) == [0, 1, 2]
    assert [(each.offset, each.value) for each in dead] == [
        (0, b"\xff"), (3, b"{"), (4, b""), (6, b"["),
    ]  # fmt: skip
    rest = read_kafka(kafka.servers, topic, until_end=True, after=messages[1].position,
                      on_bad=lambda message, error: None)  # fmt: skip
    assert numbers_of(all_of(rest)) == [2]


def test_a_decode_that_cannot_connect_is_asked_again_for_the_same_message(kafka: Kafka) -> None:
    topic = topic_of(kafka, 5, 5)
    refusals = [ConnectionRefusedError("no registry"), TimeoutError("no answer")]

    def decode(value: bytes) -> Any:
        decoded = json.loads(value)
        if decoded["number"] % 1_000 == 3 and refusals:
            raise RuntimeError("the registry is away") from refusals.pop()
        return decoded

    bad: list[Any] = []
    told: list[str] = []
    flow = read_kafka(
        kafka.servers, topic, until_end=True, decode=decode, on_state=told.append,
        on_bad=lambda message, error: bad.append(message), reconnect=Retry(backoff=0.001),
    )  # fmt: skip
    assert sorted(numbers_of(all_of(flow))) == [*range(5), *range(1_000, 1_005)]
    assert bad == refusals == []
    assert sum("decode: RuntimeError: the registry is away" in words for words in told) == 2


def test_a_function_for_bad_messages_that_raises_ends_the_flow(kafka: Kafka) -> None:
    topic = kafka.create()
    kafka.produce(topic, [b"{"])

    def fail(message: KafkaMessage, error: Exception) -> None:
        raise OSError("the disk is full")

    with pytest.raises(OSError, match="the disk is full") as raised:
        all_of(read_kafka(kafka.servers, topic, until_end=True, on_bad=fail))
    assert f"in on_bad of read_kafka, for {topic}, partition 0, offset 0" in raised.value.__notes__


# Offsets that are gone.


def test_an_offset_that_is_gone_is_an_error_unless_another_choice_is_made(kafka: Kafka) -> None:
    topic = topic_of(kafka, 10)
    kafka.delete_before(topic, 0, 6)
    with pytest.raises(LookupError, match="offset 2 is gone, the partition has 6 to 9; on_missing"):
        all_of(read_kafka(kafka.servers, topic, until_end=True, after=[2]))
    assert numbers_of(all_of(read_kafka(kafka.servers, topic, until_end=True))) == [6, 7, 8, 9]
    choices: dict[OnMissing, tuple[list[int], int]] = {
        "earliest": ([6, 7, 8, 9], 4),
        "latest": ([], 8),
    }
    for choice, (expected, lost) in choices.items():
        meter = SourceMeter("orders")
        with listening(meter):
            flow = read_kafka(kafka.servers, topic, until_end=True, after=[2], on_missing=choice)
        assert numbers_of(all_of(flow)) == expected
        assert meter.lost == lost


def test_a_topic_that_was_made_anew_is_noticed(kafka: Kafka) -> None:
    topic = topic_of(kafka, 3)
    with pytest.raises(LookupError, match="offset 9 is not there, the partition has 0 to 2"):
        all_of(read_kafka(kafka.servers, topic, until_end=True, after=[9]))
    with pytest.raises(LookupError, match="has no partition 1, it has 1 from 0 on; it was made"):
        all_of(read_kafka(kafka.servers, topic, until_end=True, after=[1, 1]))
    meter = SourceMeter("orders")
    with listening(meter):
        flow = read_kafka(kafka.servers, topic, until_end=True, after=[9], on_missing="earliest")
    assert numbers_of(all_of(flow)) == [0, 1, 2]
    assert meter.lost is None


@pytest.mark.parametrize("batches", [False, True])
def test_a_topic_that_was_made_anew_with_as_many_messages_is_noticed(
    kafka: Kafka, batches: bool
) -> None:
    topic = topic_of(kafka, 3, 2)
    kinds: dict[str, Any] = {"until_end": True, "batches": batches}
    position = all_of(read_kafka(kafka.servers, topic, **kinds))[-1].position
    kept = json.loads(json.dumps(position))
    assert all_of(read_kafka(kafka.servers, topic, after=kept, **kinds)) == []
    kafka.make_anew(topic, partitions=2)
    kafka.produce(topic, numbers(9, 500), partition=0)
    kafka.produce(topic, numbers(2, 700), partition=1)
    with pytest.raises(LookupError, match=f"read_kafka: {topic} was deleted and made anew since"):
        all_of(read_kafka(kafka.servers, topic, after=kept, **kinds))
    without = read_kafka(kafka.servers, topic, after=kept[:-1], until_end=True)
    assert sorted(numbers_of(all_of(without))) == [*range(503, 509)]
    choices: dict[OnMissing, list[int]] = {
        "earliest": [*range(500, 509), 700, 701],
        "latest": [],
    }
    for choice, expected in choices.items():
        meter = SourceMeter("orders")
        with listening(meter):
            flow = read_kafka(kafka.servers, topic, after=kept, on_missing=choice, until_end=True)
        assert sorted(numbers_of(all_of(flow))) == expected
        assert meter.lost is None


def test_a_topic_that_is_made_anew_while_it_is_read_is_noticed(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client goes on at the same offset, and leaves out what is before it."""
    look, made = TopicReading._look_for_partitions, Event()
    monkeypatch.setattr(
        TopicReading, "_look_for_partitions", lambda reading: made.is_set() and look(reading)
    )
    topic = topic_of(kafka, 3)
    with reading(read_kafka(kafka.servers, topic, look_every=0.1), request=100) as subscriber:
        subscriber.await_elements(3)
        kafka.make_anew(topic)
        kafka.produce(topic, numbers(9, 500))
        made.set()
        subscriber.await_end()
    subscriber.assert_failed(LookupError, match=f"{topic} was deleted and made anew since it was")


@pytest.mark.parametrize("together", [False, True])
def test_messages_that_are_deleted_while_nothing_is_wanted_are_counted_as_lost(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """The news may come with messages that are before it."""
    taken = TopicReading._taken
    deleted = Event()

    def taken_with_the_news(reading: TopicReading, most: int) -> list[Any]:
        messages = taken(reading, most)
        while deleted.is_set() and messages and messages[-1].offset() < 50:
            if messages[-1].error():
                break
            messages += taken(reading, most)
        return messages

    if together:
        monkeypatch.setattr(TopicReading, "_taken", taken_with_the_news)
    topic = kafka.create()
    for value in numbers(60):  # each is a batch of its own at the broker
        kafka.produce(topic, [value])
    meter = SourceMeter("orders")
    little = {"queued.min.messages": 1, "max.partition.fetch.bytes": 100}
    with listening(meter):
        flow = read_kafka(kafka.servers, topic, on_missing="earliest", options=little, fetch=100)
    with reading(flow, request=1) as subscriber:
        subscriber.await_elements(1)
        kafka.delete_before(topic, 0, 50)
        deleted.set()
        subscriber.request(1_000)
        while subscriber.elements[-1].offset < 59:
            subscriber.await_elements(len(subscriber.elements) + 1)
    offsets = [message.offset for message in subscriber.elements]
    read_ahead = len(offsets) - 10
    assert offsets == [*range(read_ahead), *range(50, 60)]
    assert meter.lost == 50 - read_ahead > 0


# Topics and credentials.


def test_a_topic_that_is_not_there_is_an_error_and_is_not_made(kafka: Kafka) -> None:
    with pytest.raises(LookupError, match=f"read_kafka: {kafka.servers} has no topic nowhere"):
        all_of(read_kafka(kafka.servers, "nowhere"))
    assert "nowhere" not in kafka.topics()


def test_credentials_let_it_in(kafka: Kafka) -> None:
    topic = topic_of(kafka, 2)
    options = {**SASL, "sasl.password": PASSWORD}
    flow = read_kafka(kafka.sasl, topic, until_end=True, options=options)
    assert numbers_of(all_of(flow)) == [0, 1]


def test_wrong_credentials_are_one_line_and_no_other_attempt(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    flow = read_kafka(kafka.sasl, "orders", options={**SASL, "sasl.password": "not-it-at-all"})
    with pytest.raises(ConnectionError, match="Invalid username or password") as raised:
        all_of(flow)
    assert str(raised.value).endswith("there is no other attempt")
    shown = f"{raised.value!r} {flow!r} {flow.explain()} {caplog.text}"
    assert "\n" not in str(raised.value)
    assert "not-it-at-all" not in shown


WRONG_VALUES: Final[list[tuple[dict[str, Any], str]]] = [
    ({"servers": "localhost"}, "servers must be like 'localhost:9092'"),
    ({"servers": "u:p@host"}, "servers must be like"),
    ({"servers": []}, "servers must name at least one"),
    ({"topic": "a b"}, "the name of a topic has .* not so 'a b'"),
    ({"start": "newest"}, "start must be one of 'earliest'"),
    ({"on_missing": "skip"}, "on_missing must be one of 'fail'"),
    ({"after": [-1]}, "after must be the position of a message"),
    ({"after": [1, -2, -3, -4]}, "after must be the position of a message"),
    ({"after": [1, -2, 3]}, "after must be the position of a message"),
    ({"after": [1, True]}, "after must be the position of a message"),
    ({"after": ()}, "after must be the position of a message"),
    ({"after": "12"}, "after must be the position of a message"),
    ({"after": [1, 2, -2, -1, -5]}, "after must be the position of a message"),
    ({"partitions": []}, "partitions must be numbers from 0 on, each once, .* not \\[\\]"),
    ({"partitions": 3}, "partitions must be numbers from 0 on, each once, .* not 3"),
    ({"partitions": [0, 0]}, "partitions must be numbers from 0 on, each once"),
    ({"partitions": [-1]}, "partitions must be numbers from 0 on, each once"),
    ({"partitions": "01"}, "partitions must be numbers from 0 on, each once"),
    ({"partitions": [True]}, "partitions must be numbers from 0 on, each once"),
    ({"fetch": 0}, "fetch must be at least 1"),
    ({"batches": True, "decode": None}, "with batches=True messages are not decoded"),
    ({"look_every": 0}, "look_every must be above 0"),
    ({"options": {"no.such": 1}}, 'read_kafka: options: No such configuration property: "no.such"'),
    ({"options": {"enable.auto.commit": True}}, "enable.auto.commit cannot be set, no group is"),
    ({"options": {"bootstrap.servers": "b:1"}}, "bootstrap.servers cannot be set, the servers are"),
    (
        {"options": {"security.protocol": "SSL", "ssl.ca.location": "/no/such"}},
        "options: .*ssl.ca.location",
    ),
]
WRONG_KINDS: Final[list[dict[str, Any]]] = [
    {"options": [1]},
    {"options": {"stats_cb": 1}},
    {"decode": 3},
    {"on_bad": "skip"},
    {"until_end": "no"},
    {"servers": 3},
]


def test_arguments_that_cannot_be_used_are_refused_at_once() -> None:
    right = {"servers": "a:1", "topic": "a"}
    for wrong, message in WRONG_VALUES:
        with pytest.raises(ValueError, match=message):
            read_kafka(**{**right, **wrong})
    for wrong in WRONG_KINDS:
        with pytest.raises(TypeError, match="read_kafka"):
            read_kafka(**{**right, **wrong})


# Partitions and brokers that come and go.


def test_partitions_that_are_added_are_read_from_their_first_message_on(kafka: Kafka) -> None:
    topic = topic_of(kafka, 2)
    connected = Event()
    flow = read_kafka(kafka.servers, topic, start="latest", look_every=0.05,
                      on_state=lambda words: connected.set())  # fmt: skip
    with reading(flow, request=100) as subscriber:
        assert connected.wait(60)
        kafka.add_partitions(topic, 3)
        kafka.produce(topic, numbers(5, 2_000), partition=2)
        subscriber.await_elements(5)
    assert numbers_of(subscriber.elements) == [*range(2_000, 2_005)]
    assert subscriber.elements[-1].position[:-1] == (2, 0, 5)
    rest = read_kafka(kafka.servers, topic, after=[1], until_end=True)  # as it was before
    assert sorted(numbers_of(all_of(rest))) == [1, *range(2_000, 2_005)]


class Deaf:
    """A consumer that reads, and gets no answer when it asks."""

    def __init__(self, consumer: Any) -> None:
        self._consumer = consumer

    def __getattr__(self, name: str) -> Any:
        return getattr(self._consumer, name)

    def list_topics(self, *arguments: Any) -> Any:
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))


def test_no_message_is_lost_when_a_look_for_partitions_gets_no_answer(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topic_of(kafka, 50)
    connect = TopicReading.connect

    def connect_deaf(reading: TopicReading) -> None:
        connect(reading)
        reading._consumer = Deaf(reading._consumer)

    monkeypatch.setattr(TopicReading, "connect", connect_deaf)
    flow = read_kafka(kafka.servers, topic, look_every=1e-6, fetch=1)
    with reading(flow, request=50) as subscriber:
        subscriber.await_elements(50)
    assert numbers_of(subscriber.elements) == [*range(50)]


def test_messages_that_come_with_an_error_come_again(
    kafka: Kafka, monkeypatch: pytest.MonkeyPatch
) -> None:
    topic = topic_of(kafka, 3)
    taken = TopicReading._taken
    failing = [Message(topic=topic, partition=0, error=KafkaError(KafkaError._TRANSPORT))]

    def taken_with_an_error(reading: TopicReading, most: int) -> list[Any]:
        messages = [*taken(reading, most)]
        return [*messages, failing.pop()] if failing and messages else messages

    monkeypatch.setattr(TopicReading, "_taken", taken_with_an_error)
    flow = read_kafka(kafka.servers, topic, until_end=True, reconnect=Retry(backoff=0.001))
    assert numbers_of(all_of(flow)) == [0, 1, 2]
    assert failing == []


def test_a_server_that_is_not_there_is_given_up_as_the_policy_says() -> None:
    flow = read_kafka("127.0.0.1:9", "orders", reconnect=Retry(times=0))
    with pytest.raises(ConnectionError, match="gave up on kafka://127.0.0.1:9/orders after 1"):
        all_of(flow)


def test_the_log_says_once_what_the_client_says_again_and_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    policy = Retry(times=2, backoff=0.001)
    with pytest.raises(ConnectionError, match="after 3 attempts"):
        all_of(read_kafka("127.0.0.1:8", "orders", reconnect=policy))
    refused = [each for each in caplog.messages if each.startswith("FAIL")]
    assert len(refused) <= 1  # another test may have said it already
    assert sum("next attempt" in each for each in caplog.messages) == 2


def test_lines_of_the_client_that_differ_in_numbers_alone_are_one() -> None:
    now = [0.0]
    news = WithoutRepetition(lambda: now[0]).filter

    def is_news(text: str) -> bool:
        return news(logging.makeLogRecord({"msg": text}))

    assert is_news("FAIL 1: refused (after 0ms in state CONNECT)")
    assert not is_news("FAIL 22: refused (after 13ms in state CONNECT)")
    assert not is_news(
        "FAIL 3: refused (after 0ms in state CONNECT, 30 identical error(s) suppressed)"
    )
    assert is_news("FAIL 3: timed out (after 0ms in state CONNECT)")
    now[0] = 3_600.0
    assert is_news("FAIL 1: refused (after 0ms in state CONNECT)")


@pytest.mark.parametrize("end", [pytest.param("stop", marks=pytest.mark.full), "kill"])
def test_a_broker_that_goes_away_is_waited_for_and_nothing_is_lost(
    tmp_path: Path, end: str
) -> None:
    class Watched(SourceMeter):
        in_trouble = Event()

        def has_trouble(self, words: str) -> None:
            super().has_trouble(words)
            if words:
                self.in_trouble.set()

    meter = Watched("orders")
    with broker(tmp_path) as kafka:
        topic = topic_of(kafka, 50, 50)
        with listening(meter):
            flow = read_kafka(kafka.servers, topic)
        with reading(flow, request=120) as subscriber:
            subscriber.await_elements(100)
            kafka.stop() if end == "stop" else kafka.kill()
            assert meter.in_trouble.wait(60)
            kafka.start()
            kafka.produce(topic, numbers(20, 5_000))
            subscriber.await_elements(120)
            assert meter.trouble == ""
    found = sorted(numbers_of(subscriber.elements))
    assert found == [*range(50), *range(1_000, 1_050), *range(5_000, 5_020)]
    assert meter.lost == 0
