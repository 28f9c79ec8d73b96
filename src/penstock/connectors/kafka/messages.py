"""Messages of a topic as elements, each with the position after it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import cycle, groupby, repeat
from socket import gaierror
from typing import Any, Final, NamedTuple, TypeAlias

from confluent_kafka import Message

from penstock.connectors.kafka.positions import KafkaPosition
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.runtime import printable

__all__ = [
    "Decode",
    "KafkaMessage",
    "KafkaMessages",
    "MessageDecoder",
    "OnBad",
]

FOLLOWING: Final = (1).__add__
LOST: Final = (ConnectionError, ConnectionLost, TimeoutError, gaierror)
"""What a function raises that asks somebody else, such as a registry of schemas."""


class KafkaMessage(NamedTuple):
    """A message of a topic.

    ``topic``, ``partition``, ``offset``  where it is
    ``key``        as it is, in bytes, or ``None``
    ``value``      what ``decode`` made of it; ``None`` in a message that deletes its key
    ``headers``    names and bytes
    ``timestamp``  in milliseconds since 1970, ``None`` if it has none
    ``position``   the next offset of each partition that is read, after which another run goes on,
                   and numbers below zero that tell partitions and topic
    """

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: Any
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp: int | None
    position: KafkaPosition


class KafkaMessages(NamedTuple):
    """Messages that came together, as the client has them: ``message.value()`` and so on.

    ``position``  that after the last of them
    """

    messages: list[Message]
    position: KafkaPosition


Decode: TypeAlias = Callable[[bytes], Any]
OnBad: TypeAlias = Callable[[KafkaMessage, Exception], object]


class MessageDecoder:
    """Makes elements of what the client has read, and counts the offsets.

    Calls ``decode`` and ``on_bad`` on the thread that fetches.

    ``next_offsets``  of the partitions that are read, after the last message that it was given
    ``end``           what a position has behind them
    ``error``         why it went no further, if so
    """

    def __init__(self, topic: str, decode: Decode | None, on_bad: OnBad | None) -> None:
        self._topic = topic
        self._decode = decode
        self._on_bad = on_bad
        self.next_offsets: dict[int, int] = {}
        self.end: tuple[int, ...] = ()
        self.error: Exception | None = None

    def elements(self, messages: Sequence[Message]) -> list[KafkaMessage]:
        """An element of each message, up to one that cannot be decoded, or not now."""
        elements: list[KafkaMessage] = []
        while messages:
            values, error = self._decoded(messages)
            if values:
                elements += self._made(messages[: len(values)], values)
            if error is None or self._is_lost(error):
                break
            bad, messages = messages[len(values)], messages[len(values) + 1 :]
            if not self._is_left_out(self._made([bad], [bad.value()])[0], error):
                break
        return elements

    def batches(self, messages: list[Message], most: int) -> list[KafkaMessages]:
        """Elements of so many messages each; the last one may have fewer."""
        if len(messages) <= most:
            return [self._together(messages)]
        firsts = range(0, len(messages), most)
        return [self._together(messages[first : first + most]) for first in firsts]

    def _together(self, messages: list[Message]) -> KafkaMessages:
        for partition, offset in self.last_offsets(messages).items():
            self.next_offsets[partition] = offset + 1
        return KafkaMessages(messages, (*self.next_offsets.values(), *self.end))

    def last_offsets(self, messages: Sequence[Message]) -> dict[int, int]:
        """The offset of the last message of each partition that has one among them."""
        if len(self.next_offsets) == 1:
            return dict.fromkeys(self.next_offsets, messages[-1].offset())
        last = dict(zip(map(Message.partition, messages), messages, strict=True))
        return {partition: message.offset() for partition, message in last.items()}

    def _decoded(self, messages: Sequence[Message]) -> tuple[list[Any], Exception | None]:
        """The values up to one that cannot be decoded, and why it cannot."""
        values = map(Message.value, messages)
        decode = self._decode
        if decode is None:
            return list(values), None
        decoded: list[Any] = []
        try:
            for value in values:
                decoded.append(None if value is None else decode(value))
        except Exception as error:
            return decoded, error
        return decoded, None

    def _made(self, messages: Sequence[Message], values: Sequence[Any]) -> list[KafkaMessage]:
        """An element of each message, field by field: that is twice as fast as one by one."""
        offsets = [*map(Message.offset, messages)]
        partitions: Iterable[int]
        if len(self.next_offsets) == 1:
            partitions = cycle(self.next_offsets)
        else:
            partitions = [*map(Message.partition, messages)]
        headers = [*map(Message.headers, messages)]
        kinds, times = zip(*map(Message.timestamp, messages), strict=True)
        fields = zip(
            repeat(self._topic),
            partitions,
            offsets,
            map(Message.key, messages),
            values,
            [tuple(each or ()) for each in headers] if any(headers) else repeat(()),
            times
            if all(kinds)
            else [t if kind else None for kind, t in zip(kinds, times, strict=True)],
            self._positions(partitions, offsets),
            strict=False,  # the topic never ends
        )
        return [*map(partial(tuple.__new__, KafkaMessage), fields)]

    def _positions(self, partitions: Iterable[int], offsets: list[int]) -> Iterable[KafkaPosition]:
        """The position after each message, of which only one number differs from the one before."""
        next_offsets = self.next_offsets
        end = [*map(repeat, self.end)]
        if len(next_offsets) == 1:
            next_offsets.update(dict.fromkeys(next_offsets, offsets[-1] + 1))
            return zip(map(FOLLOWING, offsets), *end, strict=False)
        places = {partition: place for place, partition in enumerate(next_offsets)}
        positions: list[KafkaPosition] = []
        first = 0
        for partition, run in groupby(partitions):
            last = first + sum(1 for _ in run) - 1
            numbers: list[Iterable[int]] = [*map(repeat, next_offsets.values())]
            numbers[places[partition]] = map(FOLLOWING, offsets[first : last + 1])
            positions += zip(*numbers, *end, strict=False)
            next_offsets[partition] = offsets[last] + 1
            first = last + 1
        return positions

    def _is_lost(self, error: Exception) -> bool:
        """Whether a connection of ``decode`` is to blame: the message is to come again."""
        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, LOST):
            cause = cause.__cause__ or cause.__context__  # also one that is not to be shown
        if cause is not None:
            self.error = ConnectionLost(f"decode: {type(error).__name__}: {printable(str(error))}")
        return cause is not None

    def _is_left_out(self, message: KafkaMessage, error: Exception) -> bool:
        """Give a message that cannot be decoded to whom it may concern; else that is the end."""
        place = f"{message.topic}, partition {message.partition}, offset {message.offset}"
        try:
            if self._on_bad is not None:
                self._on_bad(message, error)
                return True
        except Exception as raised:
            raised.add_note(f"in on_bad of read_kafka, for {place}")
            self.error = raised
        else:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            self.error = ValueError(f"read_kafka: {place}: {kind}{error}")
            self.error.__cause__ = error
        return False
