"""The status of a running pipeline at one moment: the same for terminal, page and metrics.

A run says what its meters show; the observer, who knows the moments before, adds the pace.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from penstock.api import UNBOUNDED
from penstock.observe.ledger import Ledger, entries, equation
from penstock.observe.units import Unit

__all__ = [
    "BatchStatus",
    "EdgeStatus",
    "EngineStatus",
    "FlowSegments",
    "MachineStatus",
    "PastRun",
    "Point",
    "ProcessUse",
    "SampleRow",
    "Signal",
    "StageStatus",
    "State",
    "StateSize",
    "Status",
    "Units",
]

State = Literal["starting", "running", "draining", "completed", "stopped", "failed"]
Kind = Literal["source", "journal", "spark", "flow", "sink"]


@dataclass(frozen=True, slots=True)
class Signal:
    """An element as it passed a stage: when, in seconds since 1970, and its beginning as text."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class SampleRow:
    """A row as it passed an edge: when, in seconds since 1970, and its values as text.

    ``fields``  each name with the beginning of its value; what has no fields is one without a name
    ``more``    the fields that are left out
    """

    at: float
    fields: tuple[tuple[str, str], ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class StageStatus:
    """A part of the pipeline that has a pace of its own.

    ``passed``   elements that have left it; of a sink, those that it has taken
    ``detail``   how it is filled, or what it is doing, in a few words
    ``trouble``  what keeps it from its work, in a sentence; empty while nothing does
    ``recent``   the last elements that passed, the newest last
    ``errors``   its last errors
    ``rate``     elements a second, by the observer
    ``slowest``  whether it is the one for which the others wait, by the observer

    ``still_for``          seconds since the last element passed, or the start, by the observer

    ``dead_letters``       elements that it has put aside, and the last of them
    ``unit``               what it counts; ``elements`` may be anything
    """

    name: str
    kind: Kind
    passed: int
    detail: str = ""
    trouble: str = ""
    recent: tuple[Signal, ...] = ()
    errors: tuple[Signal, ...] = ()
    dead_letters: int = 0
    last_dead_letters: tuple[Signal, ...] = ()
    rate: float = 0.0
    slowest: bool = False
    still_for: float = 0.0
    unit: Unit = "elements"


@dataclass(frozen=True, slots=True)
class EdgeStatus:
    """Where elements go from one stage to the next.

    ``in_flight``  given and not done with; at most ``capacity``, where there is a bound
    ``held_up``    whether the giver waits until the taker wants something
    ``idle``       whether the taker waits until the giver has something
    ``sample``     the last rows that passed, the newest last; none where nobody here sees them
    ``unit``       what it counts

    The observer adds the rate, and the shares of the last seconds in which either had to wait.
    """

    giver: str
    taker: str
    requested: int
    delivered: int
    in_flight: int = 0
    capacity: int | None = None
    held_up: bool = False
    idle: bool = False
    sample: tuple[SampleRow, ...] = ()
    rate: float = 0.0
    held_up_share: float = 0.0
    idle_share: float = 0.0
    unit: Unit = "elements"


@dataclass(frozen=True, slots=True)
class Units:
    """What the sums of a status count; empty where all count the same.

    ``taken``    what comes from the sources
    ``given``    what goes to the sinks
    ``between``  what is asked for and on its way: rows, where some edges count these
    """

    taken: Unit = ""
    given: Unit = ""
    between: Unit = ""

    def __bool__(self) -> bool:
        return bool(self.taken or self.given or self.between)


@dataclass(frozen=True, slots=True)
class BatchStatus:
    """The last batch that Spark has finished; ``seconds`` are ``None`` until Spark says them."""

    number: int
    rows: int
    seconds: float | None


@dataclass(frozen=True, slots=True)
class StateSize:
    """What an operator of Spark keeps from batch to batch, as of the last one.

    ``rows``   the entries in its store: keys, and what else it has to find again, such as timers
    ``bytes``  the memory that its stores take; what is on disk is not in it
    ``late``   rows that it has dropped since the start, since they came after the watermark
    """

    operator: str
    rows: int
    bytes: int
    late: int = 0


@dataclass(frozen=True, slots=True)
class FlowSegments:
    """A flow of the pipeline, by its segments: the operators of one run together.

    ``flow``  where in the pipeline it is
    """

    flow: str
    segments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Inside the engine.

    ``watermark``       the event time before which rows are late for Spark, in seconds since 1970
    ``phases``          where the time of the last batch went that Spark has reported of: names and
                        seconds, in their order; ``phases_of`` is its number
    ``checkpoint_age``  for how many seconds no batch was written down as done, in this run
    ``flows``           the flows between sources and sinks
    """

    watermark: float | None = None
    phases: tuple[tuple[str, float], ...] = ()
    phases_of: int | None = None
    checkpoint_age: float | None = None
    flows: tuple[FlowSegments, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What processes of one kind take together.

    ``cores``   processors that were busy with them since the last look; ``None`` at the first one
    ``memory``  bytes, what they share counted for each
    """

    name: str
    processes: int
    cores: float | None
    memory: int


@dataclass(frozen=True, slots=True)
class MachineStatus:
    """What the run takes of its machine.

    ``cores``      processors that the machine has
    ``disk_free``  bytes that are left where the checkpoint is, of ``disk_total``; ``None`` if it is
                   not on this machine
    ``note``       what is not known here, in a sentence
    """

    processes: tuple[ProcessUse, ...] = ()
    cores: int | None = None
    disk_free: int | None = None
    disk_total: int | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class PastRun:
    """A run of this pipeline, as its checkpoint has it.

    ``began``    in seconds since 1970
    ``seconds``  how long it took; of one that was killed, as far as it was seen
    ``state``    how it ended: ``completed``, ``stopped``, ``failed``, ``killed``; or ``running``

    The figures are what it did itself; ``None`` where nobody knows.
    """

    began: float
    seconds: float
    state: str
    taken: int | None = None
    delivered: int | None = None
    dead_letters: int | None = None
    lost: int | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class Point:
    """What the charts have of one moment; ``at`` in seconds since 1970."""

    at: float = 0.0
    rate_in: float = 0.0
    rate_out: float = 0.0
    demand: int = 0
    in_flight: int = 0
    p50: float | None = None
    p99: float | None = None
    lag: float | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """All of it at one moment.

    ``edges``       in the order in which an element meets them
    ``lag``         for how many seconds the oldest row waits that Spark has not finished
    ``latencies``   the seconds that rows took from the journal to the sinks, since the last status
    ``checkpoint``  what the pipeline would go on from, in a few words; empty if it never does
    ``kept``        the state of each operator that has some
    ``runs``        the last runs with this checkpoint, this one included, the newest last
    ``machine``     what the run takes of its machine
    ``engine``      what else is known of what lies between sources and sinks
    ``spark_page``  the address of Spark's own page, if it has one
    ``samples``     whether elements may be shown

    The observer adds ``pipeline``, ``seconds`` since it began, ``state_for``, those since it is in
    this state, the ``situation`` and a ``sentence`` about it, the ``point`` of the charts, and the
    ``units`` of what they show.
    """

    state: State
    stages: tuple[StageStatus, ...]
    edges: tuple[EdgeStatus, ...]
    batch: BatchStatus | None = None
    lag: float | None = None
    latencies: tuple[float, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    checkpoint: str = ""
    errors: tuple[Signal, ...] = ()
    dead_letters: int = 0
    last_dead_letters: tuple[Signal, ...] = ()
    kept: tuple[StateSize, ...] = ()
    engine: EngineStatus = field(default_factory=EngineStatus)
    runs: tuple[PastRun, ...] = ()
    machine: MachineStatus = field(default_factory=MachineStatus)
    spark_page: str | None = None
    samples: bool = True
    pipeline: str = ""
    seconds: float = 0.0
    state_for: float | None = None
    situation: str = ""
    sentence: str = ""
    point: Point = field(default_factory=Point)
    units: Units = field(default_factory=Units)

    def _repr_html_(self) -> str:
        from penstock.observe.notebook import drawn_status

        return drawn_status(self)

    def without_samples(self) -> Status:
        """The same without any element that has passed, or was put aside."""
        stages = (replace(each, recent=(), last_dead_letters=()) for each in self.stages)
        return replace(
            self,
            stages=tuple(stages),
            edges=tuple(replace(each, sample=()) for each in self.edges),
            last_dead_letters=(),
            samples=False,
        )

    def as_json(self) -> dict[str, Any]:
        """Plain data: numbers, texts, lists. Demand without a bound is ``null``."""
        data = asdict(self)
        del data["lag"], data["latencies"]  # the point has both, and the latencies in short
        data["ledger"]["entries"] = [each._asdict() for each in entries(self.ledger)]
        data["ledger"]["equation"] = equation(self.ledger)
        for edge in data["edges"]:
            if edge["requested"] >= UNBOUNDED:
                edge["requested"] = None
        return data
