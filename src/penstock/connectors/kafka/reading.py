"""One reading of a topic: its partitions, from an offset each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event
from time import monotonic
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from penstock.connectors.kafka.client import (
    ANSWER,
    ANSWERS,
    ClientTrouble,
    Settings,
    asked,
    client_log,
    identity_of,
    partitions_of,
)
from penstock.connectors.kafka.messages import Decode, MessageDecoder, OnBad
from penstock.connectors.kafka.offsets import (
    CONNECTOR,
    Extent,
    FirstOffsets,
    OnMissing,
    Start,
)
from penstock.connectors.kafka.positions import TopicProgress, end_of_position
from penstock.connectors.shared.pulled_source import PulledSource
from penstock.connectors.shared.reconnecting import ConnectionLost, SourceListener

__all__ = ["DEFAULTS", "TopicReading", "TopicToRead"]

DEFAULTS: Final[Settings] = {
    "group.id": "penstock",  # the client wants one, although it joins none
    # The client of its own reads 100,000 messages ahead, and pauses for a second when it has them.
    "queued.min.messages": 1_000,
    "queued.max.messages.kbytes": 4_096,
    "fetch.queue.backoff.ms": 5,
    # Half of it passes before the client asks its first question. It is doubled at each attempt.
    "reconnect.backoff.ms": 20,
    "reconnect.backoff.max.ms": 1_000,
}
"""What the user may set otherwise."""
UNTIL_END: Final[Settings] = {"fetch.wait.max.ms": 50}  # the end is told with the next answer
OURS: Final[Settings] = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
}

MOMENT: Final = 0.1
"""The seconds for which it waits for a message."""


@dataclass(frozen=True)
class TopicToRead:
    """What all readings of a topic have in common.

    ``partitions``  those that are read; ``None`` for all, also those that it will have
    ``batch``       how many messages are one element, at most; ``None`` if each is one
    ``look_every``  the seconds after which it looks for new partitions
    """

    servers: str
    topic: str
    partitions: Sequence[int] | None
    start: Start
    on_missing: OnMissing
    decode: Decode | None
    on_bad: OnBad | None
    until_end: bool
    batch: int | None
    look_every: float
    options: Settings = field(repr=False)  # with credentials
    listener: SourceListener | None


class TopicReading(PulledSource[Any]):
    """Reads partitions of a topic, by a consumer that belongs to no group."""

    def __init__(self, read: TopicToRead, after: TopicProgress | None) -> None:
        self._read = read
        self._decoder = MessageDecoder(read.topic, read.decode, read.on_bad)
        self._decoder.next_offsets = {} if after is None else after.offsets_of(read.partitions)
        self._identity = None if after is None else after.identity
        self._was_read = after is not None
        self._first = FirstOffsets(read.topic, read.start, read.on_missing, read.listener)
        self._ends: dict[int, int] | None = None  # of those partitions that are not at their end
        self._gone: list[int] = []  # partitions whose next offset is
        self._consumer: Any = None
        self._trouble = ClientTrouble(CONNECTOR, read.servers, read.options)
        self._next_look = 0.0
        self._is_unwanted = Event()

    def __repr__(self) -> str:
        return f"{CONNECTOR}({self._read.topic!r})"

    def connect(self) -> None:
        """Find the partitions, and where to begin in each."""
        read = self._read
        self._trouble = ClientTrouble(CONNECTOR, read.servers, read.options)
        self._gone.clear()  # it is looked for each partition
        self._decoder.error = None
        self._consumer = Consumer(
            {
                **DEFAULTS,
                **(UNTIL_END if read.until_end else {}),
                **read.options,
                **OURS,
                "bootstrap.servers": read.servers,
                "enable.partition.eof": read.until_end,
                "error_cb": self._trouble,
                "logger": client_log(),
            }
        )
        try:
            partitions = self._partitions(lambda: not self._is_unwanted.is_set())
            self._identify()
            self._begin(partitions)
        except KafkaException as error:
            raise self._trouble.explained(error) from None
        self._next_look = monotonic() + read.look_every

    def fetch(self, most: int) -> Sequence[Any] | None:
        """The next messages; none, if none came within a moment."""
        decoder = self._decoder
        if decoder.error is not None:
            raise decoder.error
        if self._ends is not None and not self._ends:
            return None
        if monotonic() >= self._next_look:
            self._look_for_partitions()
        batch, ends = self._read.batch, self._ends and self._ends.copy()
        try:
            while self._gone:
                self._go_on(self._gone.pop())
            messages = self._sound(self._taken(most if batch is None else most * batch))
        except KafkaException as error:
            raise self._trouble.explained(error) from None
        if not messages:
            self._trouble.raise_it()
            return ()
        if batch is not None:
            return decoder.batches(messages, batch)
        elements = decoder.elements(messages)
        if self._decoder.error is not None:
            self._ends = ends  # the rest may come again
        return elements

    def interrupt(self) -> None:
        """Do not ask a broker again that does not answer."""
        self._is_unwanted.set()

    def disconnect(self) -> None:
        """Close the consumer."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            consumer.close()

    # Messages.

    def _taken(self, most: int) -> list[Message]:
        """No more than ``most``: what is not taken stays with the client, which stops reading."""
        messages: list[Message] = self._consumer.consume(most, 0)
        if messages:
            return messages
        first = self._consumer.poll(MOMENT)
        if first is None:
            return []
        return [first, *self._consumer.consume(most - 1, 0)] if most > 1 else [first]

    def _sound(self, messages: list[Message]) -> list[Message]:
        """Those that are messages, and no news of a partition; up to the end, if there is one."""
        ended: list[int] = []
        if any(map(Message.error, messages)):
            news = [message for message in messages if message.error() is not None]
            messages = [message for message in messages if message.error() is None]
            for each in news:  # if it raises, the messages come again
                if each.error().code() == KafkaError._PARTITION_EOF:
                    ended.append(each.partition())
                else:
                    self._heed(each.partition(), each.error())
        if self._ends is None:
            return messages
        if messages and self._is_near_end(messages, self._ends):
            messages = [message for message in messages if self._is_before_end(message)]
        for partition in ended:  # the rest of it is no messages, or not committed
            self._ends.pop(partition, None)
        return messages

    def _is_near_end(self, messages: list[Message], ends: dict[int, int]) -> bool:
        """Whether one of them is the last of its partition, or came later."""
        last = self._decoder.last_offsets(messages).items()
        return any(offset + 1 >= ends.get(partition, 0) for partition, offset in last)

    def _is_before_end(self, message: Message) -> bool:
        """Forget a partition at its last message; what came later is for others."""
        assert self._ends is not None
        partition, offset = message.partition(), message.offset()
        end = self._ends.get(partition, 0)
        if offset + 1 >= end:
            self._ends.pop(partition, None)
        return bool(offset < end)

    def _heed(self, partition: int, error: KafkaError) -> None:
        """What the client says of a partition in place of a message."""
        read = self._read
        if error.code() == KafkaError._AUTO_OFFSET_RESET:
            self._gone.append(partition)  # first, what came with the news is delivered
        elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
            raise LookupError(f"{CONNECTOR}: {read.servers} has no topic {read.topic} any more")
        else:
            raise KafkaException(error)

    def _go_on(self, partition: int) -> None:
        """Decide where, after the next offset is gone."""
        next_offsets = self._decoder.next_offsets
        offset = self._first.found(partition, next_offsets[partition], self._extent(partition))
        next_offsets[partition] = offset
        self._consumer.seek(TopicPartition(self._read.topic, partition, offset))

    # Partitions.

    def _identify(self) -> None:
        """Forget offsets of another topic, if that is allowed."""
        found = self._identity_now(ANSWER * ANSWERS)
        if self._identity is not None and found != self._identity:
            self._first.begin_anew()
            self._decoder.next_offsets, self._was_read = {}, False
        self._identity = found
        self._decoder.end = end_of_position(self._read.partitions, found)

    def _identity_now(self, patience: float) -> int | None:
        """What tells the topic from others of its name, or what did, if nobody says."""
        read = self._read
        found = identity_of(read.servers, read.topic, read.options, patience)
        return self._identity if found is None else found

    def _begin(self, there: int) -> None:
        """Read each partition from its next offset; with an end, those that are not there yet."""
        read, next_offsets = self._read, self._decoder.next_offsets
        wanted = range(there) if read.partitions is None else read.partitions
        last = max(*wanted, *next_offsets, 0)
        if last >= there:
            made_anew = "; it was made anew: begin without that position"
            raise LookupError(
                f"{CONNECTOR}: {read.topic} has no partition {last}, it has {there} from 0 on"
                + (made_anew if last in next_offsets else "")
            )
        extents = {partition: self._extent(partition) for partition in wanted}
        for partition, extent in extents.items():
            if partition in next_offsets:
                offset = self._first.found(partition, next_offsets[partition], extent)
            else:
                offset = self._first.chosen(partition, extent, is_new=self._was_read)
            next_offsets[partition] = offset
        self._was_read = True
        if read.until_end and self._ends is None:
            self._ends = {
                partition: extent.end
                for partition, extent in extents.items()
                if next_offsets[partition] < extent.end
            }
        self._consumer.assign(
            [
                TopicPartition(read.topic, each, next_offsets[each])
                for each in (wanted if self._ends is None else self._ends)
            ]
        )

    def _look_for_partitions(self) -> None:
        """Read partitions that the topic has got meanwhile, from their first message on.

        The client goes on in a topic that was made anew as if it were the same: that is a reason
        to connect again, where it is noticed.
        """
        self._next_look = monotonic() + self._read.look_every
        if self._ends is not None:
            return
        try:
            # Asked only once: to ask again would be to take what the client has read.
            there = self._partitions(lambda: False)
            if self._read.partitions is None:
                self._add_partitions(there)
        except (KafkaException, ConnectionLost):
            return  # it is looked again; what keeps messages away is told with them
        if self._identity_now(ANSWER) != self._identity:
            raise ConnectionLost(f"{self._read.topic} is another topic than before")

    def _add_partitions(self, there: int) -> None:
        """Those that are new are read from their first message on."""
        next_offsets = self._decoder.next_offsets
        for partition in range(len(next_offsets), there):
            offset = self._first.chosen(partition, self._extent(partition), is_new=True)
            self._consumer.incremental_assign([TopicPartition(self._read.topic, partition, offset)])
            next_offsets[partition] = offset

    def _partitions(self, goes_on: Callable[[], bool]) -> int:
        """How many the topic has."""
        topic = self._read.topic
        partitions = partitions_of(asked(self._consumer, topic, self._trouble, goes_on))
        if not partitions:
            raise LookupError(f"{CONNECTOR}: {self._read.servers} has no topic {topic}")
        return partitions

    def _extent(self, partition: int) -> Extent:
        where = TopicPartition(self._read.topic, partition)
        return Extent(*self._consumer.get_watermark_offsets(where, ANSWER * ANSWERS))
