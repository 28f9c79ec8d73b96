"""Where a sink finds out what it has: a topic that keeps the last mark of each sink."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from penstock.connectors.kafka.client import (
    ANSWER,
    ANSWERS,
    ClientTrouble,
    Settings,
    asked,
    client_log,
    in_words,
    of_all_clients,
    partitions_of,
)
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.delivery import DeliveryRefused

__all__ = ["CONNECTOR", "MARKS", "PATIENCE", "SinkCluster"]

CONNECTOR: Final = "write_kafka"
MARKS: Final = "penstock_delivery"
PATIENCE: Final = 60.0
"""The seconds in which brokers do what they are asked for, before that is an error."""

KEPT: Final = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.1",
    "segment.ms": "3600000",
    "segment.bytes": "1048576",
}
"""Of each sink the last mark stays for ever, and others go soon."""
logger = logging.getLogger(__name__)


class SinkCluster:
    """What a sink asks the brokers before it writes: whether there is the topic, what it has.

    Marks are kept in partition 0 of one topic for all sinks, by the name of the sink.
    """

    def __init__(self, servers: str, options: Settings) -> None:
        self._servers = servers
        self._settings = {
            "bootstrap.servers": servers,
            "logger": client_log(),
            **of_all_clients(options),
        }
        self._trouble = ClientTrouble(CONNECTOR, servers, options)

    def require_topic(self, topic: str) -> None:
        """``LookupError`` if there is none: a producer would make one, of whatever name."""
        with self._consumer() as consumer:
            if not self._partitions(consumer, topic):
                raise LookupError(f"{CONNECTOR}: {self._servers} has no topic {topic}")

    def mark_now(self, sink: str) -> str | None:
        """The last mark of a sink, if it has one, as far as anybody can see now."""
        return self._mark(sink, 0, 0.0)

    def mark_of(self, sink: str, patience: float) -> str | None:
        """The last mark of a sink, which nobody else changes any more, if it has one.

        Another sink that was killed amid its commit hides what follows, until it is started again
        or its transaction has timed out; that is waited for, for so many seconds.
        """
        with self._consumer("read_uncommitted") as consumer:
            if not self._partitions(consumer, MARKS):
                return None
            marks = TopicPartition(MARKS, 0)
            _, end = consumer.get_watermark_offsets(marks, ANSWER * ANSWERS)
        return self._mark(sink, end, patience)

    def _mark(self, sink: str, least: int, patience: float) -> str | None:
        """The last mark, in what is committed; that has to go as far as ``least``."""
        with self._consumer() as consumer:
            if not self._partitions(consumer, MARKS):
                return None
            consumer.assign([TopicPartition(MARKS, 0, 0)])
            mark: str | None = None
            limit = monotonic() + patience
            while True:
                message = consumer.poll(ANSWER)
                if message is None:
                    self._trouble.raise_it()
                elif not is_end(message):
                    mark = message.value().decode() if message.key() == sink.encode() else mark
                    continue
                elif message.offset() >= least:
                    return mark
                if monotonic() > limit:
                    raise TimeoutError(
                        f"{CONNECTOR}: a transaction of another sink has been open in {MARKS} for "
                        f"{patience:g} s; start that one, which ends it, or wait until it times out"
                    )

    def prepare_marks(self) -> None:
        """Make the topic of the marks, if it is not there."""
        with self._consumer() as consumer:
            is_there = self._partitions(consumer, MARKS) > 0
        admin = AdminClient(self._settings)
        if is_there:
            self._require_kept(admin)
            return
        (begun,) = admin.create_topics([NewTopic(MARKS, 1, config=KEPT)]).values()
        try:
            begun.result(PATIENCE)
        except KafkaException as error:
            if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                raise DeliveryRefused(
                    f"{CONNECTOR}: exactly once needs the topic {MARKS} at {self._servers}, which "
                    f"could not be made: {in_words(error)}; have it made, with one partition and "
                    "cleanup.policy=compact"
                ) from None

    def _require_kept(self, admin: AdminClient) -> None:
        """Refuse a topic that loses marks with time."""
        resource = ConfigResource(ConfigResource.Type.TOPIC, MARKS)
        (begun,) = admin.describe_configs([resource]).values()
        try:
            policy = begun.result(PATIENCE)["cleanup.policy"].value
        except KafkaException as error:
            logger.warning(
                "%s: whether %s keeps its marks is not known: %s", CONNECTOR, MARKS, in_words(error)
            )
            return
        if policy != "compact":
            raise DeliveryRefused(
                f"{CONNECTOR}: the topic {MARKS} at {self._servers} has cleanup.policy={policy}, "
                "and would forget what its sinks have; set it to compact"
            )

    def _partitions(self, consumer: Any, topic: str) -> int:
        return partitions_of(asked(consumer, topic, self._trouble, lambda: True))

    @contextmanager
    def _consumer(self, isolation: str = "read_committed") -> Iterator[Any]:
        """One that is in no group; its errors are explained."""
        self._trouble = ClientTrouble(CONNECTOR, self._servers, self._settings)
        consumer = Consumer(
            {
                **self._settings,
                "group.id": "penstock",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "fetch.wait.max.ms": 10,  # the end is told with the next answer
                "isolation.level": isolation,
                "auto.offset.reset": "earliest",
                "error_cb": self._trouble,
            }
        )
        try:
            yield consumer
        except KafkaException as error:
            raise lasting(self._servers, self._trouble.explained(error)) from None
        except ConnectionLost as loss:
            raise lasting(self._servers, loss) from None
        finally:
            consumer.close()


def is_end(message: Any) -> bool:
    """Whether it says that there is no more; ``KafkaException`` if it says anything else."""
    error = message.error()
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        raise KafkaException(error)
    return error is not None


def lasting(servers: str, error: Exception) -> Exception:
    """The error of a sink, which does not try again."""
    if isinstance(error, ConnectionLost):
        return ConnectionError(f"{CONNECTOR}: {servers}: {error}")
    return error
