"""One reading of a stream, from a sequence on."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from nats.aio.msg import Msg
from nats.js.api import RetentionPolicy
from nats.js.errors import NotFoundError

from penstock.connectors.nats.connecting import JetStreamAccess, NatsConnection
from penstock.connectors.nats.messages import (
    CONNECTOR,
    Decode,
    JetStreamMessage,
    JetStreamPosition,
    OnBad,
    StreamDecoder,
)
from penstock.connectors.nats.pulling import Puller, StreamState, place_of, state_of
from penstock.connectors.nats.sequences import Missing, OnMissing, Start
from penstock.connectors.shared.pulled_source import PulledSource
from penstock.connectors.shared.reconnecting import ConnectionLost, SourceListener

__all__ = ["JetStreamReading", "StreamToRead"]


@dataclass(frozen=True)
class StreamToRead:
    """What all readings of a stream have in common; with ``subject``, only those messages."""

    access: JetStreamAccess
    subject: str | None
    start: Start
    on_missing: OnMissing
    decode: Decode | None
    on_bad: OnBad | None
    until_end: bool
    listener: SourceListener | None


class JetStreamReading(PulledSource[JetStreamMessage]):
    """Reads a stream by a consumer of its own, which is made again wherever it is needed.

    All below ``_next`` was read, or is none of ours. Retention removes the first messages of a
    stream: where messages are missing before one that comes, the stream says whether it begins
    after them.
    """

    def __init__(self, read: StreamToRead, after: JetStreamPosition | None) -> None:
        self._read = read
        self._decoder = StreamDecoder(read.access.stream, read.decode, read.on_bad)
        self._missing = Missing(
            read.access.name, read.on_missing, read.listener, is_all=read.subject is None
        )
        sequence, *identity = after or (None,)
        self._decoder.identity = tuple(filter(None, identity))
        self._next = None if sequence is None else sequence + 1
        self._end: int | None = None
        self._looked_up_to: int | None = None
        self._connection: NatsConnection | None = None
        self._puller: Puller | None = None
        self._waiting: Future[Any] | None = None
        self._is_unwanted = False

    def __repr__(self) -> str:
        return f"read_jetstream({self._read.access.stream!r})"

    def connect(self) -> None:
        """Connect, and see where the stream begins and ends."""
        access = self._read.access
        self._connection = access.connect(self._note_wait)
        self._puller = Puller(self._connection, access, self._read.subject)
        self._look()

    def fetch(self, most: int) -> Sequence[JetStreamMessage] | None:
        """The next messages; none, if none came within a moment."""
        if self._decoder.error is not None:
            raise self._decoder.error
        if self._end is not None and (self._next or 0) > self._end:
            return None
        if self._pulling.begins_again:
            self._require_same_stream(self._run(self._state()))
        messages, is_end = self._run(self._pulled(most))
        if self._end is not None:
            messages = [each for each in messages if place_of(each)[0] <= self._end]
        if is_end and not messages:
            return None
        return self._decoder.elements(self._without_gaps(messages))

    def interrupt(self) -> None:
        """Do not wait for a server that does not answer."""
        self._is_unwanted = True
        if self._waiting is not None:
            self._waiting.cancel()

    def disconnect(self) -> None:
        """Let the server forget the consumer, and close the connection."""
        connection, self._connection = self._connection, None
        puller, self._puller = self._puller, None
        if connection is None:
            return
        try:
            if puller is not None:
                connection.run(puller.end())
        except (ConnectionLost, ConnectionError):
            pass  # it is forgotten after a while
        finally:
            connection.close()

    # On the loop of the connection.

    async def _pulled(self, most: int) -> tuple[list[Msg], bool]:
        """What is there, or comes within a moment; and whether there is no more at the end."""
        puller = self._pulling
        if puller.is_forgotten:
            await puller.begin(self._next or 1)
        messages = await puller.pull(most)
        if messages or puller.is_forgotten:
            return messages, False
        if self._end is not None:
            return [], await puller.pending() == 0
        if self._read.subject is not None:
            await self._look_past_others()
        return await puller.wait(), False

    async def _look_past_others(self) -> None:
        """Nothing is there: of what was there when it was asked before, nothing is ours."""
        if self._looked_up_to is not None:
            self._next = max(self._next or 1, self._looked_up_to + 1)
        self._looked_up_to = (await self._state()).extent.last

    async def _state(self) -> StreamState:
        assert self._connection is not None
        return await state_of(self._connection, self._read.access)

    # On the thread that fetches.

    def _look(self) -> None:
        """See that the next message is there."""
        state = self._run(self._state())
        if state.config.retention == RetentionPolicy.WORK_QUEUE:
            raise ValueError(
                f"{CONNECTOR}: {self._read.access.name} has retention=workqueue, so it gives "
                "messages only to those who acknowledge and thereby delete them; read one with "
                "retention=limits, which may have this one as its source"
            )
        self._require_same_stream(state)
        extent = state.extent
        if self._next is not None:
            self._next = self._missing.goes_on_at(self._next, extent)
        elif self._read.start == "latest":
            self._next = extent.last + 1
        if self._read.until_end and self._end is None:
            self._end = extent.last
        self._looked_up_to = None

    def _require_same_stream(self, state: StreamState) -> None:
        """Of another one of that name, the sequences mean nothing here."""
        before, found = self._decoder.identity, state.identity
        self._decoder.identity = found or before
        if before and found not in ((), before) and self._next is not None:
            self._next = self._missing.begins_anew(self._next, state.extent)

    def _without_gaps(self, messages: list[Msg]) -> list[Msg]:
        """All of them, or those before the first that are missing, if that is to be an error."""
        sequences = [place_of(message)[0] for message in messages]
        expected = sequences[0] if self._next is None and sequences else self._next
        if not sequences or expected is None:
            return messages
        self._next = sequences[-1] + 1
        self._looked_up_to = None
        if self._next - expected == len(sequences):
            return messages
        extent = self._run(self._state()).extent
        for index, sequence in enumerate(sequences):
            lost = min(sequence, extent.first) - expected
            if lost > 0:
                try:
                    self._missing.tell(expected, lost, extent, f"; {sequence} is next")
                except LookupError as error:
                    self._decoder.error = error
                    return messages[:index]
            expected = sequence + 1
        return messages

    @property
    def _pulling(self) -> Puller:
        assert self._puller is not None
        return self._puller

    def _run(self, coroutine: Any) -> Any:
        assert self._connection is not None
        try:
            return self._connection.run(coroutine, self._note_wait)
        except NotFoundError:
            raise ConnectionLost("the consumer is gone") from None

    def _note_wait(self, waiting: Future[Any]) -> None:
        self._waiting = waiting
        if self._is_unwanted:
            waiting.cancel()
