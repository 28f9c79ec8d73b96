"""Topics of Kafka as sources."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from operator import attrgetter
from typing import Any, Final, Literal, cast, overload

from confluent_kafka import Consumer

from penstock.connectors.kafka.client import checked_options, require_servers, require_topic
from penstock.connectors.kafka.messages import (
    Decode,
    KafkaMessage,
    KafkaMessages,
    OnBad,
)
from penstock.connectors.kafka.offsets import CONNECTOR, OnMissing, Start
from penstock.connectors.kafka.positions import TopicProgress, require_partitions
from penstock.connectors.kafka.reading import TopicReading, TopicToRead
from penstock.connectors.shared.formats import json_value
from penstock.connectors.shared.pulled_source import FETCH, from_pulled
from penstock.connectors.shared.reconnecting import FOREVER, Tell, current_listener
from penstock.flow import Flow, Retry
from penstock.flow.checks import require_callable
from penstock.runtime.arguments import (
    require_choice,
    require_flag,
    require_int,
    require_seconds,
)

__all__ = ["read_kafka"]

NO_GROUP: Final = "no group is joined; the position is that of the pipeline"
BATCHES_AHEAD: Final = 2
"""One is read while the other is used."""
BATCH: Final = 300
"""The messages of a batch, unless the user says otherwise.

Python looks for garbage whenever there are 700 objects more, and looks at all of them: that takes
longer than reading messages. With two batches of so many there are never that many.
"""
REFUSED: Final = {
    "enable.auto.commit": NO_GROUP,
    "auto.commit.enable": NO_GROUP,
    "enable.auto.offset.store": NO_GROUP,
    "group.instance.id": NO_GROUP,
    "on_commit": NO_GROUP,
    "auto.offset.reset": "on_missing= says that",
    "enable.partition.eof": "until_end= says that",
}
"""Options that this connector does not take, and why."""


@overload
def read_kafka(
    servers: str | Iterable[str],
    topic: str,
    *,
    batches: Literal[True],
    partitions: Iterable[int] | None = None,
    after: Sequence[int] | None = None,
    start: Start = "earliest",
    on_missing: OnMissing = "fail",
    until_end: bool = False,
    fetch: int = BATCH,
    look_every: float | timedelta = 30.0,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
    options: Mapping[str, Any] | None = None,
) -> Flow[KafkaMessages]: ...


@overload
def read_kafka(
    servers: str | Iterable[str],
    topic: str,
    *,
    batches: Literal[False] = False,
    partitions: Iterable[int] | None = None,
    after: Sequence[int] | None = None,
    start: Start = "earliest",
    on_missing: OnMissing = "fail",
    decode: Decode | None = json_value,
    on_bad: Literal["fail"] | OnBad = "fail",
    until_end: bool = False,
    fetch: int = FETCH,
    look_every: float | timedelta = 30.0,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
    options: Mapping[str, Any] | None = None,
) -> Flow[KafkaMessage]: ...


def read_kafka(
    servers: str | Iterable[str],
    topic: str,
    *,
    batches: bool = False,
    partitions: Iterable[int] | None = None,
    after: Sequence[int] | None = None,
    start: Start = "earliest",
    on_missing: OnMissing = "fail",
    decode: Decode | None = json_value,
    on_bad: Literal["fail"] | OnBad = "fail",
    until_end: bool = False,
    fetch: int | None = None,
    look_every: float | timedelta = 30.0,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
    options: Mapping[str, Any] | None = None,
) -> Flow[Any]:
    """The messages of a topic of Kafka, and those that it will have.

    Elements are ``KafkaMessage(topic, partition, offset, key, value, headers, timestamp,
    position)``; the messages of a partition come in their order. ``decode`` makes the value of the
    bytes, JSON unless it is another function; ``None`` leaves them as they are. A message that it
    raises for ends the flow, or is given to the function ``on_bad``, with the error, and left out.
    If it raises ``ConnectionError`` or ``TimeoutError``, or what one of them has caused, it is
    called again for that message, as ``reconnect`` says.

    ``partitions`` names those that are read, if others are for other programs, or for other
    partitions of ``SparkFlow.partitioned``; what the topic gets later is not read then.

    It begins at ``start``, "earliest" or "latest", or after the position ``after`` of a message:
    the next offset of each partition, in their order. No group is joined and nothing is committed
    at the broker. An offset that retention has deleted is an error, and so is a topic that was
    deleted and made anew; with ``on_missing`` it goes on at the "earliest" or "latest" offset there
    is, and what lies between is counted as lost.

    A broker that goes away is waited for, as ``reconnect`` says, and ``on_state`` is told; nothing
    is left out or repeated. Every ``look_every`` seconds it looks whether the topic has got more
    partitions, which are read from their first message on.

    ``until_end=True`` completes at what was the end of each partition at the start of the run. With
    ``batches=True`` elements are ``KafkaMessages(messages, position)``, up to ``fetch`` messages as
    the client has them, not decoded: that is faster. ``fetch`` is 1,000, and 300 with batches.

    ``options`` go to the client as they are, ``{"security.protocol": "SASL_SSL", ...}``, except
    those that would be against this; none is ever shown. Of transactions, only what is committed
    is read, unless ``"isolation.level"`` says otherwise.

    Emits when: a message is wanted and there is one.
    Backpressures when: nothing is wanted; none is taken from the client, which stops reading.
    Completes when: never; with ``until_end``, after the last message there was.
    Cancels when: the subscriber does; the client is closed, on its thread.

    Demand: exact. No message is taken from the client that is not wanted, at most ``fetch`` at a
    time. The client reads ahead, from each partition what one answer of the broker has, 1 MiB, or
    1,000 messages, whichever is more; ``options`` can change that.

    Replay: position, the next offset of each partition.

    Errors: ``LookupError`` if there is no such topic or partition, it is another one than was read,
    or an offset is gone; ``ValueError`` with topic, partition and offset for a message that cannot
    be decoded; ``ConnectionError`` for credentials or a certificate that are refused, and when
    ``reconnect`` gives up. At once: ``ValueError`` and ``TypeError`` for arguments that cannot be
    used, and for options that the client does not know.

    Example:
        >>> from penstock.connectors import read_kafka
        >>> orders = read_kafka("localhost:9092", "orders", start="latest")
        >>> large = orders.filter(lambda message: message.value["total"] > 1_000)
    """
    address = require_servers(CONNECTOR, servers)
    if fetch is None:
        fetch = BATCH if batches else FETCH
    if batches and (decode is not json_value or on_bad != "fail"):
        raise ValueError(
            f"{CONNECTOR}: with batches=True messages are not decoded; leave out decode and on_bad"
        )
    read = TopicToRead(
        servers=address,
        topic=require_topic(CONNECTOR, topic),
        partitions=require_partitions(partitions),
        start=cast("Start", require_choice(CONNECTOR, "start", start, ("earliest", "latest"))),
        on_missing=cast(
            "OnMissing",
            require_choice(CONNECTOR, "on_missing", on_missing, ("fail", "earliest", "latest")),
        ),
        decode=None if decode is None else require_callable(CONNECTOR, decode),
        on_bad=None if on_bad == "fail" else require_callable(CONNECTOR, on_bad),
        until_end=require_flag(CONNECTOR, "until_end", until_end),
        batch=fetch if require_flag(CONNECTOR, "batches", batches) else None,
        look_every=require_seconds(CONNECTOR, "look_every", look_every),
        options=checked_options(CONNECTOR, options, REFUSED, made_and_closed),
        listener=current_listener(),
    )
    most = require_int(CONNECTOR, "fetch", fetch)
    if after is not None:
        TopicProgress.of("after", after).offsets_of(read.partitions)

    def reading(position: Any) -> TopicReading:
        return TopicReading(read, None if position is None else TopicProgress.of("it", position))

    return from_pulled(
        CONNECTOR,
        reading,
        address=f"kafka://{address}/{topic}",
        after=after,
        position_of=attrgetter("position"),
        fetch=BATCHES_AHEAD if batches else most,
        reconnect=reconnect,
        on_state=on_state,
    )


def made_and_closed(settings: dict[str, Any]) -> None:
    """Let the client look at its settings."""
    Consumer(settings).close()
