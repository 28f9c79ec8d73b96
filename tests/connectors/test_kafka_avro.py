"""Avro in topics of Kafka, as the page shows it, without and with a registry of schemas.

The client's own functions are the judge. The registry is the one that the client has in memory; the
long tests have a real one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path
from threading import Event
from typing import Any, TypeAlias

import fastavro
import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer, AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext

from penstock import Retry
from penstock.connectors import KafkaMessage, read_kafka
from penstock.testing import ManualSubscriber
from tests.held_port import held_port
from tests.servers.kafka import Kafka
from tests.servers.registry import Registry, running_registry

pytestmark = pytest.mark.kafka

PAGE = Path(__file__).parents[2] / "docs" / "connectors.md"
MOCK = "mock://tests"
ID = {"name": "id", "type": "long"}
TOTAL = {"name": "total", "type": "double"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
FIRST_SCHEMA = {"type": "record", "name": "Order", "fields": [ID, TOTAL]}
LATER_SCHEMA = {"type": "record", "name": "Order", "fields": [ID, TOTAL, NOTE]}
RegistryAt: TypeAlias = Callable[[str], Any]
ORDERS = [{"id": number, "total": number * 500.5} for number in range(10)]


def run_example(
    first_line: str,
    kafka: Kafka,
    given: str,
    large: str,
    registry_at: RegistryAt | None = None,
    url: str = MOCK,
) -> dict[str, Any]:
    """Run the example of the page that begins so, up to the seventh large order; its names."""
    pattern = rf"```python\n({re.escape(first_line)}\n.*?)```"
    (example,) = re.findall(pattern, PAGE.read_text(), re.DOTALL)
    for written, meant in (
        ("localhost:9092", kafka.servers),
        ('"orders"', repr(given)),
        ('"large-orders"', repr(large)),
        ("large.subscribe", "large.take(7).subscribe"),
        ('SchemaRegistryClient({"url": "http://localhost:8081"})', f"registry_at({url!r})"),
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


@pytest.fixture(scope="session")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    with running_registry(tmp_path_factory.mktemp("registry")) as server:
        yield server


@pytest.fixture(
    params=["mock", pytest.param("real", marks=[pytest.mark.full, pytest.mark.registry])]
)
def url(request: pytest.FixtureRequest) -> str:
    """Where the registry is."""
    if request.param == "mock":
        return MOCK
    server: Registry = request.getfixturevalue("registry")
    return server.url


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
    kafka: Kafka, registry_at: RegistryAt, url: str
) -> None:
    given, large = kafka.create(), kafka.create()
    first_line = "from confluent_kafka.schema_registry import SchemaRegistryClient"
    names = run_example(first_line, kafka, given, large, registry_at, url)
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
    kafka: Kafka, registry_at: RegistryAt, url: str
) -> None:
    topic = kafka.create()
    registry = registry_at(url)
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
    kafka.produce(topic, [AvroSerializer(registry_at(MOCK), json.dumps(FIRST_SCHEMA))(
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


@pytest.mark.full
@pytest.mark.registry
def test_a_registry_that_is_stopped_and_started_again_is_waited_for(
    kafka: Kafka, registry_at: RegistryAt, registry: Registry
) -> None:
    topic = kafka.create()
    writing, reading = registry_at(registry.url), registry_at(registry.url)
    first, later = (
        AvroSerializer(writing, json.dumps(kind)) for kind in (FIRST_SCHEMA, LATER_SCHEMA)
    )
    noted = [{**order, "note": "new"} for order in ORDERS]
    kafka.produce(topic, [first(order, value_of(topic)) for order in ORDERS[:3]])
    with_new_schema = [later(order, value_of(topic)) for order in noted[3:]]
    deserialize = AvroDeserializer(reading)
    bad: list[KafkaMessage] = []
    told: list[str] = []
    is_away = Event()

    def tell(words: str) -> None:
        told.append(words)
        if "decode: " in words:
            is_away.set()

    flow = read_kafka(
        kafka.servers, topic, reconnect=Retry(times=None, backoff=0.05, longest=0.1),
        decode=lambda value: deserialize(value, value_of(topic)), on_state=tell,
        on_bad=lambda message, error: bad.append(message),
    )  # fmt: skip
    flow.subscribe(subscriber := ManualSubscriber[KafkaMessage](request=len(ORDERS)))
    subscriber.await_elements(3)
    registry.stop()
    try:
        kafka.produce(topic, with_new_schema)
        assert is_away.wait(60), told
    finally:
        registry.start()
    subscriber.await_elements(len(ORDERS))
    subscriber.cancel()
    assert [message.value for message in subscriber.elements] == [*ORDERS[:3], *noted[3:]]
    assert [message.offset for message in subscriber.elements] == [*range(len(ORDERS))]
    assert bad == []
