"""The pipeline from Kafka through Spark to Kafka that is killed.

``penstock run tests.faults.kafka_pipeline:through_spark --checkpoint PLACE --set servers=...``
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.connectors import KafkaMessage, read_kafka, write_json_lines, write_kafka
from penstock.pipeline import Pipeline
from penstock.spark import SparkFlow

__all__ = ["TopicSettings", "through_spark"]

MAX_ROWS: Final = 300
BATCH_ROWS: Final = 100


@dataclass(frozen=True)
class TopicSettings:
    """``folder`` has a file of all rows, by which others see how far it is."""

    servers: str = ""
    source: str = ""
    sink: str = ""
    folder: str = ""


def numbers(settings: TopicSettings) -> Flow[Any]:
    def row(message: KafkaMessage) -> dict[str, int]:
        return {"number": message.value["number"]}

    return read_kafka(settings.servers, settings.source, until_end=True).map(row)


def recorded(numbers: Flow[Any]) -> SparkFlow:
    return numbers.on_spark("number long", max_rows=MAX_ROWS, batch_rows=BATCH_ROWS)


through_spark = Pipeline(
    "through-spark",
    sources={"numbers": numbers},
    transform=recorded,
    sinks={
        "file": lambda settings: write_json_lines(Path(settings.folder, "out.jsonl")),
        "topic": lambda settings: write_kafka(settings.servers, settings.sink),
    },
    settings=TopicSettings,
)
