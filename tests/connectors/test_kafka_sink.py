"""Topics of Kafka as sinks: each row once with a checkpoint, fencing, errors, brokers that go away.

The broker is a real one, and a plain client that reads what is committed is the judge.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Producer

from penstock import Flow
from penstock.connectors import write_kafka
from penstock.connectors.kafka.marks import MARKS, SinkCluster
from penstock.connectors.kafka.topic import TopicSink
from penstock.delivery import DeliveryRefused, Epoch
from tests.servers.kafka import PASSWORD, USER, Kafka, broker

pytestmark = pytest.mark.kafka

SASL = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", "sasl.username": USER}


class Order(NamedTuple):
    customer: str | None
    total: int


@contextmanager
def opened(kafka: Kafka, topic: str, epoch: Epoch | None, **options: Any) -> Iterator[TopicSink]:
    sink = write_kafka(kafka.servers, topic, **options).sink
    assert isinstance(sink, TopicSink)
    sink.open(epoch)
    try:
        yield sink
    finally:
        sink.close()


def give(sink: TopicSink, batch: int, elements: Iterable[Any]) -> bool:
    """A batch as a pipeline gives it; whether it was wanted."""
    if not sink.begin(batch):
        return False
    for element in elements:
        sink(element)
    sink.commit(batch)
    return True


def numbers_in(kafka: Kafka, topic: str) -> list[int]:
    return [json.loads(value) for value in kafka.values(topic) if value is not None]


# Without a checkpoint.


def test_a_message_has_key_value_and_headers_as_the_functions_say(kafka: Kafka) -> None:
    topic = kafka.create()
    writer = write_kafka(
        kafka.servers, topic, key="customer", headers=lambda order: {"total": str(order.total)}
    )
    Flow.of(Order("é", 1), Order(None, 2)).subscribe(writer)
    assert writer.wait(60)
    assert writer.error is None
    first, second = kafka.read(topic)
    assert (first.key(), second.key()) == ("é".encode(), None)
    assert json.loads(first.value()) == {"customer": "é", "total": 1}
    assert second.headers() == [("total", b"2")]


def test_a_value_may_be_bytes_or_none(kafka: Kafka) -> None:
    topic = kafka.create()
    writer = write_kafka(kafka.servers, topic, key=str, encode=lambda n: b"\xff" if n else None)
    Flow.of(0, 1).subscribe(writer)
    assert writer.wait(60)
    assert [(each.key(), each.value()) for each in kafka.read(topic)] == [
        (b"0", None), (b"1", b"\xff"),
    ]  # fmt: skip


def test_a_client_without_room_is_waited_for(kafka: Kafka) -> None:
    topic = kafka.create()
    options = {"queue.buffering.max.messages": 10}
    Flow.range(2_000).subscribe(writer := write_kafka(kafka.servers, topic, options=options))
    assert writer.wait(60)
    assert writer.error is None
    assert numbers_in(kafka, topic) == [*range(2_000)]


def test_batches_without_a_checkpoint_are_there_when_they_are_committed(kafka: Kafka) -> None:
    topic = kafka.create()
    with opened(kafka, topic, None) as sink:
        assert give(sink, 0, [1, 2])
        assert numbers_in(kafka, topic) == [1, 2]
        assert not give(sink, 0, [1, 2])


# With a checkpoint.


def test_each_batch_is_there_once_over_restarts(kafka: Kafka) -> None:
    topic = kafka.create(3)
    epoch = Epoch.begun()
    with opened(kafka, topic, epoch, key=str) as sink:
        assert sink.check(epoch) == f"adds to {sink.name}"
        assert give(sink, 0, range(100))
        assert not give(sink, 0, range(100))
        assert sink.begin(1)
        sink(100)
        assert give(sink, 1, range(100, 200))  # it comes again, from its beginning
        assert give(sink, 2, [])
        assert sink.begin(3)
        sink(200)  # and is never committed
    epoch = Epoch.begun(epoch.starts, 3)
    with opened(kafka, topic, epoch, key=str) as sink:
        assert sink.check(epoch) == f"goes on in {sink.name}"
        assert not give(sink, 1, range(100, 200))
        assert give(sink, 3, range(200, 300))
    assert sorted(numbers_in(kafka, topic)) == [*range(300)]


def test_rows_of_a_batch_are_seen_together_or_not_at_all(kafka: Kafka) -> None:
    topic = kafka.create()
    with opened(kafka, topic, Epoch.begun()) as sink:
        sink.begin(0)
        for number in range(1_000):
            sink(number)
        assert kafka.values(topic, amid=True) == []
        sink.commit(0)
        assert numbers_in(kafka, topic) == [*range(1_000)]


def test_the_older_of_two_that_write_with_one_id_is_fenced_off(kafka: Kafka) -> None:
    topic = kafka.create()
    first = Epoch.begun()
    second = Epoch.begun(first.starts, 0)
    with opened(kafka, topic, first) as older:
        older.begin(0)
        older(1)
        with opened(kafka, topic, second) as newer:
            with pytest.raises(DeliveryRefused, match="another program writes with the transact"):
                older.commit(0)
            assert give(newer, 0, [1])
    assert numbers_in(kafka, topic) == [1]


def test_two_pipelines_write_into_one_topic_with_an_id_each(kafka: Kafka) -> None:
    topic = kafka.create()
    with (
        opened(kafka, topic, Epoch.begun(), transactional_id=f"{topic}-a") as a,
        opened(kafka, topic, Epoch.begun(), transactional_id=f"{topic}-b") as b,
    ):
        for batch in range(3):
            assert give(a, batch, [batch])
            assert give(b, batch, [batch + 10])
    assert sorted(numbers_in(kafka, topic)) == [0, 1, 2, 10, 11, 12]


def test_a_sink_of_another_checkpoint_is_refused(kafka: Kafka) -> None:
    topic = kafka.create()
    epoch = Epoch.begun()
    with opened(kafka, topic, epoch) as sink:
        give(sink, 4, [1])
        with pytest.raises(DeliveryRefused, match="has batch 4, and batch 3 comes again"):
            sink.begin(3)
    sink = write_kafka(kafka.servers, topic).sink  # type: ignore[assignment]
    for refuse in (sink.check, sink.open):
        with pytest.raises(DeliveryRefused, match="was written from another checkpoint"):
            refuse(Epoch.begun())


def test_a_mark_is_found_behind_the_open_transaction_of_another_sink(kafka: Kafka) -> None:
    topic = kafka.create()
    epoch = Epoch.begun()
    name = f"penstock-{topic}"
    cluster = SinkCluster(kafka.servers, {})
    with opened(kafka, topic, epoch) as sink:
        give(sink, 0, [1])
        other = Producer({"bootstrap.servers": kafka.servers, "transactional.id": f"{topic}-other"})
        other.init_transactions()
        other.begin_transaction()
        other.produce(MARKS, b"{}", key=b"other", partition=0)
        other.flush()
        give(sink, 1, [2])
        assert cluster.mark_now(name) == epoch.mark(0)
        with pytest.raises(TimeoutError, match="a transaction of another sink has been open"):
            cluster.mark_of(name, patience=0.0)
        assert sink.check(epoch) == f"goes on in {sink.name}"
    again = write_kafka(kafka.servers, topic).sink
    with ThreadPoolExecutor(1) as threads:
        opening = threads.submit(again.open, Epoch.begun(epoch.starts, 1))
        other.abort_transaction()
        opening.result(60)
    assert not again.begin(1)
    again.close()


def test_a_topic_that_would_forget_marks_is_refused(kafka: Kafka) -> None:
    topic = kafka.create()
    with opened(kafka, topic, Epoch.begun(), transactional_id=f"{topic}-first"):
        kafka.set_topic(MARKS, "cleanup.policy", "delete")
    try:
        with pytest.raises(DeliveryRefused, match="has cleanup.policy=delete, and would forget"):
            write_kafka(kafka.servers, topic).sink.open(Epoch.begun())
    finally:
        kafka.set_topic(MARKS, "cleanup.policy", "compact")


# Errors.


@pytest.mark.parametrize("epoch", [None, Epoch.begun()], ids=["plain", "checkpoint"])
def test_a_message_that_is_too_large_is_named(kafka: Kafka, epoch: Epoch | None) -> None:
    topic = kafka.create(max_message_bytes="1000")
    for length, error, message in (
        (2_000_000, ValueError, "a message has at most 1000000 bytes, .*'large-"),
        (2_000, ConnectionError, "Message size too large; not delivered .*the value b.*large-"),
    ):
        sink = write_kafka(kafka.servers, topic, key=str).sink
        sink.open(epoch)
        with pytest.raises(error, match=message):
            give(sink, 0, ["fits", "large-" + "x" * length])  # type: ignore[arg-type]
        sink.close()
    if epoch is not None:
        assert kafka.values(topic) == []


def test_an_element_without_the_key_is_an_error(kafka: Kafka) -> None:
    with (
        opened(kafka, kafka.create(), None, key="customer") as sink,
        pytest.raises(ValueError, match="{'a': 1} has no customer, which is the key"),
    ):
        sink({"a": 1})


def test_a_topic_that_is_not_there_is_refused_and_not_made(kafka: Kafka) -> None:
    sink: Any = write_kafka(kafka.servers, "nowhere").sink
    for refuse in (sink.check, sink.open):
        with pytest.raises(LookupError, match=f"write_kafka: {kafka.servers} has no topic nowhere"):
            refuse(None)
    assert "nowhere" not in kafka.topics()


def test_credentials_let_a_sink_in_and_wrong_ones_are_one_line(
    kafka: Kafka, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    topic = kafka.create()
    right, wrong = (
        write_kafka(kafka.sasl, topic, options={**SASL, "sasl.password": password}).sink
        for password in (PASSWORD, "not-it-at-all")
    )
    right.open(Epoch.begun())
    assert give(right, 0, [1])  # type: ignore[arg-type]
    right.close()
    with pytest.raises(ConnectionError, match="Invalid username or password") as raised:
        wrong.open(None)
    assert "\n" not in str(raised.value)
    assert "not-it-at-all" not in f"{raised.value!r} {wrong!r} {caplog.text}"
    assert PASSWORD not in caplog.text


def test_brokers_that_are_not_there_are_one_line() -> None:
    sink = write_kafka("127.0.0.1:9", "orders").sink
    with pytest.raises(ConnectionError, match="write_kafka: 127.0.0.1:9: .*Connection refused"):
        sink.check(None)


WRONG_VALUES: Final[list[tuple[dict[str, Any], str]]] = [
    ({"topic": MARKS}, "penstock_delivery is where marks are kept"),
    ({"servers": ""}, "servers must be like"),
    ({"key": ""}, "key must not be empty"),
    ({"transactional_id": ""}, "transactional_id must not be empty"),
    ({"options": {"acks": 0}}, "acks cannot be set, each message has to arrive"),
    ({"options": {"transactional.id": "a"}}, "transactional.id cannot be set, transactional_id="),
    ({"options": {"linger": 1}}, 'No such configuration property: "linger"'),
]


WRONG_KINDS: Final[list[dict[str, Any]]] = [
    {"key": 3},
    {"encode": None},
    {"headers": {}},
    {"options": 3},
]


def test_arguments_that_cannot_be_used_are_refused_at_once() -> None:
    for wrong, message in WRONG_VALUES:
        with pytest.raises(ValueError, match=message):
            write_kafka(**{"servers": "a:1", "topic": "a", **wrong})
    for wrong in WRONG_KINDS:
        with pytest.raises(TypeError, match="write_kafka"):
            write_kafka(**{"servers": "a:1", "topic": "a", **wrong})


# Brokers that go away.


def test_a_broker_that_is_killed_amid_a_batch_costs_no_row_and_doubles_none(
    tmp_path: Path,
) -> None:
    with broker(tmp_path) as kafka, ThreadPoolExecutor(1) as threads:
        topic = kafka.create(2)
        plain = kafka.create()
        with opened(kafka, topic, Epoch.begun()) as sink, opened(kafka, plain, None) as other:
            for batch in range(3):
                sink.begin(batch)
                for number in range(batch * 1_000, batch * 1_000 + 1_000):
                    sink(number)
                    other(number)
                    if number == 1_500:
                        kafka.kill()
                    if number == 2_500:
                        kafka.stop()
                committing = threads.submit(sink.commit, batch)
                if batch:
                    kafka.start()
                committing.result(120)
        assert sorted(numbers_in(kafka, topic)) == [*range(3_000)]
        assert sorted({*numbers_in(kafka, plain)}) == [*range(3_000)]
