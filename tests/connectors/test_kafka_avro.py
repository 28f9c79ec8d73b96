"""Avro in topics of Kafka, as the page shows it, without and with a registry of schemas.

The client's own functions are the judge. The registry is the one that the client has in memory, or
the server at ``SCHEMA_REGISTRY_URL``.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from typing import Any, TypeAlias

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock import Retry
from penstock.connectors import read_kafka
from tests.held_port import held_port
from tests.servers.kafka import Kafka

pytestmark = pytest.mark.kafka

PAGE = Path(__file__).parents[2] / "docs" / "connectors.md"
REGISTRY = os.environ.get("SCHEMA_REGISTRY_URL", "mock://tests")
ID = {"name": "id", "type": "long"}
TOTAL = {"name": "total", "type": "double"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
FIRST_SCHEMA = {"type": "record", "name": "Order", "fields": [ID, TOTAL]}
LATER_SCHEMA = {"type": "record", "name": "Order", "fields": [ID, TOTAL, NOTE]}
RegistryAt: TypeAlias = Callable[[str], Any]
ORDERS = [{"id": number, "total": number * 500.5} for number in range(10)]


def run_example(
    first_line: str, kafka: Kafka, given: str, large: str, registry_at: RegistryAt | None = None
) -> dict[str, Any]:
    """Run the example of the page that begins so, up to the seventh large order; its names."""
    pattern = rf"```python\n({re.escape(first_line)}\n.*?)```"
    (example,) = re.findall(pattern, PAGE.read_text(), re.DOTALL)
    for written, meant in (
        ("localhost:9092", kafka.servers),
        ('"orders"', repr(given)),
        ('"large-orders"', repr(large)),
        ("large.subscribe", "large.take(7).subscribe"),
        ('SchemaRegistryClient({"url": "http://localhost:8081"})', f"registry_at({REGISTRY!r})"),
    ):
        example = example.replace(written, meant)
    names: dict[str, Any] = {"registry_at": registry_at}
    exec(compile(example, PAGE, "exec"), names)
    return names


@pytest.fixture
def registry_at() -> Iterator[RegistryAt]:
    """Registries by their address, which are left at the end of the test."""
    with ExitStack() as leaving:
        yield lambda url: leaving.enter_context(
            SchemaRegistryClient.new_client({"url": url, "max.retries": 0})
        )


def value_of(topic: str) -> SerializationContext:
    return SerializationContext(topic, MessageField.VALUE)


def test_avro_of_one_schema_is_read_and_written(kafka: Kafka) -> None:
    given, large = kafka.create(), kafka.create()
    schema = fastavro.parse_schema(FIRST_SCHEMA)

    def avro(order: dict[str, Any]) -> bytes:
        fastavro.schemaless_writer(buffer := BytesIO(), schema, order)
        return buffer.getvalue()

    kafka.produce(given, [avro(order) for order in ORDERS])
    names = run_example("from io import BytesIO", kafka, given, large)
    assert names["writer"].wait(60)
    assert names["writer"].error is None
    assert kafka.values(large) == [avro(order) for order in ORDERS[2:9]]


def test_avro_of_a_registry_is_read_and_written_also_if_the_schema_changes(
    kafka: Kafka, registry_at: RegistryAt
) -> None:
    given, large = kafka.create(), kafka.create()
    first_line = "from confluent_kafka.schema_registry import SchemaRegistryClient"
    names = run_example(first_line, kafka, given, large, registry_at)
    registry = names["registry"]
    kinds = (FIRST_SCHEMA, LATER_SCHEMA, FIRST_SCHEMA)
    first, later, last = (AvroSerializer(registry, json.dumps(kind)) for kind in kinds)
    noted = [{**order, "note": "new"} for order in ORDERS]
    parts = ((first, ORDERS[:4]), (later, noted[4:6]), (last, ORDERS[6:]))
    kafka.produce(given, [to(order, value_of(given)) for to, part in parts for order in part])
    assert names["writer"].wait(60)
    assert names["writer"].error is None
    deserialize = AvroDeserializer(registry)
    values = kafka.values(large)
    assert [deserialize(value, value_of(large)) for value in values] == ORDERS[2:9]
    serialize = AvroSerializer(registry, names["schema"])
    assert values == [serialize(order, value_of(large)) for order in ORDERS[2:9]]
    read = read_kafka(
        kafka.servers, given, until_end=True, decode=lambda it: deserialize(it, value_of(given))
    )
    found = [message.value for message in read.to_list().run_sync() or ()]
    assert found == [*ORDERS[:4], *noted[4:6], *ORDERS[6:]]


def test_a_message_that_no_schema_fits_is_named_or_left_out(
    kafka: Kafka, registry_at: RegistryAt
) -> None:
    topic = kafka.create()
    registry = registry_at(REGISTRY)
    serialize, deserialize = (
        AvroSerializer(registry, json.dumps(FIRST_SCHEMA)),
        AvroDeserializer(registry),
    )
    sound = serialize(ORDERS[1], value_of(topic))
    unknown = b"\0\0\xff\xff\xff" + sound[5:]
    kafka.produce(topic, [sound, b'{"id": 1}', unknown, sound])

    def decode(value: bytes) -> Any:
        return deserialize(value, value_of(topic))

    flow = read_kafka(kafka.servers, topic, until_end=True, decode=decode)
    with pytest.raises(ValueError, match=f"{topic}, partition 0, offset 1: SerializationError: "):
        flow.to_list().run_sync()
    dead: list[bytes] = []
    flow = read_kafka(
        kafka.servers, topic, until_end=True, decode=decode,
        on_bad=lambda message, error: dead.append(message.value),
    )  # fmt: skip
    messages = flow.to_list().run_sync() or []
    assert [message.value for message in messages] == [ORDERS[1], ORDERS[1]]
    assert dead == [b'{"id": 1}', unknown]


def test_a_registry_that_is_away_is_waited_for_and_no_message_is_blamed(
    kafka: Kafka, registry_at: RegistryAt
) -> None:
    topic = kafka.create()
    kafka.produce(topic, [AvroSerializer(registry_at(REGISTRY), json.dumps(FIRST_SCHEMA))(
        ORDERS[1], value_of(topic)
    )])  # fmt: skip
    bad: list[Any] = []
    with held_port() as port:
        deserialize = AvroDeserializer(registry_at(f"http://127.0.0.1:{port}"))
        flow = read_kafka(
            kafka.servers, topic, until_end=True, reconnect=Retry(times=1, backoff=0.001),
            decode=lambda value: deserialize(value, value_of(topic)),
            on_bad=lambda message, error: bad.append(message),
        )  # fmt: skip
        with pytest.raises(ConnectionError, match="after 2 attempts: decode: ConnectError: "):
            flow.to_list().run_sync()
    assert bad == []
