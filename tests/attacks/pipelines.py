"""The pipelines that are attacked: they move numbers until they are told to stop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import Flow
from penstock.pipeline import Pipeline


@dataclass(frozen=True)
class Settings:
    """Where the numbers go."""

    output: Path


def numbers(settings: Settings) -> Flow[dict[str, int]]:
    return Flow.resumable(after, position=lambda row: row["number"])


def after(position: int | None) -> Flow[dict[str, int]]:
    first = 0 if position is None else position + 1
    return Flow.interval(0.01).map(lambda number: {"number": first + number})


def written(settings: Settings) -> Callable[[Any], None]:
    def write(row: Any) -> None:
        number = row["number"] if isinstance(row, dict) else row.number
        with settings.output.open("a") as file:  # a descriptor for each
            file.write(f"{number}\n")

    return write


plain = Pipeline("plain", sources={"numbers": numbers}, sinks={"file": written}, settings=Settings)
on_spark = Pipeline(
    "on-spark",
    sources={"numbers": numbers},
    transform=lambda numbers: numbers.on_spark("number long").map(lambda row: row),
    sinks={"file": written},
    settings=Settings,
)
