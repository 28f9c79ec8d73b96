"""A pipeline whose gauges a test sets: two sources, a journal, Spark, two sinks."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from time import time

from penstock.observe import (
    BatchStatus,
    Cause,
    EdgeStatus,
    EngineStatus,
    FlowSegments,
    Ledger,
    LedgerLine,
    MachineStatus,
    Observer,
    Passage,
    PastRun,
    ProcessUse,
    SampleRow,
    Signal,
    StageStatus,
    StateSize,
    Status,
)
from penstock.observe.status import Kind, State
from penstock.runtime import VirtualTime

TOKEN = "a-token-for-tests"
STAGES: dict[str, Kind] = {
    "departures": "source",
    "weather": "source",
    "journal": "journal",
    "spark": "spark",
    "board": "sink",
    "phone": "sink",
}
EDGES = [
    ("departures", "journal"),
    ("weather", "journal"),
    ("journal", "spark"),
    ("spark", "board"),
    ("spark", "phone"),
]


MACHINE = MachineStatus(
    (
        ProcessUse("this program", 1, 0.42, 212_000_000),
        ProcessUse("Spark's JVM", 1, 1.07, 1_400_000_000),
        ProcessUse("Python workers", 3, None, 310_000_000),
    ),
    cores=2,
    disk_free=8_100_000_000,
    disk_total=50_000_000_000,
)


@dataclass
class DrivenPipeline:
    """``slow`` is the stage for which all before it wait; each look finds more elements passed.

    ``batches``  whether these elements are Arrow batches, at sources and sinks
    """

    slow: str = "phone"
    state: State = "running"
    element: str = "JFK 11 min late"
    trouble: str = ""
    errors: tuple[Signal, ...] = ()
    dead_letters: int = 0
    spark_page: str | None = None
    lost: int | None = 0
    late: int | None = 0
    possibly_duplicated: int = 0
    checkpoint: str = ""
    passages: tuple[Passage, ...] = ()
    more_sinks: tuple[str, ...] = ()
    samples: bool = True
    runs: tuple[PastRun, ...] = ()
    machine: MachineStatus = MACHINE
    batches: bool = False
    looks: int = 0
    time: VirtualTime = field(default_factory=VirtualTime)

    def observer(self, pipeline: str = "blizzard") -> Observer:
        """One that looks when the test says so."""
        return Observer(pipeline, self.read, clock=self.time)

    def pass_time(self, observer: Observer, looks: int = 20) -> None:
        """Look often enough that what was before is forgotten."""
        for _ in range(looks):
            self.time.advance(0.25)
            observer.sample()

    def read(self) -> Status:
        """The gauges now."""
        self.looks += 1
        status = in_batches(self.status()) if self.batches else self.status()
        return status if self.samples else status.without_samples()

    def status(self) -> Status:
        """With all that has passed."""
        return Status(
            state=self.state,
            stages=tuple(self.stage(name, kind) for name, kind in self.kinds.items()),
            edges=tuple(self.edge(giver, taker) for giver, taker in self.ways),
            batch=BatchStatus(number=self.looks, rows=24, seconds=0.4),
            lag=3.2,
            latencies=(0.2, 0.9),
            ledger=Ledger(
                taken=self.passed,
                delivered=self.passed,
                replayed=56,
                lost=self.lost,
                duplicated=self.lost,
                late=self.late,
                dead_letters=self.dead_letters,
                possibly_duplicated=self.possibly_duplicated,
                restarts=1,
                causes=self.causes,
                passages=self.passages,
                lines=(LedgerLine(time(), "restarted; replayed 1,204..1,260"),),
            ),
            kept=(StateSize("dropDuplicates", self.passed, 2_345_678, self.late or 0),),
            engine=EngineStatus(
                watermark=1_767_226_089.0,
                phases=(
                    ("look", 0.017),
                    ("plan", 0.053),
                    ("compute", 0.25),
                    ("deliver", 0.06),
                    ("commit", 0.02),
                ),
                phases_of=self.looks,
                checkpoint_age=1.4,
                flows=(
                    FlowSegments("into journal", ("from_websocket", "map filter", "source")),
                    FlowSegments("on spark", ("map", "sql")),
                    FlowSegments("from spark to sinks", ("on_spark",)),
                ),
            ),
            runs=self.runs,
            machine=self.machine,
            checkpoint=self.checkpoint,
            errors=self.errors,
            dead_letters=self.dead_letters,
            last_dead_letters=self.errors,
            spark_page=self.spark_page,
        )

    @property
    def causes(self) -> tuple[Cause, ...]:
        found = [
            Cause("lost", self.lost, "journal", "left departures and never reached journal"),
            Cause("late", self.late, "spark", "came too late for aggregation"),
            Cause("possibly_duplicated", self.possibly_duplicated, "phone", "was given them again"),
        ]
        return tuple(each for each in found if each.count)

    @property
    def passed(self) -> int:
        return self.looks * 15

    @property
    def sample(self) -> tuple[SampleRow, ...]:
        fields = (("flight", self.element), ("card", "***"))
        return tuple(SampleRow(time(), fields, more=number) for number in range(2))

    @property
    def kinds(self) -> dict[str, Kind]:
        sinks: dict[str, Kind] = dict.fromkeys(self.more_sinks, "sink")
        return {**STAGES, **sinks}

    @property
    def ways(self) -> list[tuple[str, str]]:
        return [*EDGES, *(("spark", sink) for sink in self.more_sinks)]

    def stage(self, name: str, kind: Kind) -> StageStatus:
        return StageStatus(
            name,
            kind,
            passed=self.passed,
            detail=f"detail of {name}",
            trouble=self.trouble if name == self.slow else "",
            recent=(Signal(time(), self.element),),
            errors=self.errors if name == self.slow else (),
            dead_letters=self.dead_letters if kind == "journal" else 0,
            last_dead_letters=self.errors if kind == "journal" else (),
        )

    def edge(self, giver: str, taker: str) -> EdgeStatus:
        return EdgeStatus(
            giver,
            taker,
            requested=self.passed + 256,
            delivered=self.passed,
            in_flight=12,
            capacity=256,
            held_up=taker == self.slow,
            sample=self.sample if giver != "journal" else (),
        )


def in_batches(status: Status) -> Status:
    """The same where elements are Arrow batches, and rows within Spark."""
    inner = ("journal", "spark")
    return replace(
        status,
        stages=tuple(
            replace(each, unit="rows" if each.name in inner else "batches")
            for each in status.stages
        ),
        edges=tuple(
            replace(each, unit="rows" if each.giver == "journal" else "batches")
            for each in status.edges
        ),
        ledger=status.ledger.in_units("batches"),
    )
