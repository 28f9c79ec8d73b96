"""Messages on their way into a stream, until each is acknowledged. All on the connection's loop."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import nats.errors
from nats.aio.msg import Msg

from penstock.connectors.nats.connecting import ANSWER, JetStreamAccess, NatsConnection
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.runtime import printable, shorten
from penstock.runtime.shown_text import shown_element

__all__ = ["CONNECTOR", "ID", "Row", "RowPublisher"]

CONNECTOR: Final = "write_jetstream"
ID: Final = "Nats-Msg-Id"
"""The header by which the server refuses a duplicate, and by which rows are known again."""
NOBODY: Final = "503"
BROKEN: Final = 500
FULL: Final = (10077, 10047, 10023)
"""What the server says when there is no room: a stream or an account has its most, or the disk."""


class Row(NamedTuple):
    """An element as a message."""

    subject: str
    payload: bytes
    headers: dict[str, str] | None


class RowPublisher:
    """Publishes rows over one connection, some at a time, and waits for what the server says."""

    def __init__(self, connection: NatsConnection, access: JetStreamAccess) -> None:
        self._connection = connection
        self._access = access
        self._inbox = ""
        self._missing = 0
        self._rows: list[Row] = []
        self._error: Exception | None = None
        self._all: asyncio.Future[None] | None = None

    async def publish(self, token: str, rows: Iterable[tuple[int, Row]]) -> None:
        """All are stored when this returns; a row of this token and number that is there counts."""
        client = self._connection.client
        if not self._inbox:
            self._inbox = client.new_inbox()
            await client.subscribe(
                f"{self._inbox}.*", cb=self._take, pending_msgs_limit=0, pending_bytes_limit=0
            )
        given = list(rows)
        self._rows = [row for _, row in given]
        self._missing, self._error = len(given), None
        self._all = asyncio.get_running_loop().create_future()
        for place, (number, row) in enumerate(given):
            headers = {**(row.headers or {}), ID: f"{token}:{number}"}
            try:
                await client.publish(row.subject, row.payload, f"{self._inbox}.{place}", headers)
            except (nats.errors.MaxPayloadError, nats.errors.BadSubjectError, ValueError) as error:
                raise self._refused(row, str(error).removeprefix("nats: ")) from None
        try:
            await asyncio.wait_for(self._all, ANSWER)
        except TimeoutError:
            raise ConnectionLost("the server does not answer") from None
        if self._error is not None:
            raise self._error

    async def _take(self, message: Msg) -> None:
        """Called by the client for each acknowledgement, or refusal."""
        if self._all is None or self._all.done():
            return
        if message.headers or b'"error"' in message.data:
            row = self._rows[int(message.subject.rpartition(".")[2])]
            self._error = self._error or self._trouble(row, message)
        self._missing -= 1
        if not self._missing:
            self._all.set_result(None)

    def _trouble(self, row: Row, message: Msg) -> Exception | None:
        """Why a row was not stored."""
        if (message.headers or {}).get("Status") == NOBODY:
            return LookupError(
                f"{CONNECTOR}: {self._access.address} has no stream for the subject "
                f"{printable(row.subject)}"
            )
        error: dict[str, Any] = json.loads(message.data or b"{}").get("error") or {}
        if not error:
            return None
        words = str(error.get("description", error))
        if error.get("err_code") in FULL or error.get("code", BROKEN) >= BROKEN:
            return ConnectionLost(words)  # until somebody makes room
        return self._refused(row, words)

    def _refused(self, row: Row, words: str) -> ValueError:
        return ValueError(
            f"{CONNECTOR}: {self._access.name} refuses a message: {printable(words)}; its subject "
            f"is {shorten(row.subject)}, its {len(row.payload)} bytes are "
            f"{shown_element(row.payload)}"
        )
