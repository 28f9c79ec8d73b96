"""What is there of a batch that was begun and not ended: its rows are read back from the stream."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from nats.aio.msg import Msg
from nats.js import api
from nats.js.errors import APIError

from penstock.connectors.nats.connecting import JetStreamAccess, NatsConnection, words_of
from penstock.connectors.nats.marks import BUCKET, Begun
from penstock.connectors.nats.publishing import CONNECTOR, ID, Row
from penstock.connectors.nats.pulling import Puller, StreamState, place_of, state_of
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.delivery import DeliveryRefused

__all__ = ["StoredRows", "find_rows"]

MOST: Final = 1_000


class StoredRow(NamedTuple):
    """A row in the stream, and its sequence."""

    sequence: int
    row: Row


class StoredRows:
    """The rows of a batch that are in the stream, by their numbers.

    Rows are published in their order. So where retention has deleted the first ones, the others
    tell of them; unless the stream was full, and has refused some before it took others.
    """

    def __init__(
        self, access: JetStreamAccess, begun: Begun, state: StreamState, rows: dict[int, StoredRow]
    ) -> None:
        self._access = access
        self._rows = rows
        self._is_whole = state.extent.first <= begun.after + 1
        self._was_full = state.config.discard == api.DiscardPolicy.NEW
        self._begun = begun

    def missing_from(self, rows: Sequence[Row]) -> list[int] | None:
        """The numbers of those that have to be published; ``None`` if the rows are not the same."""
        if any(number >= len(rows) or rows[number] != stored.row
               for number, stored in self._rows.items()):  # fmt: skip
            return None
        first = self._first_not_there()
        return [each for each in range(first, len(rows)) if each not in self._rows]

    def _first_not_there(self) -> int:
        if self._is_whole:
            return 0
        last = max(self._rows, default=-1)
        have_holes = last - min(self._rows, default=0) + 1 != len(self._rows)
        if not self._rows or (self._was_full and have_holes):
            raise self._unknown("how many of its rows are there")
        return last + 1

    async def remove(self, connection: NatsConnection) -> None:
        """Delete them: the batch came again with other rows."""
        if not self._is_whole:
            raise self._unknown("which of its rows, that came otherwise this time, are there")
        for stored in self._rows.values():
            try:
                await connection.jetstream.delete_msg(self._access.stream, stored.sequence)
            except APIError as error:
                raise DeliveryRefused(
                    f"{CONNECTOR}: a batch came again with other rows than those that "
                    f"{self._access.name} has of it, and message {stored.sequence} cannot be "
                    f"deleted there: {words_of(error)}"
                ) from None

    def _unknown(self, what: str) -> DeliveryRefused:
        return DeliveryRefused(
            f"{CONNECTOR}: {self._access.name} has deleted messages since a batch was begun after "
            f"sequence {self._begun.after}, so it is not known {what}; the mark is in the bucket "
            f"{BUCKET}, another name= writes the batch again"
        )


async def find_rows(
    connection: NatsConnection, access: JetStreamAccess, begun: Begun, subject: str | None
) -> StoredRows:
    """Read the stream from where the batch was begun; ``subject`` is that of all rows."""
    state = await state_of(connection, access)
    found: dict[int, StoredRow] = {}
    puller = Puller(connection, access, subject)
    await puller.begin(begun.after + 1)
    last = begun.after
    while last < state.extent.last and (messages := await puller.pull(MOST)):
        for message in messages:
            number = number_of(message, begun.token)
            if number is not None:
                found[number] = stored(message)
        last, _ = place_of(messages[-1])
    if puller.is_forgotten:
        raise ConnectionLost("the consumer is gone")
    await puller.end()
    return StoredRows(access, begun, state, found)


def stored(message: Msg) -> StoredRow:
    """The row that a message was."""
    headers = {name: text for name, text in (message.headers or {}).items() if name != ID}
    return StoredRow(place_of(message)[0], Row(message.subject, message.data, headers or None))


def number_of(message: Msg, token: str) -> int | None:
    """Which row it is, if it is one of that batch."""
    beginning, _, number = (message.headers or {}).get(ID, "").rpartition(":")
    return int(number) if beginning == token and number.isdigit() else None
