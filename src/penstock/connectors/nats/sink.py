"""Streams of NATS as sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.connectors.nats.connecting import JetStreamAccess
from penstock.connectors.nats.marks import require_key
from penstock.connectors.nats.publishing import CONNECTOR
from penstock.connectors.nats.stream_sink import Bytes, StreamSink, StreamToWrite
from penstock.connectors.shared.formats import json_text
from penstock.connectors.shared.reconnecting import (
    FOREVER,
    Reconnecting,
    Tell,
    require_reconnect,
    require_tell,
)
from penstock.connectors.shared.writer import Writer
from penstock.flow import Retry
from penstock.flow.checks import require_callable
from penstock.runtime import shorten
from penstock.runtime.arguments import require_int, require_text

__all__ = ["write_jetstream"]


def write_jetstream(
    servers: str | Iterable[str],
    stream: str,
    subject: str | Callable[[Any], str],
    *,
    encode: Callable[[Any], Bytes] = json_text,
    headers: Callable[[Any], Mapping[str, str] | None] | None = None,
    name: str | None = None,
    commit_rows: int = 1_000,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
    options: Mapping[str, Any] | None = None,
) -> Writer:
    """A subscriber that publishes messages into a stream of NATS, which has to be there.

    ``subject`` is what they are published to, or a function of the element. ``encode`` makes bytes
    or a text of an element, JSON unless it is another function; ``headers`` is a function, too.
    ``options`` go to the client as they are, as with ``read_jetstream``.

    NATS has no transactions. With a checkpoint, the messages of a batch are held until it is
    complete, and published between two marks, which say that it is begun and that it is there. They
    are kept in the bucket ``penstock_delivery``, which is made with the first, under ``name``, by
    default that of the stream; two pipelines that write into one stream need one each. After a
    crash in between, what is there of the batch is read back from the stream, however long ago that
    was, and the rest is published. A reader may see the beginning of a batch before its end. If
    functions make other rows when a batch comes again, the ones that are there are deleted first.

    Each message has an id, ``Nats-Msg-Id``, so that the server refuses one that is sent twice
    within the window of its stream, two minutes unless that says otherwise.

    Demand: 16 to 1,024 elements at a time. Without batches, they are published by ``commit_rows``,
    with the first one that comes a second after the last time, and at the end.

    Delivery: exactly once, with a checkpoint, in a stream with ``retention=limits``. Without one at
    least once: a message whose answer is lost is sent again, and refused as a duplicate within the
    window.

    Errors: ``LookupError`` if there is no such stream, or none for the subject; ``ValueError`` for
    a message that the server does not take, ``DeliveryRefused`` if the stream belongs to another
    checkpoint, somebody else writes under the same name, messages go when they are read, or
    retention has deleted what would tell how much of a batch is there; ``ConnectionError`` if the
    server does not let us in or ``reconnect`` gives up; and what the functions raise, cancel the
    stream, go to the hook for undelivered errors, and stay in ``error``. At once: ``ValueError``
    and ``TypeError`` for arguments that cannot be used, and for options that the client does not
    know.

    Example:
        >>> from penstock.connectors import write_jetstream
        >>> writer = write_jetstream("nats://localhost:4222", "TOTALS", "totals.daily")
        >>> writer.sink.level
        'exactly once'
    """
    access = JetStreamAccess(CONNECTOR, servers, stream, options)
    return Writer(
        StreamSink(
            StreamToWrite(
                access=access,
                subject=require_subject(subject),
                encode=require_callable(CONNECTOR, encode),
                headers=None if headers is None else require_callable(CONNECTOR, headers),
                key=require_key(stream if name is None else name),
            ),
            commit_rows=require_int(CONNECTOR, "commit_rows", commit_rows),
            reconnecting=Reconnecting(
                CONNECTOR,
                access.address,
                require_reconnect(CONNECTOR, reconnect),
                require_tell(CONNECTOR, on_state),
            ),
        )
    )


def require_subject(subject: str | Callable[[Any], str]) -> str | Callable[[Any], str]:
    """``subject``, when something can be published to it."""
    if not isinstance(subject, str):
        return require_callable(CONNECTOR, subject)
    text = require_text(CONNECTOR, "subject", subject)
    if not all(text.split(".")) or {*text} & set(" \t\r\n*>"):
        raise ValueError(
            f"{CONNECTOR}: subject is words with full stops between them, without spaces, * and >; "
            f"not so {shorten(text)}"
        )
    return text
