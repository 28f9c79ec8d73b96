"""What the gauges of a running pipeline show at one moment: data, of which all else is made."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from penstock.observe.conservation import Passage

__all__ = ["Batch", "Cause", "Edge", "Ledger", "LedgerLine", "Reading", "Signal", "Stage", "State"]

State = Literal["starting", "running", "draining", "completed", "stopped", "failed"]
Kind = Literal["source", "journal", "spark", "flow", "sink"]


@dataclass(frozen=True, slots=True)
class Signal:
    """An element as it passed a stage: when, in seconds since 1970, and its beginning as text."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Stage:
    """A part of the pipeline that has a pace of its own.

    ``passed``   elements that have left it; of a sink, those that it has taken
    ``detail``   how it is filled, or what it is at, in a few words
    ``trouble``  what keeps it from its work, in a sentence; empty while nothing does
    ``recent``   the last elements that passed, the newest last
    ``errors``   its last errors

    ``dead_letters``       elements that it has put aside, and the last of them
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


@dataclass(frozen=True, slots=True)
class Edge:
    """Where elements go from one stage to the next.

    ``in_flight``  given and not done with; at most ``capacity``, where there is a bound
    ``held_up``    whether the giver waits until the taker wants something
    ``idle``       whether the taker waits until the giver has something
    """

    giver: str
    taker: str
    requested: int
    delivered: int
    in_flight: int = 0
    capacity: int | None = None
    held_up: bool = False
    idle: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """The last batch with which Spark was done."""

    number: int
    rows: int
    seconds: float


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """Something that the books must say, such as a restart; ``at`` in seconds since 1970."""

    at: float
    text: str


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a number of the ledger is not 0, or not known.

    ``field``  the number
    ``count``  its part of that; ``None`` if nobody can tell
    ``place``  the stage where it was counted
    ``words``  what happened there
    """

    field: str
    count: int | None
    place: str
    words: str

    @property
    def figure(self) -> str:
        """How many."""
        return "not known" if self.count is None else f"{self.count:,}"


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was taken, and what became of it; ``words.py`` explains each number.

    Those that are ``None`` nobody can tell, and those that ``at_least`` names may be more.
    ``difference`` is what was taken and is in none of the terms, once nothing moves any more.
    ``lost``, ``duplicated``, ``possibly_duplicated`` and ``late`` are the sums of their ``causes``.
    """

    taken: int = 0
    delivered: int | None = 0
    filtered: int | None = None
    late: int | None = 0
    dead_letters: int = 0
    in_flight: int | None = 0
    replayed: int = 0
    recognised: int = 0
    lost: int | None = None
    duplicated: int | None = None
    possibly_duplicated: int | None = 0
    restarts: int = 0
    difference: int | None = None
    at_least: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    passages: tuple[Passage, ...] = ()
    lines: tuple[LedgerLine, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """All gauges at one moment.

    ``lag``         for how many seconds the oldest row waits that Spark is not done with
    ``latencies``   the seconds that rows took from the journal to the sinks, since the last reading
    ``checkpoint``  what the pipeline would go on from, in a few words; empty if it never does
    ``spark_page``  the address of Spark's own page, if it has one
    """

    state: State
    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...]
    batch: Batch | None = None
    lag: float | None = None
    latencies: tuple[float, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    checkpoint: str = ""
    errors: tuple[Signal, ...] = ()
    dead_letters: int = 0
    last_dead_letters: tuple[Signal, ...] = ()
    spark_page: str | None = None
