"""What moves elements from sources to sinks, with or without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import is_
from typing import Any, Final, Literal, Protocol

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow, stages_of
from penstock.flow.operators.backpressure import LimitRate
from penstock.flow.operators.threads import PublishOn, SubscribeOn
from penstock.observe.ledger import Cause, Conservation, Ledger, Passage, difference
from penstock.observe.meters import SinkMeter, SourceMeter
from penstock.observe.samples import sampled
from penstock.observe.status import EdgeStatus, EngineStatus, StageStatus, State, Status
from penstock.observe.units import Unit, common_unit
from penstock.pipeline.assembly import Assembly, StopSignal
from penstock.pipeline.inner_flows import inner_flows
from penstock.pipeline.sinks import SinkBatches

__all__ = [
    "Engine",
    "LocalEngine",
    "Phase",
    "gives_one_for_each",
]

BOUNDARIES: Final = (PublishOn, SubscribeOn, LimitRate)
"""Origins that only take over what the flow upstream of them gives."""


def gives_one_for_each(flow: Publisher[Any], entrance: Publisher[Any]) -> bool:
    """Whether ``flow`` is known to give one element for each that ``entrance`` gives."""
    if flow is entrance:
        return True
    if not (isinstance(flow, BaseFlow) and isinstance(entrance, BaseFlow)):
        return False
    origin, stages = flow.plan.origin, stages_of(flow)
    if origin is entrance.plan.origin:
        before = stages_of(entrance)
        shared, after = stages[: len(before)], stages[len(before) :]
        is_downstream = len(shared) == len(before) and all(map(is_, shared, before))
        return is_downstream and all(stage.one_to_one for stage in after)
    return (
        isinstance(origin, BOUNDARIES)
        and all(stage.one_to_one for stage in stages)
        and gives_one_for_each(origin.upstream, entrance)
    )


Phase = Literal["running", "completed", "broken"]
"""Whether elements move, all of them came through, or the end came before that."""
UNREADABLE: Final = "could not be read from the source any more"
GIVEN_TWICE: Final = "came again and was not recognised"


class Engine(Protocol):
    """From the sources to the sinks."""

    @property
    def flow(self) -> Publisher[Any]:
        """What the sinks are subscribed to."""

    @property
    def checkpoint_place(self) -> str | None:
        """Where its checkpoint is, if it has one."""

    def require_own_checkpoint(self) -> None:
        """Refuse the checkpoint of another pipeline, or one that it could not go on from."""

    def open_sinks(self) -> None:
        """The pipeline is about to start."""

    def close_sinks(self) -> None:
        """It has ended before all came through."""

    def watch_sinks(self, sinks: Sequence[SinkMeter]) -> None:
        """These are the sinks to which it leads."""

    def drain(self) -> None:
        """Take nothing more from the sources; what was taken still comes through."""

    def status(self, sinks: Sequence[SinkMeter], phase: Phase) -> Status:
        """What it does now."""

    def log_end(
        self, state: State, error: Exception | None, sinks: Sequence[SinkMeter], phase: Phase
    ) -> None:
        """The run has ended: write that down, if there is a place for it."""


class LocalEngine:
    """A flow in this program: each source leads to each sink."""

    def __init__(self, assembly: Assembly, stopping: StopSignal, batches: SinkBatches) -> None:
        self.flow = assembly.flow
        self._batches = batches
        self._sources = assembly.sources
        self._stopping = stopping
        self._conservation = Conservation()
        self._inside = EngineStatus(flows=tuple(inner_flows("from sources to sinks", self.flow)))
        self._is_level = all(
            gives_one_for_each(assembly.flow, entrance) for entrance in assembly.entrances.values()
        )

    checkpoint_place = None

    def require_own_checkpoint(self) -> None:
        """It has no checkpoint."""

    def open_sinks(self) -> None:
        """There is nothing else that could keep it from starting."""
        self._batches.open(None)

    def close_sinks(self) -> None:
        """Let go of files and connections; when all came through, each sink was closed."""
        self._batches.close()

    def watch_sinks(self, sinks: Sequence[SinkMeter]) -> None:
        """Their own gauges say all that there is."""

    def log_end(
        self, state: State, error: Exception | None, sinks: Sequence[SinkMeter], phase: Phase
    ) -> None:
        """Runs are kept with a checkpoint."""

    def drain(self) -> None:
        """Let the sources complete."""
        self._stopping.now()

    def status(self, sinks: Sequence[SinkMeter], phase: Phase) -> Status:
        """Demand is that of the sinks, all the way."""
        return Status(
            state="running",
            stages=tuple(stage_of(source) for source in self._sources.values()),
            edges=tuple(
                edge_to(sink, source, held_up=not sink.wants, idle=sink.wants)
                for source in self._sources
                for sink in sinks
            ),
            ledger=self._ledger(sinks, phase),
            engine=self._inside,
        )

    def _ledger(self, sinks: Sequence[SinkMeter], phase: Phase) -> Ledger:
        """Without Spark nothing is replayed, dropped as late or put aside."""
        passages = tuple(self._passages(sinks, phase))
        missing = self._conservation.missing(passages, settled=phase != "running")
        taken = sum(source.passed for source in self._sources.values())
        given = at_all([(sink, sink.taken) for sink in sinks])
        in_flight = max(each.held for each in passages) if passages else None
        filtered = 0 if self._is_level else None
        terms = (given, filtered, in_flight)
        causes = [*lost_at(self._sources.values()), *causes_of(missing or ())]
        ledger = Ledger(
            taken=taken,
            delivered=at_all([(sink, sink.rows) for sink in sinks]),
            filtered=filtered,
            in_flight=in_flight,
            lost=None if missing is None else sum_of(causes),
            duplicated=sum(sink.duplicated or 0 for sink in sinks),
            recognised=sum(sink.recognised for sink in sinks),
            difference=difference(taken, terms, settled=phase != "running"),
            at_least=("lost",) if is_unsure(causes) else (),
            causes=(*causes, *duplicated_at(sinks)),
            passages=passages,
        )
        unit = common_unit(source.unit for source in self._sources.values())
        if "batches" not in (unit, *(sink.unit for sink in sinks)):
            return ledger
        return ledger.in_units(unit, in_flight=unit)

    def _passages(self, sinks: Sequence[SinkMeter], phase: Phase) -> Iterator[Passage]:
        """From the source to each sink, if nothing between them changes the number of elements."""
        if self._is_level:
            (source,) = self._sources.values()
            for sink in sinks:
                if not sink.gone:
                    yield passage_to(sink, source.name, source.passed, is_over=phase != "running")


def passage_to(sink: SinkMeter, giver: str, entered: int, *, is_over: bool) -> Passage:
    """The way to a sink; until it is over, what is not there yet may still come."""
    taken = sink.taken
    held = 0 if is_over else max(entered - taken, 0)
    return Passage(giver, sink.name, entered, taken, held, unit=said(sink.unit))


def said(unit: Unit) -> Unit:
    """A unit where it has to be said: an element that is no batch is taken for a row."""
    return unit if unit == "batches" else ""


def lost_at(sources: Iterable[SourceMeter]) -> Iterator[Cause]:
    """What sources say that they could not read any more, or cannot tell."""
    for source in sources:
        if source.lost != 0:
            yield Cause("lost", source.lost, source.name, UNREADABLE)


def is_unsure(causes: Iterable[Cause]) -> bool:
    """Whether one of them says that nobody knows."""
    return any(each.count is None for each in causes)


def sum_of(causes: Sequence[Cause]) -> int | None:
    """How many in all, as far as that is known; ``None`` if nothing is."""
    return sum(each.count or 0 for each in causes) or (None if is_unsure(causes) else 0)


def at_all(given: Sequence[tuple[SinkMeter, int]]) -> int | None:
    """What every sink was given; one that wants no more does not count, unless all are gone.

    ``None`` if there is none: those that Spark serves say nothing.
    """
    wanting = [count for sink, count in given if not sink.gone]
    return min(wanting) if wanting else max((count for _, count in given), default=None)


def causes_of(missing: Iterable[tuple[Passage, int]]) -> Iterator[Cause]:
    """What is lost, and where."""
    return (
        Cause("lost", count, passage.taker, passage.words, passage.unit)
        for passage, count in missing
        if count
    )


def duplicated_at(sinks: Sequence[SinkMeter]) -> Iterator[Cause]:
    """Rows of which sinks say that they have them twice."""
    for sink in sinks:
        if sink.duplicated:
            yield Cause("duplicated", sink.duplicated, sink.name, GIVEN_TWICE)


def stage_of(source: SourceMeter) -> StageStatus:
    """A source as a stage."""
    return StageStatus(
        source.name,
        "source",
        source.passed,
        trouble=source.trouble,
        recent=source.recent.signals(),
        errors=source.errors.signals(),
        unit=source.unit,
    )


def edge_to(sink: SinkMeter, giver: str, *, held_up: bool, idle: bool) -> EdgeStatus:
    """The edge upstream of a sink."""
    return EdgeStatus(
        giver,
        sink.name,
        sink.requested,
        sink.taken,
        sink.given - sink.taken,
        sink.capacity,
        held_up=held_up,
        idle=idle,
        sample=sampled(sink.recent.last),
        unit=sink.unit,
    )
