"""Asks a stream for so many messages, and counts what comes.

The consumer at the server is of our own, acknowledges nothing and changes nothing. All of this runs
on the loop of the connection.
"""

from __future__ import annotations

import asyncio
import json
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, Final, NamedTuple

from nats.aio.msg import Msg
from nats.js import api
from nats.js.errors import NotFoundError

from penstock.connectors.nats.connecting import ANSWER, JetStreamAccess, NatsConnection
from penstock.connectors.shared.reconnecting import ConnectionLost

__all__ = ["Puller", "StreamExtent", "StreamState", "place_of", "state_of"]

WAIT: Final = 100_000_000
"""The nanoseconds for which the server is asked to wait for a message: no cancel takes longer."""
FORGOTTEN: Final = 60.0
"""The seconds after which the server forgets a consumer that asks for nothing."""
NOTHING_THERE: Final = ("404", "408")
"""How the server says that there is no more, or that the wait is over."""
PLAIN_TOKENS: Final = 9
BEGINNING: Final = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND: Final = timedelta(microseconds=1)


class StreamExtent(NamedTuple):
    """What a stream has: the messages from ``first`` to ``last``."""

    first: int
    last: int

    def __str__(self) -> str:
        if self.first > self.last:
            return f"none; the next one will be {self.last + 1}"
        return f"{self.first} to {self.last}"


class StreamState(NamedTuple):
    """What the server says of a stream.

    ``identity``  when it was created, in microseconds since 1970, which tells it from another one
                  of that name; none if the server does not say
    """

    extent: StreamExtent
    config: api.StreamConfig
    identity: tuple[int, ...]


async def state_of(connection: NatsConnection, access: JetStreamAccess) -> StreamState:
    """What a stream has now; ``LookupError`` if there is none."""
    try:
        info = await connection.jetstream.stream_info(access.stream)
    except NotFoundError:
        raise LookupError(
            f"{access.connector}: {access.address} has no stream {access.stream}"
        ) from None
    state = info.state
    first = state.first_seq if state.messages else state.last_seq + 1
    created = info.created
    identity = () if created is None else ((created - BEGINNING) // MICROSECOND,)
    return StreamState(StreamExtent(first, state.last_seq), info.config, identity)


class Puller:
    """A consumer at the server, from one sequence on, and the messages that were asked of it."""

    def __init__(
        self, connection: NatsConnection, access: JetStreamAccess, subject: str | None
    ) -> None:
        self._connection = connection
        self._access = access
        self._subject = subject
        self._consumer = ""
        self._asked_at = 0.0
        self._inbox = ""
        self._wanted = 0
        self._messages: list[Msg] = []
        self._answer: asyncio.Future[str] | None = None

    @property
    def is_forgotten(self) -> bool:
        """Whether the server may not know it any more."""
        return not self._consumer or monotonic() - self._asked_at > FORGOTTEN / 2

    @property
    def begins_again(self) -> bool:
        """Whether it was known to the server, and may not be any more."""
        return bool(self._inbox) and self.is_forgotten

    async def begin(self, sequence: int) -> None:
        """Read from ``sequence`` on."""
        client = self._connection.client
        if not self._inbox:
            self._inbox = client.new_inbox()
            # Without limits: what comes was asked for, and what the client drops would be lost.
            await client.subscribe(
                self._inbox, cb=self._take, pending_msgs_limit=0, pending_bytes_limit=0
            )
        config = api.ConsumerConfig(
            deliver_policy=api.DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=max(1, sequence),
            ack_policy=api.AckPolicy.NONE,
            filter_subject=self._subject,
            inactive_threshold=FORGOTTEN,
            mem_storage=True,
        )
        made = await self._connection.jetstream.add_consumer(self._access.stream, config)
        self._consumer = made.name
        self._asked_at = monotonic()

    async def pull(self, most: int) -> list[Msg]:
        """The messages that are there, at most so many."""
        return await self._ask(most, {"batch": most, "no_wait": True})

    async def wait(self) -> list[Msg]:
        """The next message, if one comes within a moment."""
        return await self._ask(1, {"batch": 1, "expires": WAIT})

    async def pending(self) -> int:
        """How many there are after those that it gave."""
        info = await self._connection.jetstream.consumer_info(self._access.stream, self._consumer)
        return info.num_pending or 0

    async def end(self) -> None:
        """Let the server forget it; nobody waits for that."""
        if self._consumer:
            subject = f"{api.DEFAULT_PREFIX}.CONSUMER.DELETE.{self._access.stream}.{self._consumer}"
            self._consumer = ""
            await self._connection.client.publish(subject)

    async def _ask(self, wanted: int, request: dict[str, Any]) -> list[Msg]:
        """What comes until the server has sent all, or says that there is no more."""
        self._wanted, self._messages = wanted, []
        self._answer = asyncio.get_running_loop().create_future()
        self._asked_at = monotonic()
        subject = f"{api.DEFAULT_PREFIX}.CONSUMER.MSG.NEXT.{self._access.stream}.{self._consumer}"
        await self._connection.client.publish(subject, json.dumps(request).encode(), self._inbox)
        try:
            status = await asyncio.wait_for(self._answer, ANSWER)
        except TimeoutError:
            self._consumer = ""
            raise ConnectionLost("the server does not answer") from None
        if status and status not in NOTHING_THERE:
            self._consumer = ""  # it is gone, as after a change of the leader
        return self._messages

    async def _take(self, message: Msg) -> None:
        """Called by the client for each message, or for what the server says in place of one."""
        answer = self._answer
        if answer is None or answer.done():
            return
        if message.reply:
            self._messages.append(message)
            if len(self._messages) == self._wanted:
                answer.set_result("")
        else:
            answer.set_result((message.headers or {}).get("Status", "?"))


def place_of(message: Msg) -> tuple[int, int]:
    """Its sequence, and its time in nanoseconds: the server says so in the subject for replies."""
    tokens = message.reply.split(".")
    first = 2 if len(tokens) == PLAIN_TOKENS else 4  # else there are a domain and an account
    return int(tokens[first + 3]), int(tokens[first + 5])
