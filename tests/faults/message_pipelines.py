"""The pipelines from a broker through Spark to the same broker that are killed.

``penstock run tests.faults.message_pipelines:kafka --checkpoint PLACE --set server=...``
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from penstock import Flow, connectors
from penstock.connectors import (
    read_jetstream,
    write_jetstream,
    write_json_lines,
)
from penstock.pipeline import Pipeline
from penstock.spark import SparkFlow, SparkSettings, spark_session
from tests.faults.ends.lives import Life

__all__ = [
    "ROWS",
    "BrokerSettings",
    "jetstream",
    "kafka",
    "kafka_by_spark",
    "kafka_on_executors",
    "run_on",
    "run_through_kills",
]

ROWS: Final = 6_000
MAX_ROWS: Final = 300
BATCH_ROWS: Final = 100
PARTITIONS: Final = 3


@dataclass(frozen=True)
class BrokerSettings:
    """``folder`` has a file of all rows, by which others see how far it is.

    ``jars`` is what Spark needs to read a topic itself.
    """

    server: str = ""
    source: str = ""
    sink: str = ""
    folder: str = ""
    jars: str = ""


def recorded(messages: Flow[Any]) -> SparkFlow:
    rows = messages.map(lambda message: {"number": message.value["number"]})
    return rows.on_spark("number long", max_rows=MAX_ROWS, batch_rows=BATCH_ROWS)


def read_by_spark(settings: BrokerSettings) -> SparkFlow:
    """The same topic, where Spark is the one who reads it."""
    session = spark_session(SparkSettings(options={"spark.jars": settings.jars}))
    messages = (
        session.readStream.format("kafka")
        .option("kafka.bootstrap.servers", settings.server)
        .option("subscribe", settings.source)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", MAX_ROWS)
        .load()
    )
    number = "cast(get_json_object(cast(value as string), '$.number') as long) as number"
    return SparkFlow.from_stream(messages.selectExpr(number, "partition", "offset"), until_end=True)


def read_on_executors(settings: BrokerSettings) -> SparkFlow:
    """The same topic, each partition of which is read by a task of Spark."""
    server, source = settings.server, settings.source

    def messages_of(partition: int) -> Flow[Any]:
        messages = connectors.read_kafka(server, source, partitions=[partition], until_end=True)
        return messages.map(lambda each: (each.value["number"], each.partition, each.offset))

    return SparkFlow.partitioned(
        messages_of,
        partitions=PARTITIONS,
        schema="number long, partition int, offset long",
        batch_rows=MAX_ROWS,
    )


def through_spark(
    read: Callable[[BrokerSettings], Any],
    write: Callable[[BrokerSettings], Any],
    transform: Callable[[Any], Any] = recorded,
) -> Pipeline:
    return Pipeline(
        "through-spark",
        sources={"messages": read},
        transform=transform,
        sinks={
            "file": lambda settings: write_json_lines(Path(settings.folder, "out.jsonl")),
            "broker": write,
        },
        settings=BrokerSettings,
    )


kafka = through_spark(
    lambda settings: connectors.read_kafka(settings.server, settings.source, until_end=True),
    lambda settings: connectors.write_kafka(settings.server, settings.sink),
)
kafka_by_spark = through_spark(
    read_by_spark,
    lambda settings: connectors.write_kafka(settings.server, settings.sink),
    lambda messages: messages,
)
kafka_on_executors = through_spark(
    read_on_executors,
    lambda settings: connectors.write_kafka(settings.server, settings.sink),
    lambda messages: messages,
)
jetstream = through_spark(
    lambda settings: read_jetstream(settings.server, settings.source, until_end=True),
    lambda settings: write_jetstream(settings.server, settings.sink, f"{settings.sink}.rows"),
)


def run_through_kills(folder: Path, name: str, **settings: str) -> None:
    """Kill the pipeline ``name`` of this module in several ways, and let it come to its end."""
    random = Random(9)
    kills = 0
    for kill in (Life.kill_group, Life.kill_alone, Life.kill_jvm, Life.kill_group):
        life = begun(folder, name, settings)
        if life.await_rows(random.uniform(0.0, 2.0)):
            kill(life)
            kills += 1
        life.end()
    for _ in range(2):  # the second time, all is there
        run_on(folder, name, **settings)
    assert kills >= 2


def run_on(folder: Path, name: str, **settings: str) -> None:
    """Let the pipeline go on with its checkpoint, until it completes."""
    life = begun(folder, name, settings)
    assert life.end() == 0, life.said


def begun(folder: Path, name: str, settings: dict[str, str]) -> Life:
    return Life(folder, {**settings, "folder": str(folder)}, f"{__name__}:{name}")
