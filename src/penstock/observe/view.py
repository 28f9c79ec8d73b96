"""A pipeline as people see it: the same for the terminal, the page and the metrics."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from penstock.api import UNBOUNDED
from penstock.observe.reading import Batch, Edge, Ledger, Signal, Stage, State
from penstock.observe.words import entries, equation

__all__ = ["EdgeView", "Point", "StageView", "View"]


@dataclass(frozen=True, slots=True)
class StageView:
    """A stage with its pace; ``slowest`` is the one for which the others wait."""

    stage: Stage
    rate: float
    slowest: bool


@dataclass(frozen=True, slots=True)
class EdgeView:
    """An edge with its pace, and the shares of the last seconds in which its ends had to wait."""

    edge: Edge
    rate: float
    held_up: float
    idle: float


@dataclass(frozen=True, slots=True)
class Point:
    """What the charts have of one moment; ``at`` in seconds since 1970."""

    at: float
    rate_in: float
    rate_out: float
    demand: int
    in_flight: int
    p50: float | None
    p99: float | None
    lag: float | None


@dataclass(frozen=True, slots=True)
class View:
    """All of it at one moment."""

    pipeline: str
    state: State
    seconds: float
    sentence: str
    stages: tuple[StageView, ...]
    edges: tuple[EdgeView, ...]
    point: Point
    batch: Batch | None
    ledger: Ledger
    checkpoint: str
    errors: tuple[Signal, ...]
    dead_letters: int
    last_dead_letters: tuple[Signal, ...]
    spark_page: str | None

    def as_json(self) -> dict[str, Any]:
        """Plain data: numbers, texts, lists. Demand without a bound is ``null``."""
        data = asdict(self)
        data["ledger"]["entries"] = [each._asdict() for each in entries(self.ledger)]
        data["ledger"]["equation"] = equation(self.ledger)
        data["stages"] = [{**each.pop("stage"), **each} for each in data["stages"]]
        data["edges"] = [flat(each) for each in data["edges"]]
        return data


def flat(edge: dict[str, Any]) -> dict[str, Any]:
    """One level; the share has the name of its moment, with ``_share`` behind it."""
    inner = edge["edge"]
    if inner["requested"] >= UNBOUNDED:
        inner["requested"] = None
    return {
        **inner,
        "rate": edge["rate"],
        "held_up_share": edge["held_up"],
        "idle_share": edge["idle"],
    }
