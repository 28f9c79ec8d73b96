"""The pipelines from a broker through Spark to the same broker that are killed.

``penstock run tests.faults.message_pipelines:kafka --checkpoint PLACE --set server=...``
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final

from penstock import Flow
from penstock.connectors import (
    read_jetstream,
    read_kafka,
    write_jetstream,
    write_json_lines,
    write_kafka,
)
from penstock.pipeline import Pipeline
from penstock.spark import SparkFlow
from tests.faults.ends.lives import Life

__all__ = ["ROWS", "BrokerSettings", "jetstream", "kafka", "run_through_kills"]

ROWS: Final = 6_000
MAX_ROWS: Final = 300
BATCH_ROWS: Final = 100


@dataclass(frozen=True)
class BrokerSettings:
    """``folder`` has a file of all rows, by which others see how far it is."""

    server: str = ""
    source: str = ""
    sink: str = ""
    folder: str = ""


def recorded(messages: Flow[Any]) -> SparkFlow:
    rows = messages.map(lambda message: {"number": message.value["number"]})
    return rows.on_spark("number long", max_rows=MAX_ROWS, batch_rows=BATCH_ROWS)


def through_spark(
    read: Callable[[BrokerSettings], Flow[Any]], write: Callable[[BrokerSettings], Any]
) -> Pipeline:
    return Pipeline(
        "through-spark",
        sources={"messages": read},
        transform=recorded,
        sinks={
            "file": lambda settings: write_json_lines(Path(settings.folder, "out.jsonl")),
            "broker": write,
        },
        settings=BrokerSettings,
    )


kafka = through_spark(
    lambda settings: read_kafka(settings.server, settings.source, until_end=True),
    lambda settings: write_kafka(settings.server, settings.sink),
)
jetstream = through_spark(
    lambda settings: read_jetstream(settings.server, settings.source, until_end=True),
    lambda settings: write_jetstream(settings.server, settings.sink, f"{settings.sink}.rows"),
)


def run_through_kills(folder: Path, name: str, *, server: str, source: str, sink: str) -> None:
    """Kill the pipeline ``name`` of this module in several ways, and let it come to its end."""
    random = Random(9)
    settings = {"server": server, "source": source, "sink": sink, "folder": str(folder)}
    pipeline = f"{__name__}:{name}"
    kills = 0
    for kill in (Life.kill_group, Life.kill_alone, Life.kill_jvm, Life.kill_group):
        life = Life(folder, settings, pipeline)
        if life.await_rows(random.uniform(0.0, 2.0)):
            kill(life)
            kills += 1
        life.end()
    for _ in range(2):  # the second time, all is there
        life = Life(folder, settings, pipeline)
        assert life.end() == 0, life.said
    assert kills >= 2
