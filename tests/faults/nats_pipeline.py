"""The pipeline from NATS through Spark to NATS that is killed.

``penstock run tests.faults.nats_pipeline:through_spark --checkpoint PLACE --set server=...``
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from penstock import Flow
from penstock.connectors import JetStreamMessage, read_jetstream, write_jetstream, write_json_lines
from penstock.pipeline import Pipeline
from penstock.spark import SparkFlow

__all__ = ["StreamSettings", "through_spark"]

MAX_ROWS: Final = 300
BATCH_ROWS: Final = 100


@dataclass(frozen=True)
class StreamSettings:
    """``folder`` has a file of all rows, by which others see how far it is."""

    server: str = ""
    source: str = ""
    sink: str = ""
    folder: str = ""


def numbers(settings: StreamSettings) -> Flow[Any]:
    def row(message: JetStreamMessage) -> dict[str, int]:
        return {"number": message.value["number"]}

    return read_jetstream(settings.server, settings.source, until_end=True).map(row)


def recorded(numbers: Flow[Any]) -> SparkFlow:
    return numbers.on_spark("number long", max_rows=MAX_ROWS, batch_rows=BATCH_ROWS)


through_spark = Pipeline(
    "through-spark",
    sources={"numbers": numbers},
    transform=recorded,
    sinks={
        "file": lambda settings: write_json_lines(Path(settings.folder, "out.jsonl")),
        "stream": lambda settings: write_jetstream(
            settings.server, settings.sink, f"{settings.sink}.rows"
        ),
    },
    settings=StreamSettings,
)
