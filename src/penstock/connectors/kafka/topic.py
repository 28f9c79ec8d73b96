"""A topic of Kafka that has each row once, over kills and restarts of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import monotonic
from typing import Any, Final, TypeAlias

from confluent_kafka import KafkaError, KafkaException, Producer

from penstock.connectors.kafka.client import ClientTrouble, Settings, client_log, in_words
from penstock.connectors.kafka.marks import CONNECTOR, MARKS, PATIENCE, SinkCluster
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch
from penstock.delivery.contract import Level
from penstock.runtime.shown_text import shown_element

__all__ = ["Bytes", "TopicSink", "TopicToWrite"]

Bytes: TypeAlias = bytes | str | None

DEFAULTS: Final[Settings] = {
    "queue.buffering.max.messages": 100_000,
    "queue.buffering.max.kbytes": 65_536,  # the client of its own would hold a gigabyte
    "transaction.timeout.ms": 300_000,
}
"""What the user may set otherwise."""
SERVED: Final = 500
"""After so many messages the client is asked for those that could not be delivered."""
ROOM: Final = 0.1
"""The seconds after which it is looked again whether the client has room for a message."""
SLICE: Final = 5.0
"""The seconds of one call that waits for brokers."""
LAST: Final = 2.0
"""The seconds for giving up what a new start gives up as well."""

FENCED: Final = (KafkaError._FENCED, KafkaError.PRODUCER_FENCED, KafkaError.INVALID_PRODUCER_EPOCH)
PURGED: Final = (KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT)


@dataclass(frozen=True)
class TopicToWrite:
    """A topic, and what a message has of an element."""

    servers: str
    topic: str
    key: Callable[[Any], Bytes] | None
    encode: Callable[[Any], Bytes]
    headers: Callable[[Any], Mapping[str, Bytes] | None] | None
    transactional_id: str
    options: Settings = field(repr=False)  # with credentials

    @property
    def transaction_seconds(self) -> float:
        """How long a transaction may be open."""
        return float({**DEFAULTS, **self.options}["transaction.timeout.ms"]) / 1_000


class TopicSink:
    """Writes messages into a topic; ``Writer`` and pipelines call it, one thread at a time.

    With a checkpoint, the messages of a batch and its mark, a message of another topic, are one
    transaction. Without one, messages are sent as they come, and are there after ``commit`` and
    ``close``.
    """

    level: Level = "exactly once"

    def __init__(self, write: TopicToWrite) -> None:
        self.name = f"the topic {write.topic} at {write.servers}"
        self._write = write
        self._cluster = SinkCluster(write.servers, write.options)
        self._progress = BatchProgress(self.name)
        self._trouble = ClientTrouble(CONNECTOR, write.servers, write.options)
        self._producer: Any = None
        self._in_transaction = False
        self._sends_at_once = False  # as it is open, and there are no transactions
        self._unserved = 0
        self._undelivered: Exception | None = None
        self._refused_bytes = 0

    # What a pipeline calls.

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; brokers are only asked."""
        self._cluster.require_topic(self._write.topic)
        if epoch is None:
            return f"adds to {self.name}"
        mark = self._cluster.mark_now(self._write.transactional_id)
        BatchProgress(self.name, epoch, mark)
        return f"goes on in {self.name}" if mark else f"adds to {self.name}"

    def open(self, epoch: Epoch | None) -> None:
        """Fence off whoever has written with the same transactional id, and read the mark.

        In this order: what that one had begun is given up or stored, and nothing more comes.
        """
        self._cluster.require_topic(self._write.topic)
        mark = None
        try:
            if epoch is None:
                self._producer = Producer(self._settings())
                self._sends_at_once = True
            else:
                self._cluster.prepare_marks()
                self._producer = Producer(self._settings(self._write.transactional_id))
                self._patiently(self._producer.init_transactions)
                patience = self._write.transaction_seconds + PATIENCE
                mark = self._cluster.mark_of(self._write.transactional_id, patience)
            self._progress = BatchProgress(self.name, epoch, mark)
        except BaseException:
            self._producer = None
            raise

    def begin(self, batch: int) -> bool:
        """Give up what was received of the batch earlier."""
        if self._in_transaction:
            self._in_transaction = False
            self._patiently(self._producer.abort_transaction)
            self._undelivered = None
        return self._progress.begin(batch)

    def __call__(self, element: Any) -> None:
        """Take an element."""
        write = self._write
        value = write.encode(element)
        key = None if write.key is None else write.key(element)
        if (
            (self._in_transaction or self._sends_at_once)
            and write.headers is None
            and self._unserved < SERVED
            and self._undelivered is None
        ):
            try:
                self._producer.produce(write.topic, value, key)
            except (BufferError, KafkaException):
                pass  # it was not taken: once more, as it takes longer
            else:
                self._unserved += 1
                return
        more = {} if write.headers is None else {"headers": write.headers(element)}
        if not self._in_transaction:
            self._begin_transaction()
        self._produce(element, write.topic, value, key, **more)

    def commit(self, batch: int) -> None:
        """Store the batch with its mark; one without rows leaves no trace."""
        mark = self._progress.mark(batch)
        if mark is None:
            self._flush()
        elif self._in_transaction:
            key = self._write.transactional_id
            self._produce(mark, MARKS, mark, key, partition=0)
            self._patiently(self._producer.commit_transaction)
            self._in_transaction = False
        self._progress.committed(batch)

    def close(self) -> None:
        """Give up what was not committed; without a checkpoint, wait until it is delivered."""
        producer = self._producer
        if producer is None:
            return
        try:
            if self._in_transaction and self._progress.in_batch:
                self._give_up(producer)
            elif self._in_transaction:
                self._patiently(producer.commit_transaction)
            elif self._progress.epoch is None and self._undelivered is None:
                self._flush()
        finally:
            self._in_transaction = self._sends_at_once = False
            self._producer = None
            producer.purge()

    # Messages.

    def _begin_transaction(self) -> None:
        """With a checkpoint, with the first row of a batch."""
        producer = self._require_open()
        if self._progress.epoch is not None:
            producer.begin_transaction()
            self._in_transaction = True

    def _produce(self, element: Any, topic: str, value: Bytes, key: Bytes, **more: Any) -> None:
        """Hand it to the client; while that has no room, wait."""
        self._unserved += 1
        if self._unserved >= SERVED:
            self._unserved = 0
            self._producer.poll(0)
        while self._undelivered is None:
            try:
                self._producer.produce(topic, value, key, **more)
                return
            except BufferError:
                self._producer.poll(ROOM)
            except KafkaException as error:
                raise self._refused(element, error) from None
        raise self._undelivered

    def _refused(self, element: Any, error: KafkaException) -> Exception:
        """Why the client does not take a message, which it names."""
        self._producer.poll(0)
        if self._undelivered is not None:
            return self._undelivered
        if error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE:
            most = self._write.options.get("message.max.bytes", 1_000_000)
            return ValueError(
                f"{CONNECTOR}: {self.name}: a message has at most {most} bytes, as "
                f"message.max.bytes in options says; {shown_element(element)} has more"
            )
        return self._explained(error)

    def _reported(self, error: KafkaError | None, message: Any) -> None:
        """The client tells what it could not deliver; on the thread that calls the sink."""
        if error is None or error.code() in PURGED:
            return
        if error.fatal() or error.code() in FENCED:
            self._undelivered = self._undelivered or self._explained(KafkaException(error))
            return
        # Of messages that were refused together for their size, the largest is the one to name.
        size = len(message) if error.code() == KafkaError.MSG_SIZE_TOO_LARGE else 0
        if self._undelivered is None or size > self._refused_bytes:
            self._refused_bytes = size
            self._undelivered = ConnectionError(
                f"{CONNECTOR}: {self.name}: {in_words(error)}; not delivered was the message with "
                f"the key {shown_element(message.key())} and the value "
                f"{shown_element(message.value())}"
            )

    def _flush(self) -> None:
        """Wait until all is delivered; the client gives up on its own after a while."""
        producer = self._require_open()
        while producer.flush(SLICE) and self._undelivered is None:
            self._raise_trouble()
        if self._undelivered is not None:
            raise self._undelivered

    # Transactions.

    def _patiently(self, step: Callable[[float], None]) -> None:
        """Go one step, again as long as the client says that this may help."""
        limit = monotonic() + self._write.transaction_seconds
        while True:
            try:
                return step(SLICE)
            except KafkaException as error:
                if self._undelivered is not None:
                    raise self._undelivered from None
                if not error.args[0].retriable() or monotonic() > limit:
                    raise self._explained(error) from None
                self._producer.poll(0)
                self._raise_trouble()

    def _give_up(self, producer: Any) -> None:
        """The next start gives it up as well, if it cannot be done now."""
        try:
            producer.abort_transaction(LAST)
        except KafkaException:
            pass

    def _explained(self, error: KafkaException) -> Exception:
        found = error.args[0]
        if found.code() in FENCED:
            return DeliveryRefused(
                f"{self.name}: another program writes with the transactional id "
                f"{self._write.transactional_id} now, or a transaction was open for more than "
                f"{self._write.transaction_seconds:g} s; stop one of them, give each its own "
                "transactional_id, or set transaction.timeout.ms in options"
            )
        return ConnectionError(f"{CONNECTOR}: {self.name}: {in_words(error)}")

    def _raise_trouble(self) -> None:
        """Credentials that are refused stay so; for brokers that are away it waits."""
        self._trouble.raise_refusal()

    # The client.

    def _require_open(self) -> Any:
        if self._producer is None:
            raise ValueError(f"{CONNECTOR}: {self.name} is not open")
        return self._producer

    def _settings(self, transactional_id: str | None = None) -> Settings:
        self._undelivered, self._refused_bytes = None, 0
        self._trouble = ClientTrouble(CONNECTOR, self._write.servers, self._write.options)
        transactions = {} if transactional_id is None else {"transactional.id": transactional_id}
        return {
            **DEFAULTS,
            **self._write.options,
            **transactions,
            "bootstrap.servers": self._write.servers,
            "enable.idempotence": True,
            "delivery.report.only.error": True,
            "on_delivery": self._reported,
            "error_cb": self._trouble,
            "logger": client_log(),
        }
