"""All metrics as data: Prometheus, OpenTelemetry and the documentation are made of this table.

A metric has the name that OpenTelemetry wants. That of Prometheus follows from it by the rules by
which OpenTelemetry exports to Prometheus: both ways lead to the same name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from penstock.api import UNBOUNDED
from penstock.observe.ledger import WORDS, LedgerWord
from penstock.observe.status import EdgeStatus, ProcessUse, StageStatus, State, StateSize, Status

__all__ = [
    "METRICS",
    "Metric",
    "MetricsUnavailable",
]

Kind: TypeAlias = Literal["counter", "gauge"]
Values: TypeAlias = Iterable[tuple[tuple[str, ...], float]]
"""The values of a metric at one moment, each after those of its labels."""

UNIT_SUFFIXES: Final = {"s": "_seconds", "1": "_ratio", "By": "_bytes"}


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric, with the labels that tell its values from each other, and how to read them."""

    name: str
    kind: Kind
    unit: str
    meaning: str
    labels: tuple[str, ...]
    read: Callable[[Status], Values]

    @property
    def prometheus_name(self) -> str:
        """The name for Prometheus."""
        total = "_total" if self.kind == "counter" else ""
        return self.name.replace(".", "_") + UNIT_SUFFIXES.get(self.unit, "") + total


class MetricsUnavailable(ImportError):
    """The package of the monitoring system is missing; the text says how to install it."""

    def __init__(self, extra: str, missing: ImportError) -> None:
        super().__init__(
            f"these metrics need {missing.name}: pip install 'penstock[{extra}]'", name=missing.name
        )


def of_pipeline(
    name: str, kind: Kind, unit: str, meaning: str, value: Callable[[Status], float | None]
) -> Metric:
    """A metric with one value, unless it is not known."""

    def read(status: Status) -> Values:
        return known([((status.pipeline,), value(status))])

    return Metric(name, kind, unit, meaning, ("pipeline",), read)


def of_stages(
    name: str, kind: Kind, unit: str, meaning: str, value: Callable[[StageStatus], float]
) -> Metric:
    """A metric with one value for each stage."""

    def read(status: Status) -> Values:
        return [((status.pipeline, each.name), value(each)) for each in status.stages]

    return Metric(name, kind, unit, meaning, ("pipeline", "stage"), read)


def of_edges(
    name: str, kind: Kind, unit: str, meaning: str, value: Callable[[EdgeStatus], float | None]
) -> Metric:
    """A metric with one value for each edge of which it is known."""

    def read(status: Status) -> Values:
        return known(
            ((status.pipeline, each.giver, each.taker), value(each)) for each in status.edges
        )

    return Metric(name, kind, unit, meaning, ("pipeline", "giver", "taker"), read)


def of_states(
    name: str, kind: Kind, unit: str, meaning: str, value: Callable[[StateSize], float]
) -> Metric:
    """A metric with one value for each operator of Spark that keeps something."""

    def read(status: Status) -> Values:
        return [((status.pipeline, each.operator), value(each)) for each in status.kept]

    return Metric(name, kind, unit, meaning, ("pipeline", "operator"), read)


def of_processes(
    name: str, kind: Kind, unit: str, meaning: str, value: Callable[[ProcessUse], float | None]
) -> Metric:
    """A metric with one value for each kind of process."""

    def read(status: Status) -> Values:
        return known(
            ((status.pipeline, each.name), value(each)) for each in status.machine.processes
        )

    return Metric(name, kind, unit, meaning, ("pipeline", "process"), read)


def known(
    values: Iterable[tuple[tuple[str, ...], float | None]],
) -> Iterator[tuple[tuple[str, ...], float]]:
    """Those that are there."""
    return ((labels, value) for labels, value in values if value is not None)


def bounded(each: EdgeStatus) -> int | None:
    """All that was requested, unless that has no bound."""
    return None if each.requested >= UNBOUNDED else each.requested


def states(status: Status) -> Values:
    """1 for the state that the pipeline is in, 0 for the others."""
    return [((status.pipeline, state), float(state == status.state)) for state in get_args(State)]


def latencies(status: Status) -> Values:
    """Two quantiles."""
    return known(
        [
            ((status.pipeline, "0.5"), status.point.p50),
            ((status.pipeline, "0.99"), status.point.p99),
        ]
    )


def phases(status: Status) -> Values:
    """The seconds of each."""
    return [((status.pipeline, name), seconds) for name, seconds in status.engine.phases]


def of_word(word: LedgerWord) -> Metric:
    """A number of the ledger; one that goes down as well is no counter."""

    def value(status: Status) -> float | None:
        number: int | None = getattr(status.ledger, word.field)
        return number

    kind: Kind = "gauge" if word.field == "in_flight" else "counter"
    return of_pipeline(word.metric, kind, word.unit, word.meaning, value)


def causes(status: Status) -> Values:
    """How often which stage was the place of a cause."""
    found: dict[tuple[str, ...], float] = {}
    for each in status.ledger.causes:
        if each.count is not None:
            labels = (status.pipeline, each.field, each.place)
            found[labels] = found.get(labels, 0) + each.count
    return found.items()


METRICS: Final = (
    Metric(
        "penstock.state",
        "gauge",
        "",
        "1 for the state that the pipeline is in, 0 for the others",
        ("pipeline", "state"),
        states,
    ),
    of_pipeline(
        "penstock.uptime",
        "gauge",
        "s",
        "seconds since the pipeline was started",
        lambda status: status.seconds,
    ),
    of_stages(
        "penstock.stage.elements",
        "counter",
        "{element}",
        "elements that have left the stage; of a sink, those that it has taken",
        lambda each: each.passed,
    ),
    of_stages(
        "penstock.stage.slowest",
        "gauge",
        "",
        "1 for the stage for which the others wait, 0 for the others",
        lambda each: float(each.slowest),
    ),
    of_stages(
        "penstock.stage.trouble",
        "gauge",
        "",
        "1 while something keeps the stage from its work, otherwise 0",
        lambda each: float(bool(each.trouble)),
    ),
    of_edges(
        "penstock.edge.requested",
        "counter",
        "{element}",
        "elements that the taker has asked for; absent once it has asked without a bound",
        bounded,
    ),
    of_edges(
        "penstock.edge.delivered",
        "counter",
        "{element}",
        "elements that the giver has given",
        lambda each: each.delivered,
    ),
    of_edges(
        "penstock.edge.in_flight",
        "gauge",
        "{element}",
        "elements that were given and with which the taker is not done",
        lambda each: each.in_flight,
    ),
    of_edges(
        "penstock.edge.capacity",
        "gauge",
        "{element}",
        "how many may be in flight; absent where there is no bound",
        lambda each: each.capacity,
    ),
    of_edges(
        "penstock.edge.held_up",
        "gauge",
        "1",
        "the share of the last seconds in which the giver waited for the taker",
        lambda each: each.held_up_share,
    ),
    of_edges(
        "penstock.edge.idle",
        "gauge",
        "1",
        "the share of the last seconds in which the taker waited for the giver",
        lambda each: each.idle_share,
    ),
    of_pipeline(
        "penstock.lag",
        "gauge",
        "s",
        "seconds for which the oldest row waits that Spark is not done with",
        lambda status: status.point.lag,
    ),
    Metric(
        "penstock.latency",
        "gauge",
        "s",
        "seconds that rows took from the journal to the sinks",
        ("pipeline", "quantile"),
        latencies,
    ),
    of_pipeline(
        "penstock.batch.number",
        "gauge",
        "",
        "the number of the last batch with which Spark was done",
        lambda status: status.batch.number if status.batch else None,
    ),
    of_pipeline(
        "penstock.batch.rows",
        "gauge",
        "{row}",
        "the rows of that batch",
        lambda status: status.batch.rows if status.batch else None,
    ),
    of_pipeline(
        "penstock.batch.duration",
        "gauge",
        "s",
        "the seconds that it took",
        lambda status: status.batch.seconds if status.batch else None,
    ),
    Metric(
        "penstock.batch.phase",
        "gauge",
        "s",
        "where the time of the last batch went that Spark has reported of: look, plan, compute, "
        "deliver, commit",
        ("pipeline", "phase"),
        phases,
    ),
    of_pipeline(
        "penstock.watermark",
        "gauge",
        "s",
        "the event time before which rows are late for Spark, in seconds since 1970; absent "
        "without a watermark",
        lambda status: status.engine.watermark,
    ),
    of_pipeline(
        "penstock.checkpoint.age",
        "gauge",
        "s",
        "seconds since a batch was written down as done, also if there was nothing to do; absent "
        "before the first one of this run",
        lambda status: status.engine.checkpoint_age,
    ),
    of_processes(
        "penstock.process.cpu",
        "gauge",
        "{core}",
        "processors that were busy with this program, Spark's JVM or its Python workers in the "
        "last seconds; on Linux",
        lambda each: each.cores,
    ),
    of_processes(
        "penstock.process.memory",
        "gauge",
        "By",
        "the memory that they hold, what they share counted for each; on Linux",
        lambda each: each.memory,
    ),
    of_pipeline(
        "penstock.checkpoint.free",
        "gauge",
        "By",
        "what is left of the disk where the checkpoint is; absent if it is not on this machine",
        lambda status: status.machine.disk_free,
    ),
    of_states(
        "penstock.state_store.rows",
        "gauge",
        "{row}",
        "what an operator of Spark keeps from batch to batch: the entries in its store",
        lambda each: each.rows,
    ),
    of_states(
        "penstock.state_store.memory",
        "gauge",
        "By",
        "the memory that its stores take; what is on disk is not in it",
        lambda each: each.bytes,
    ),
    of_states(
        "penstock.state_store.late",
        "counter",
        "{row}",
        "rows that it has dropped, since they came after the watermark",
        lambda each: each.late,
    ),
    *map(of_word, WORDS),
    Metric(
        "penstock.ledger.causes",
        "counter",
        "{element}",
        "each number of the ledger that has causes, by the stage where they were counted",
        ("pipeline", "number", "stage"),
        causes,
    ),
)
