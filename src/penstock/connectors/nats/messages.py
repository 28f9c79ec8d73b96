"""Messages of a stream as elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from nats.aio.msg import Msg

from penstock.connectors.nats.pulling import place_of

__all__ = [
    "CONNECTOR",
    "Decode",
    "JetStreamMessage",
    "JetStreamPosition",
    "OnBad",
    "StreamDecoder",
]

CONNECTOR: Final = "read_jetstream"
NANOSECONDS: Final = 1_000_000
"""In a millisecond."""


JetStreamPosition: TypeAlias = tuple[int, ...]
"""How far a stream was read: the sequence of a message.

A second number, when the stream was created, tells it from another that is made under its name.
"""


class JetStreamMessage(NamedTuple):
    """A message of a stream.

    ``stream``, ``sequence``  where it is
    ``subject``    what it was published to
    ``value``      what ``decode`` made of its bytes
    ``headers``    texts by name
    ``timestamp``  when the server got it, in milliseconds since 1970
    ``position``   the sequence, after which another run goes on, and a number that stands for the
                   stream
    """

    stream: str
    sequence: int
    subject: str
    value: Any
    headers: dict[str, str]
    timestamp: int
    position: JetStreamPosition


Decode: TypeAlias = Callable[[bytes], Any]
OnBad: TypeAlias = Callable[[JetStreamMessage, Exception], object]


class StreamDecoder:
    """Makes elements of what has come.

    Calls ``decode`` and ``on_bad`` on the thread that fetches.

    ``identity``  what a position has behind the sequence
    ``error``     why it went no further, if so
    """

    def __init__(self, stream: str, decode: Decode | None, on_bad: OnBad | None) -> None:
        self._stream = stream
        self._decode = decode
        self._on_bad = on_bad
        self.identity: tuple[int, ...] = ()
        self.error: Exception | None = None

    def elements(self, messages: Sequence[Msg]) -> list[JetStreamMessage]:
        """An element of each message, up to one that cannot be decoded."""
        decode = self._decode
        elements: list[JetStreamMessage] = []
        for message in messages:
            try:
                value = message.data if decode is None else decode(message.data)
            except Exception as error:
                if not self._is_left_out(self._made(message, message.data), error):
                    break
            else:
                elements.append(self._made(message, value))
        return elements

    def _made(self, message: Msg, value: Any) -> JetStreamMessage:
        sequence, time = place_of(message)
        headers = message.headers or {}
        milliseconds, position = time // NANOSECONDS, (sequence, *self.identity)
        return JetStreamMessage(
            self._stream, sequence, message.subject, value, headers, milliseconds, position
        )

    def _is_left_out(self, message: JetStreamMessage, error: Exception) -> bool:
        """Give a message that cannot be decoded to whom it may concern; else that is the end."""
        place = f"{message.stream}, sequence {message.sequence}, subject {message.subject}"
        try:
            if self._on_bad is not None:
                self._on_bad(message, error)
                return True
        except Exception as raised:
            raised.add_note(f"in on_bad of {CONNECTOR}, for {place}")
            self.error = raised
        else:
            kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
            self.error = ValueError(f"{CONNECTOR}: {place}: {kind}{error}")
            self.error.__cause__ = error
        return False
