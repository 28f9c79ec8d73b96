"""Topics of Kafka read and written, beside the bare client, with a broker on this machine.

In the bare loops, each message is looked at for an error, and its value is taken. Of ours, CPU time
is that of all threads, the client's among them. Where nobody waits for the broker, it decides: by
the wall clock, two threads get more of a busy machine than one.
"""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition

from benchmarks.beside import from_a_flow
from penstock.connectors import read_kafka, write_kafka
from penstock.connectors.kafka.reading import DEFAULTS
from penstock.connectors.kafka.topic import DEFAULTS as WRITING
from penstock.delivery import Epoch
from penstock.testing import ManualSubscriber
from tests.servers.kafka import Kafka, broker

__all__ = ["report"]

MESSAGES: Final = 200_000
WRITTEN: Final = 30_000
ROWS: Final = 1_000
ROUNDS: Final = 5
BARS: Final = {
    "read_kafka(decode=None)": ("bare poll()", "cpu", 0.7),
    "read_kafka()": ("bare poll() and json.loads", "cpu", 0.7),
    "read_kafka(batches=True)": ("bare consume(1000)", "cpu", 0.9),
    "write_kafka, batches of 1,000": ("bare transactions of 1,000", "wall", 0.9),
    "write_kafka, a flow": ("bare produce()", "cpu", 0.7),
}
"""What each is compared with, by which clock, and the least ratio."""


class Speed(NamedTuple):
    """Messages per second by the wall clock and by CPU time."""

    wall: float
    cpu: float


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def speed(self, messages: int) -> Speed:
        """How fast so many were."""
        cpu, wall = time.process_time() - self._cpu, time.perf_counter() - self._wall
        return Speed(messages / wall, messages / cpu)


def report() -> None:
    """Print messages per second, the best of some interleaved rounds."""
    with tempfile.TemporaryDirectory() as folder, broker(Path(folder)) as kafka:
        topic = kafka.create()
        kafka.produce(topic, (value_of(number) for number in range(MESSAGES)))
        print_stalled(kafka, topic)  # first, while this process has little memory of its own
        cases: dict[str, Callable[[], Speed]] = {
            "bare poll()": lambda: polled(kafka, topic, len),
            "read_kafka(decode=None)": lambda: read(kafka, topic, decode=None),
            "bare poll() and json.loads": lambda: polled(kafka, topic, json.loads),
            "read_kafka()": lambda: read(kafka, topic),
            "bare consume(300)": lambda: consumed(kafka, topic, 300),
            "bare consume(1000)": lambda: consumed(kafka, topic, 1_000),
            "read_kafka(batches=True)": lambda: read_in_batches(kafka, topic),
            "bare transactions of 1,000": lambda: written_bare(kafka),
            "write_kafka, batches of 1,000": lambda: written(kafka),
            "bare produce()": lambda: produced_bare(kafka),
            "write_kafka, a flow": lambda: produced(kafka),
        }
        best = dict.fromkeys(cases, Speed(0.0, 0.0))
        for _ in range(ROUNDS):
            for name, case in cases.items():
                best[name] = Speed(*map(max, best[name], case()))
        heads = f"{'by the wall':>12} {'by CPU time':>12} {'ratio':>6} {'ratio':>6}  {'bar':>5}"
        print(f"{'messages/s of a topic of Kafka':42} {heads}")
        for name, speed in best.items():
            print(f"{name:42} {speed.wall:12,.0f} {speed.cpu:12,.0f} {verdict(name, best)}")
    print()


def verdict(name: str, best: dict[str, Speed]) -> str:
    """How it compares, where it does."""
    if name not in BARS:
        return ""
    bare, clock, bar = BARS[name]
    wall, cpu = best[name].wall / best[bare].wall, best[name].cpu / best[bare].cpu
    missed = "" if (wall if clock == "wall" else cpu) >= bar else "  MISSED"
    return f"{wall:6.2f} {cpu:6.2f}  {bar:5.2f} by {clock}{missed}"


def value_of(number: int) -> bytes:
    """A small row, as most are."""
    return b'{"number": %d, "text": "some text that is about so long"}' % number


# Reading. The clock runs from the first message to the last: nobody's connections are in it.


def bare_consumer(kafka: Kafka, topic: str) -> Consumer:
    """The client alone, with our settings: its own are slower."""
    consumer = Consumer(
        {**DEFAULTS, "bootstrap.servers": kafka.servers, "enable.auto.commit": False}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    return consumer


def polled(kafka: Kafka, topic: str, use: Callable[[Any], object]) -> Speed:
    """One message after the other."""
    with closing(bare_consumer(kafka, topic)) as consumer:
        assert consumer.poll(60) is not None
        begun = Stopwatch()
        count = 1
        while count < MESSAGES:
            message = consumer.poll(1)
            if message is not None and message.error() is None:
                use(message.value())
                count += 1
        return begun.speed(MESSAGES)


def consumed(kafka: Kafka, topic: str, most: int) -> Speed:
    """Lists of messages."""
    with closing(bare_consumer(kafka, topic)) as consumer:
        assert consumer.poll(60) is not None
        begun = Stopwatch()
        count = 1
        while count < MESSAGES:
            for message in consumer.consume(most, 0.001):
                if message.error() is None:
                    message.value()
                    count += 1
        return begun.speed(MESSAGES)


def read(kafka: Kafka, topic: str, **options: Any) -> Speed:
    """One element after the other."""
    begun, count = Stopwatch(), 0
    with read_kafka(kafka.servers, topic, until_end=True, **options).blocking() as messages:
        for message in messages:
            if not count:
                begun = Stopwatch()
            count += message.value is not None
        speed = begun.speed(MESSAGES)
    assert count == MESSAGES
    return speed


def read_in_batches(kafka: Kafka, topic: str) -> Speed:
    """Lists of messages as elements."""
    begun, count = Stopwatch(), 0
    with read_kafka(kafka.servers, topic, until_end=True, batches=True).blocking() as batches:
        for batch in batches:
            if not count:
                begun = Stopwatch()
            for message in batch.messages:
                message.value()
                count += 1
        speed = begun.speed(MESSAGES)
    assert count == MESSAGES
    return speed


# Writing, with a mark for each batch.


def written_bare(kafka: Kafka) -> Speed:
    """The client alone, which has to know of messages that were not delivered as well."""
    topic, marks, refused = kafka.create(), kafka.create(), list[KafkaError]()
    producer = Producer(
        {
            **WRITING,
            "bootstrap.servers": kafka.servers,
            "transactional.id": topic,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, message: refused.append(error),
        }
    )
    producer.init_transactions()
    begun = Stopwatch()
    for first in range(0, WRITTEN, ROWS):
        producer.begin_transaction()
        for number in range(first, first + ROWS):
            producer.produce(topic, value_of(number))
        producer.produce(marks, b"mark", key=topic.encode(), partition=0)
        producer.commit_transaction()
    assert not refused
    return begun.speed(WRITTEN)


def written(kafka: Kafka) -> Speed:
    """By our sink."""
    sink = write_kafka(kafka.servers, kafka.create(), encode=value_of).sink
    sink.open(Epoch.begun())
    begun = Stopwatch()
    for batch in range(WRITTEN // ROWS):
        sink.begin(batch)
        for number in range(batch * ROWS, (batch + 1) * ROWS):
            sink(number)
        sink.commit(batch)
    speed = begun.speed(WRITTEN)
    sink.close()
    return speed


def produced_bare(kafka: Kafka) -> Speed:
    """The client alone, without transactions."""
    topic, refused = kafka.create(), list[KafkaError]()
    begun = Stopwatch()
    producer = Producer(
        {
            **WRITING,
            "bootstrap.servers": kafka.servers,
            "enable.idempotence": True,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, message: refused.append(error),
        }
    )
    for number in range(WRITTEN):
        producer.produce(topic, value_of(number))
        producer.poll(0)
    producer.flush()
    assert not refused
    return begun.speed(WRITTEN)


def produced(kafka: Kafka) -> Speed:
    """By our sink, at the end of a flow."""
    begun = Stopwatch()
    from_a_flow(range(WRITTEN), write_kafka(kafka.servers, kafka.create(), encode=value_of))
    return begun.speed(WRITTEN)


# A subscriber that asks for no more.


def print_stalled(kafka: Kafka, topic: str) -> None:
    """What the client has read ahead, as it counts itself, and what that costs."""
    received: list[int] = []
    told = Event()

    def count(statistics: str) -> None:
        received.append(json.loads(statistics)["rxmsgs"])
        told.set()

    options = {"stats_cb": count, "statistics.interval.ms": 200}
    before = resident()
    subscriber = ManualSubscriber[Any](request=1)
    read_kafka(kafka.servers, topic, options=options).subscribe(subscriber)
    subscriber.await_elements(1)
    time.sleep(2)  # for the client to read ahead
    after = resident()
    received.clear()
    told.clear()
    subscriber.request(1)  # so that the client is asked, and tells
    subscriber.await_elements(2)
    while not told.wait(0.01):
        subscriber.request(1)
        subscriber.await_elements(len(subscriber.elements) + 1)
    taken = len(subscriber.elements)
    subscriber.close()
    print(f"asked for 1, got 1; the client has read {received[0]:,} ahead ({taken} taken by then), "
          f"in {(after - before) / 1e6:.1f} MB")  # fmt: skip


def resident() -> int:
    """The memory of this process, in bytes."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
