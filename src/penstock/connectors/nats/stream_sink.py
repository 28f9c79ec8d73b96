"""A stream of NATS that has each row once, over kills and restarts of a checkpoint."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, TypeAlias, TypeVar

from nats.js import api
from nats.js.errors import NotFoundError

from penstock.connectors.nats.connecting import JetStreamAccess, NatsConnection
from penstock.connectors.nats.marks import BUCKET, Begun, Marks, Progress
from penstock.connectors.nats.publishing import CONNECTOR, ID, Row, RowPublisher
from penstock.connectors.nats.pulling import StreamState, state_of
from penstock.connectors.nats.stored_rows import find_rows
from penstock.connectors.shared.reconnecting import ConnectionLost, Reconnecting
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, TransactionalSink
from penstock.runtime import shorten
from penstock.runtime.shown_text import shown_element

__all__ = ["Bytes", "StreamSink", "StreamToWrite"]

T = TypeVar("T")
Bytes: TypeAlias = bytes | str

CHUNK: Final = 1_000
"""How many messages are on their way before the first of them has to be acknowledged."""
WINDOW: Final = 120.0
"""The seconds for which a server knows ids, unless its stream says otherwise."""
EXPECTED: Final = "Nats-Expected-Stream"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StreamToWrite:
    """What is written, and where; ``subject`` is a text or a function of the element."""

    access: JetStreamAccess
    subject: str | Callable[[Any], str]
    encode: Callable[[Any], Bytes]
    headers: Callable[[Any], Mapping[str, str] | None] | None
    key: str


class StreamSink(TransactionalSink):
    """Publishes the rows of a batch when it is complete, between two marks.

    The first says which batch is begun and how the ids of its messages begin, the second that it is
    there. Who finds only the first reads back from the stream what is there of the batch, and
    publishes the others. Each mark has to follow the one that was seen before, so of two sinks one
    is refused. Functions are called, and a lost server is waited for, on the thread that calls the
    sink.
    """

    def __init__(
        self, write: StreamToWrite, *, commit_rows: int, reconnecting: Reconnecting
    ) -> None:
        super().__init__(write.access.name, commit_rows=commit_rows)
        self._write = write
        self._access = write.access
        self._reconnecting = reconnecting
        self._connection: NatsConnection | None = None
        self._marks: Marks | None = None
        self._publisher: RowPublisher | None = None
        self._window = WINDOW
        self._rows: list[Row] = []
        self._before = Progress()
        self._ours: Progress | None = None
        self._mark: str | None = None
        self._token = ""
        self._published = 0

    # What a pipeline calls besides.

    def open(self, epoch: Epoch | None) -> None:
        """Connect, and compare what is there with the checkpoint."""
        super().open(epoch)
        try:
            if epoch is not None:
                self._patiently(self._prepared)
                self._require_own(epoch, self._patiently(self._progress_there))
        except BaseException:
            self.close()
            raise

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; the server is only asked."""
        try:
            self.connect()
            found = self._run(self._progress_there())
            if epoch is None:
                return f"adds to {self.name}"
            self._require_own(epoch, found)
            BatchProgress(self.name, epoch, found.mark)
            return f"goes on in {self.name}" if found != Progress() else f"adds to {self.name}"
        except ConnectionLost as loss:
            raise self._away(loss) from None
        finally:
            self.disconnect()

    # The hooks of the base.

    def connect(self) -> None:
        """Connect; a server that is not there at the start is an error."""
        try:
            self._connected()
            state = self._run(self._state_at_first())
        except ConnectionLost as loss:
            raise self._away(loss) from None
        self._window = state.config.duplicate_window or WINDOW

    def disconnect(self) -> None:
        """Close the connection."""
        self._rows = []
        connection, self._connection = self._connection, None
        self._marks = self._publisher = None
        if connection is not None:
            connection.close()

    def start_transaction(self) -> None:
        """Nothing is sent yet; what is there now has to be there when all is."""
        self._rows = []
        self._mark = self._ours = None
        self._published, self._token = 0, secrets.token_hex(8)
        if self._progress.epoch is not None:
            self._before = self._patiently(self._progress_there)

    def load_mark(self) -> str | None:
        """The mark of the last batch that is there."""
        return self._patiently(self._progress_there).mark

    def store_mark(self, mark: str) -> None:
        """Keep it until the rows are there."""
        self._mark = mark

    def row_of(self, element: Any) -> Row:
        """The message of an element."""
        write = self._write
        subject: Any = write.subject if isinstance(write.subject, str) else write.subject(element)
        payload: Any = write.encode(element)
        if isinstance(payload, str):
            payload = payload.encode()
        if not isinstance(payload, bytes) or not isinstance(subject, str):
            raise TypeError(
                f"{CONNECTOR}: a message is bytes or a text, its subject a text; not so "
                f"{shown_element(payload)} for {shorten(subject)}"
            )
        return Row(subject, payload, self._headers_of(element) or None)

    def insert(self, rows: Sequence[Any]) -> None:
        """Keep the rows until the end of the transaction."""
        self._rows.extend(rows)

    def commit_transaction(self) -> None:
        """The stream has all of it when this returns."""
        self._patiently(self._publish_all if self._mark is None else self._publish_batch)
        self._rows = []

    def rollback(self) -> None:
        """Nothing was sent."""
        self._rows = []

    # Rows, on the loop of the connection.

    async def _publish_all(self) -> None:
        """Without a mark, from the first that is not acknowledged on; the others are known."""
        publisher = self._publishing
        while self._published < len(self._rows):
            end = min(self._published + CHUNK, len(self._rows))
            numbers = range(self._published, end)
            await publisher.publish(self._token, [(n, self._rows[n]) for n in numbers])
            self._published = end

    async def _publish_batch(self) -> None:
        """Between two marks; after a lost connection it is looked again what is there."""
        assert self._mark is not None
        found = await self._progress_there()
        if found.mark == self._mark:
            return  # it was stored before the connection was lost
        if found not in (self._before, self._ours):
            raise self._progress.loss(self._before.mark, found.mark) or self._changed()
        begun, numbers = await self._begun_now(found)
        claimed = Progress(found.mark, begun)
        await self._claim(claimed)
        at = monotonic()
        for first in range(0, len(numbers), CHUNK):
            if monotonic() - at > self._window / 3:  # ids must be known for as long as it takes
                await self._claim(claimed)
                at = monotonic()
            some = [(number, self._rows[number]) for number in numbers[first : first + CHUNK]]
            await self._publishing.publish(begun.token, some)
        await self._marking.store(Progress(self._mark))

    async def _claim(self, progress: Progress) -> None:
        """Whoever has seen an older mark is refused from here on."""
        self._ours = progress
        await self._marking.store(progress)

    async def _begun_now(self, found: Progress) -> tuple[Begun, list[int]]:
        """What to begin, or to go on with, and the numbers of the rows that are not there."""
        assert self._mark is not None
        last = found.begun
        if last is not None:
            subject = self._write.subject if isinstance(self._write.subject, str) else None
            stored = await find_rows(self._linked, self._access, last, subject)
            missing = stored.missing_from(self._rows) if same_batch(last.mark, self._mark) else None
            if missing is not None:
                return last._replace(mark=self._mark), missing
            logger.warning("%s: a batch came again with other rows: %s", CONNECTOR, self.name)
            await stored.remove(self._linked)
        after = (await self._state()).extent.last
        return Begun(self._mark, secrets.token_hex(8), after), [*range(len(self._rows))]

    # Marks.

    async def _prepared(self) -> None:
        """See that the stream can be read back, and make the place of the marks."""
        state = await self._state()
        retention = state.config.retention
        if retention not in (None, api.RetentionPolicy.LIMITS):
            raise DeliveryRefused(
                f"{CONNECTOR}: {self.name} has retention={retention}: messages go when they are "
                "read, and after a crash nobody could say which were there; write into one with "
                "retention=limits, from which that one may take them as its source"
            )
        await self._marking.prepare(state.config.num_replicas)

    async def _progress_there(self) -> Progress:
        marks = self._marking
        await marks.find()
        return await marks.load()

    def _require_own(self, epoch: Epoch, found: Progress) -> None:
        """Refuse what another checkpoint has begun, be it its first batch."""
        if found.begun is not None:
            epoch.last_batch(found.begun.mark, self.name)

    def _changed(self) -> DeliveryRefused:
        return DeliveryRefused(
            f"{self.name} was written by another pipeline with the mark {self._write.key} in the "
            f"bucket {BUCKET}; stop that one, or give another name="
        )

    # Connections.

    def _headers_of(self, element: Any) -> dict[str, str]:
        write = self._write
        given = write.headers(element) if write.headers is not None else None
        headers: dict[Any, Any] = dict(given or {})
        for name, text in headers.items():
            if name in (ID, EXPECTED) or not (is_line(name) and is_line(text)) or ":" in name:
                raise ValueError(
                    f"{CONNECTOR}: a header has a name, other than {ID}, and a text, on one line; "
                    f"not so {shorten(name)}: {shown_element(text)}"
                )
        if not isinstance(write.subject, str):
            headers[EXPECTED] = write.access.stream  # of which it is not known yet
        return headers

    async def _state(self) -> StreamState:
        return await state_of(self._linked, self._access)

    async def _state_at_first(self) -> StreamState:
        """Of a stream that takes the subject, if that is always the same."""
        state = await self._state()
        subject = self._write.subject
        if isinstance(subject, str):
            try:
                stream = await self._linked.jetstream.find_stream_name_by_subject(subject)
            except NotFoundError:
                stream = ""
            if stream != self._access.stream:
                raise LookupError(
                    f"{CONNECTOR}: {self.name} does not take the subject {subject}; it has "
                    f"{', '.join(state.config.subjects or ()) or 'none'}"
                )
        return state

    @property
    def _linked(self) -> NatsConnection:
        assert self._connection is not None
        return self._connection

    @property
    def _marking(self) -> Marks:
        assert self._marks is not None
        return self._marks

    @property
    def _publishing(self) -> RowPublisher:
        assert self._publisher is not None
        return self._publisher

    def _connected(self) -> NatsConnection:
        if self._connection is None:
            connection = self._connection = self._access.connect()
            self._marks = Marks(connection, self._access, self._write.key)
            self._publisher = RowPublisher(connection, self._access)
        return self._connection

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        return self._connected().run(coroutine)

    def _patiently(self, step: Callable[[], Coroutine[Any, Any, T]]) -> T:
        def taken() -> T:
            connection = self._connected()  # first: a coroutine that nobody runs would complain
            return connection.run(step())

        return self._reconnecting.persist(taken, self._disconnect)

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _away(self, loss: ConnectionLost) -> ConnectionError:
        return ConnectionError(f"{CONNECTOR}: {self._access.address} does not answer: {loss}")


def is_line(text: Any) -> bool:
    """Whether it is a text that ends no header before its end."""
    return isinstance(text, str) and text.isprintable()


def same_batch(one: str, other: str) -> bool:
    """Whether two marks are of the same batch, be it of another start of the pipeline."""
    return bool(json.loads(one)["batch"] == json.loads(other)["batch"])
