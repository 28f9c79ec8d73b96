"""Topics of Kafka as sinks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from confluent_kafka import Producer

from penstock.connectors.kafka.client import (
    Settings,
    checked_options,
    require_servers,
    require_topic,
)
from penstock.connectors.kafka.marks import CONNECTOR, MARKS
from penstock.connectors.kafka.topic import Bytes, TopicSink, TopicToWrite
from penstock.connectors.shared.formats import fields_of, json_text
from penstock.connectors.shared.writer import Writer
from penstock.flow.checks import require_callable
from penstock.runtime.arguments import require_text
from penstock.runtime.shown_text import shown_element

__all__ = ["write_kafka"]

DELIVERY: Final = "each message has to arrive, in order and once"
REFUSED: Final = {
    "transactional.id": "transactional_id= says that",
    "enable.idempotence": DELIVERY,
    "acks": DELIVERY,
    "request.required.acks": DELIVERY,
    "delivery.report.only.error": "delivery is told by penstock",
    "on_delivery": "delivery is told by penstock",
    "dr_cb": "delivery is told by penstock",
}
"""Options that this connector does not take, and why."""


def write_kafka(
    servers: str | Iterable[str],
    topic: str,
    *,
    key: str | Callable[[Any], Bytes] | None = None,
    encode: Callable[[Any], Bytes] = json_text,
    headers: Callable[[Any], Mapping[str, Bytes] | None] | None = None,
    transactional_id: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Writer:
    """A subscriber that writes messages into a topic of Kafka, which has to be there.

    ``encode`` makes the value of an element, bytes or a text; JSON unless it is another function. A
    value of ``None`` deletes its key where the topic is compacted. ``key`` is the name of a field,
    or a function; messages of one key go to one partition. ``headers`` is a function, too.

    With a checkpoint, the messages of a batch and its mark are one transaction. The mark is a
    message of the topic ``penstock_delivery``, which keeps the last one of each
    ``transactional_id``, and is made with the first. It is ``penstock-`` and the topic unless you
    say otherwise; two pipelines that write into one topic need one each. A start ends what an
    earlier one has left open, and fences that one off if it still runs.

    ``options`` go to the client as they are, ``{"compression.type": "zstd", ...}``, except those
    that would be against this; none is ever shown.

    Demand: 16 to 1,024 elements at a time. The client holds at most 100,000 messages or 64 MiB;
    then it is waited for.

    Delivery: exactly once, with a checkpoint, for readers with ``isolation.level=read_committed``.
    Without one at least once: all is delivered when the writer is done.

    Errors: ``LookupError`` if there is no such topic, ``ValueError`` for a message that is too
    large, ``DeliveryRefused`` if another program writes with the same id or the topic belongs to
    another checkpoint, ``ConnectionError`` for what the brokers refuse or do not take, and what the
    functions raise, cancel the stream, go to the hook for undelivered errors, and stay in
    ``error``. At once: ``ValueError`` and ``TypeError`` for arguments that cannot be used, and for
    options that the client does not know.

    Example:
        >>> from penstock.connectors import write_kafka
        >>> writer = write_kafka("localhost:9092", "totals", key="customer")
        >>> writer.sink.level
        'exactly once'
    """
    checked = require_topic(CONNECTOR, topic)
    if checked == MARKS:
        raise ValueError(f"{CONNECTOR}: {MARKS} is where marks are kept; name another topic")
    name = f"penstock-{topic}" if transactional_id is None else transactional_id
    return Writer(
        TopicSink(
            TopicToWrite(
                servers=require_servers(CONNECTOR, servers),
                topic=checked,
                key=None if key is None else key_function(key),
                encode=require_callable(CONNECTOR, encode),
                headers=None if headers is None else require_callable(CONNECTOR, headers),
                transactional_id=require_text(CONNECTOR, "transactional_id", name),
                options=checked_options(CONNECTOR, options, REFUSED, made),
            )
        )
    )


def made(settings: Settings) -> None:
    """Let the client look at its settings."""
    settings.pop("group.id")
    Producer(settings)


def key_function(key: str | Callable[[Any], Bytes]) -> Callable[[Any], Bytes]:
    """What makes the key of an element."""
    if not isinstance(key, str):
        return require_callable(CONNECTOR, key)
    name = require_text(CONNECTOR, "key", key)

    def key_of(element: Any) -> Bytes:
        fields = fields_of(element)
        if fields is None or name not in fields:
            shown = shown_element(element)
            raise ValueError(f"{CONNECTOR}: {shown} has no {name}, which is the key")
        value = fields[name]
        return value if value is None or isinstance(value, bytes) else str(value)

    return key_of
