"""Streams of NATS as sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from operator import attrgetter
from typing import Any, Literal, cast

from penstock.connectors.nats.connecting import JetStreamAccess
from penstock.connectors.nats.messages import (
    CONNECTOR,
    Decode,
    JetStreamMessage,
    JetStreamPosition,
    OnBad,
)
from penstock.connectors.nats.reading import JetStreamReading, StreamToRead
from penstock.connectors.nats.sequences import OnMissing, Start, require_position
from penstock.connectors.shared.formats import json_value
from penstock.connectors.shared.pulled_source import FETCH, from_pulled
from penstock.connectors.shared.reconnecting import FOREVER, Tell, current_listener
from penstock.flow import Flow, Retry
from penstock.flow.checks import require_callable
from penstock.runtime.arguments import require_choice, require_flag, require_text

__all__ = ["read_jetstream"]


def read_jetstream(
    servers: str | Iterable[str],
    stream: str,
    *,
    subject: str | None = None,
    after: int | JetStreamPosition | None = None,
    start: Start = "earliest",
    on_missing: OnMissing = "fail",
    decode: Decode | None = json_value,
    on_bad: Literal["fail"] | OnBad = "fail",
    until_end: bool = False,
    fetch: int = FETCH,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
    options: Mapping[str, Any] | None = None,
) -> Flow[JetStreamMessage]:
    """The messages of a stream of NATS, which JetStream keeps, and those that it will have.

    Elements are ``JetStreamMessage(stream, sequence, subject, value, headers, timestamp,
    position)``, in the order of the stream; with ``subject``, those that were published to it,
    ``"orders.*"``. ``decode`` makes the value of the bytes, JSON unless it is another function;
    ``None`` leaves them as they are. A message that it raises for ends the flow, or is given to the
    function ``on_bad``, with the error, and left out.

    It begins at ``start``, "earliest" or "latest", or after the message with the position or the
    sequence ``after``. Each run has a consumer of its own at the server, without acknowledgements;
    nothing of the stream changes. A sequence that retention has deleted is an error, and so is a
    stream that was deleted and made anew, if the position is known; with ``on_missing`` it goes on
    at the "earliest" or "latest" one there is, and what lies between is counted as lost. A message
    that somebody deletes by its sequence does not come, as to any other reader.

    ``servers`` is a url, ``nats://`` or ``tls://``, or several of one cluster, which are tried in
    turn. A server that goes away is waited for, as ``reconnect`` says, and ``on_state`` is told;
    nothing is left out or repeated. ``until_end=True`` completes with the message that was the last
    one at the start of the run. ``options`` go to the client as they are, ``{"user": ...,
    "password": ..., "tls": context}``, except those that would be against this; none is ever shown.

    Emits when: a message is wanted and there is one.
    Backpressures when: nothing is wanted; nothing is asked for.
    Completes when: never; with ``until_end``, after the last message there was.
    Cancels when: the subscriber does; the connection is closed within a tenth of a second.

    Demand: exact. At most ``fetch`` messages are asked for at a time.

    Replay: position, the sequence of the message, and when the stream was created.

    Errors: ``LookupError`` if there is no such stream, it is another one than was read, or a
    sequence is gone, with the first and the last one that are there; ``ValueError`` with stream,
    sequence and subject for a message that cannot be decoded, and for a subject or a stream that
    cannot be read so; ``ConnectionError`` if the server does not let us in, its certificate is
    refused, or ``reconnect`` gives up. At once: ``ValueError`` and ``TypeError`` for arguments that
    cannot be used, and for options that the client does not know.

    Example:
        >>> from penstock.connectors import read_jetstream
        >>> orders = read_jetstream("nats://localhost:4222", "ORDERS", subject="orders.new")
        >>> large = orders.filter(lambda message: message.value["total"] > 1_000)
    """
    access = JetStreamAccess(CONNECTOR, servers, stream, options)
    read = StreamToRead(
        access=access,
        subject=None if subject is None else require_text(CONNECTOR, "subject", subject),
        start=cast("Start", require_choice(CONNECTOR, "start", start, ("earliest", "latest"))),
        on_missing=cast(
            "OnMissing",
            require_choice(CONNECTOR, "on_missing", on_missing, ("fail", "earliest", "latest")),
        ),
        decode=None if decode is None else require_callable(CONNECTOR, decode),
        on_bad=None if on_bad == "fail" else require_callable(CONNECTOR, on_bad),
        until_end=require_flag(CONNECTOR, "until_end", until_end),
        listener=current_listener(),
    )
    first = None if after is None else require_position("after", after)

    def reading(position: Any) -> JetStreamReading:
        return JetStreamReading(
            read, None if position is None else require_position("it", position)
        )

    return from_pulled(
        CONNECTOR,
        reading,
        address=f"{access.address} {stream}",
        after=first,
        position_of=attrgetter("position"),
        fetch=fetch,
        reconnect=reconnect,
        on_state=on_state,
    )
