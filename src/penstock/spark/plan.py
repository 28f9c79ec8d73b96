"""A way through Spark as data: what goes in, what happens there, and where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol, TypeVar, get_args

from penstock.api import Publisher
from penstock.delivery import DataFrameSink, Epoch
from penstock.flow import Flow
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.stage import Replay
from penstock.flow.resume.planning import (
    CannotResume,
    CountedResumption,
    Resumption,
    resumed_at,
    resumption_of,
    source_of,
)
from penstock.runtime import shorten
from penstock.runtime.arguments import require_flag, require_text
from penstock.spark.ingest.schema import Schema
from penstock.spark.session.spark_session import SparkSettings
from penstock.spark.stream_input import DataFrameInput, StreamInput
from penstock.spark.workers.functions import FrameStage, SparkStage, applied

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.run import SparkRun

__all__ = [
    "BATCH_ROWS",
    "BatchListener",
    "CannotResume",
    "ResumeMode",
    "SparkInput",
    "SparkPlan",
    "Step",
    "joined",
    "new_plan",
    "require_replay",
    "require_resumable",
    "resume_mode",
    "united",
]

BATCH_ROWS: Final = 1 << 17
OutputMode = Literal["append", "update", "complete"]
T = TypeVar("T")


class ResumeMode(NamedTuple):
    """How a publisher goes on after a restart.

    ``resumption``  what keeps the position of each element, unless counting them is enough, or a
                    function finds it in them
    ``cannot``      why it could not, if nobody has said that it is to go on live
    """

    replay: Replay = "none"
    resumption: Resumption | None = None
    cannot: str = ""


LIVE: Final = ResumeMode()
NO_POSITIONS: Final = (
    "on_spark resumes by position only downstream of Flow.resumable(...), and needs position=, "
    "there or here: a function that gives the position of an element"
)


@dataclass(frozen=True)
class SparkInput:
    """A publisher whose elements go onto Spark.

    ``resume_mode``     how the publisher goes on after a restart
    ``position_of``  tells the position of an element, where the source itself does not
    ``on_dead_letter``    who gets elements that do not fit; without it, one of them ends the stream
    """

    publisher: Publisher[Any]
    schema: Schema
    max_rows: int
    max_bytes: int
    resume_mode: ResumeMode = LIVE
    position_of: Callable[[Any], object] | None = None
    on_dead_letter: Callable[[Any], object] | None = None

    @property
    def identity(self) -> str:
        """What a checkpoint has to have been made for."""
        return self.schema.ddl

    @property
    def replay(self) -> Replay:
        """How the publisher goes on; with "none" elements may be missing, or come twice."""
        return self.resume_mode.replay

    @property
    def has_positions(self) -> bool:
        """Whether what ``resumed`` gives are elements with their positions."""
        return self.resume_mode.resumption is not None

    @property
    def recorded_position_of(self) -> Callable[[Any], object] | None:
        """Tells the position of what ``resumed`` gives, if that is to be known."""
        return attrgetter("position") if self.has_positions else self.position_of

    @property
    def on_recorded(self) -> Callable[[Any], object] | None:
        """Is told up to which position elements are in the journal, if sources may want to know."""
        resumption = self.resume_mode.resumption
        return None if resumption is None else resumption.recorded

    @property
    def replays(self) -> bool:
        """Whether the first element after a restart is the one that was not all recorded."""
        resumption = self.resume_mode.resumption
        return self.replay != "none" and (resumption is None or resumption.in_order)

    @property
    def goes_on(self) -> bool:
        """Whether a source that has completed is asked again by the next run, which may find more.

        One that gives the same each time has no more, and one without a position would begin again.
        """
        resumption = self.resume_mode.resumption
        return self.replay == "position" and (resumption is None or not resumption.is_finite)

    @property
    def live(self) -> SparkInput:
        """The same where nothing is kept for a restart, and no position has to be known."""
        return replace(self, resume_mode=LIVE)

    def resumed(self, taken: int, position: object) -> Publisher[Any]:
        """What is to be read after a restart, given what the journal has taken."""
        if self.replay == "position" and taken and position is None:
            raise CannotResume(
                f"the checkpoint has {taken} elements, and not the position of the last one: they "
                'were recorded with another resume=, "none" or "from_start"; keep that, or name '
                "another checkpoint"
            )
        if self.resume_mode.resumption is not None:
            return self.resume_mode.resumption.positioned(position)
        if self.replay == "from_start" and taken:
            return Flow.from_publisher(self.publisher).skip(taken)
        if self.replay == "position" and isinstance(self.publisher, BaseFlow):
            return resumed_at(self.publisher, position)
        return self.publisher


def resume_mode(
    publisher: Publisher[Any], resume: Replay | None, position_of: Callable[[Any], object] | None
) -> ResumeMode:
    """How ``publisher`` goes on, as it declares or as ``resume`` has it."""
    if resume == "none":
        return LIVE
    source = None if resume == "from_start" else source_of(publisher)
    if source is not None and source.paired is not None:
        source = None  # it knows its positions, and has no need to be told
    if source is not None and position_of is None is source.position_of:
        raise ValueError(NO_POSITIONS)
    try:
        if source is not None and position_of is not None and isinstance(publisher, BaseFlow):
            resumed_at(publisher, None)
            return ResumeMode("position")
        resumption = resumption_of(publisher, repeatable=resume == "from_start")
    except CannotResume as error:
        if resume == "position":
            raise
        return ResumeMode(cannot=str(error))
    if not isinstance(resumption, CountedResumption):
        return ResumeMode("position", resumption)
    if resume == "position":
        raise ValueError(NO_POSITIONS)
    return ResumeMode("from_start")


def require_resumable(plan: SparkPlan) -> None:
    """Refuse a pipeline that is to go on after a restart, with a source that cannot."""
    if plan.checkpoint is None:
        return
    for number, each in enumerate(plan.inputs, 1):
        if isinstance(each, SparkInput) and each.resume_mode.cannot:
            which = f"input {number} of " if len(plan.inputs) > 1 else ""
            raise CannotResume(
                f"{which}the pipeline {plan.name!r} has a checkpoint and could not go on from "
                f"it: {each.resume_mode.cannot}"
            )


Step = Callable[[Sequence["DataFrame"]], "DataFrame"]


class BatchListener(Protocol):
    """Told where the batches of a run begin and end. What it raises ends the run.

    ``check``, ``open`` and ``close`` come on the thread of the run, the others on that of Spark's
    call.
    """

    def check(self, epoch: Epoch | None) -> None:
        """Refuse what ``open`` would refuse, as far as that is seen without touching anything."""

    def open(self, epoch: Epoch | None) -> None:
        """The journals are open and whole, and nothing was taken from a source yet.

        ``epoch`` is that of the checkpoint, if there is one.
        """

    def begin(self, batch: int) -> None:
        """The rows of the batch follow, from the first one; what came of it before is void."""

    def commit(self, batch: int) -> None:
        """All its rows were delivered; Spark takes it for done when this returns."""

    def close(self) -> None:
        """No batch is under way, and none will come."""


@dataclass(frozen=True)
class SparkPlan:
    """All that a run needs to know.

    ``inputs``  go through journals, or are read by Spark itself
    ``until_end``  whether it completes when all is through that was there at the start
    ``first``   makes one stream of those of the inputs
    ``stages``  what happens to that stream
    ``watch``   is told of each run when its journals are open
    ``batches`` is told where its batches begin and end
    ``accept_state_change``  whether state may be read by a query that gives it another meaning
    ``accept_lost_batches``  whether a sink may lack batches that it has had
    ``sinks``   get the DataFrame of each batch, before its rows come back
    ``ticks``   whether Spark runs batches by the clock as well, also when there is no row
    """

    name: str
    inputs: tuple[SparkInput | StreamInput, ...]
    settings: SparkSettings
    checkpoint: str | None
    batch_rows: int
    output_mode: OutputMode
    first: Step | None = None
    stages: tuple[SparkStage, ...] = ()
    watch: Callable[[SparkRun], object] | None = None
    batches: BatchListener | None = None
    accept_state_change: bool = False
    accept_lost_batches: bool = False
    sinks: tuple[DataFrameSink, ...] = ()
    until_end: bool = False
    ticks: bool = False

    @property
    def journaled(self) -> tuple[SparkInput, ...]:
        """The inputs that go through journals, each of which has the next number."""
        return tuple(each for each in self.inputs if isinstance(each, SparkInput))

    @property
    def streams(self) -> tuple[StreamInput, ...]:
        """The inputs that Spark reads itself."""
        return tuple(each for each in self.inputs if isinstance(each, StreamInput))

    @property
    def operator(self) -> str:
        """What the beginning is called in errors and pictures."""
        first = self.inputs[0]
        return first.operator if isinstance(first, StreamInput) else "on_spark"

    @property
    def identities(self) -> list[str]:
        """What a checkpoint has to have been made for."""
        return [each.identity for each in self.inputs]

    @property
    def keeps_sequence(self) -> bool:
        """Whether rows come out in the order in which they went in, also if they come again."""
        in_order = self.first is None and not self.streams  # which may have any order
        return in_order and not any(isinstance(each, FrameStage) for each in self.stages)

    def epoch_known_to(self, sink: DataFrameSink, epoch: Epoch) -> Epoch:
        """The epoch for a sink that Spark serves, with the batch that it must have."""
        if self.accept_lost_batches or not sink.marks_every_batch:
            return epoch
        return epoch.for_sink(epoch.starts[-1].planned - 1)  # the last one may not be done

    def transform(self, frames: Sequence[DataFrame]) -> DataFrame:
        """From the streams of the inputs to what comes out."""
        frame = frames[0] if self.first is None else self.first(frames)
        return applied(self.stages, frame)


def new_plan(
    given: SparkInput | StreamInput,
    settings: SparkSettings,
    name: Any,
    checkpoint: str | Path | None,
    output_mode: Any,
    *,
    accept_state_change: Any,
) -> SparkPlan:
    """A plan that begins with one input, from what a user has given."""
    plan = SparkPlan("", (given,), settings, None, BATCH_ROWS, require_output_mode(output_mode))
    operator = plan.operator
    return replace(
        plan,
        name=require_text(operator, "name", name),
        checkpoint=None if checkpoint is None else str(checkpoint),
        accept_state_change=require_flag(operator, "accept_state_change", accept_state_change),
    )


def joined(left: SparkPlan, right: SparkPlan, on: Any, how: str) -> SparkPlan:
    """One stream of two."""

    def join(frames: Sequence[DataFrame]) -> DataFrame:
        middle = len(left.inputs)
        return left.transform(frames[:middle]).join(right.transform(frames[middle:]), on, how)

    return combined([left, right], join)


def united(plans: Sequence[SparkPlan]) -> SparkPlan:
    """One stream of several that have the same columns."""

    def unite(frames: Sequence[DataFrame]) -> DataFrame:
        rest = iter(frames)
        streams = [each.transform([next(rest) for _ in each.inputs]) for each in plans]
        return reduce(lambda left, right: left.unionByName(right), streams)

    return combined(plans, unite)


def combined(plans: Sequence[SparkPlan], first: Step) -> SparkPlan:
    """The first plan with the inputs of all, of which ``first`` makes one stream."""
    if len({plan.until_end for plan in plans}) > 1:
        raise ValueError(
            "some of the streams end with what is there now, and others never do: give until_end "
            "to each from_stream that is joined or united, or to none; on_spark has no such end"
        )
    journaled = (plan.batch_rows for plan in plans if plan.journaled)
    plan = replace(
        plans[0],
        inputs=tuple(each for plan in plans for each in plan.inputs),
        settings=common_settings(plans),
        batch_rows=next(journaled, plans[0].batch_rows),
        first=first,
        stages=(),
        ticks=any(each.ticks for each in plans),
    )
    require_resumable(plan)
    return plan


def common_settings(plans: Sequence[SparkPlan]) -> SparkSettings:
    """Where Spark runs: a stream that it reads itself belongs to the session that made it."""
    of_streams = [
        plan.settings
        for plan in plans
        if any(isinstance(each, DataFrameInput) for each in plan.inputs)
    ]
    if not of_streams:
        return plans[0].settings
    session, unsaid = of_streams[0].session, (None, SparkSettings().remote)
    for each in (plan.settings for plan in plans):
        if each.master or each.remote not in unsaid or each.session not in (None, session):
            raise ValueError(
                "a DataFrame that is a stream can be joined or united with what runs in its own "
                "session only: give on_spark session=dataframe.sparkSession, or neither master nor "
                "remote nor session"
            )
    return of_streams[0]


def require_output_mode(given: Any) -> OutputMode:
    """One of Spark's output modes."""
    return _require_one_of("output_mode", given, get_args(OutputMode))


def require_replay(given: Any) -> Replay:
    """One of the ways to go on after a restart."""
    return _require_one_of("resume", given, get_args(Replay))


def _require_one_of(name: str, given: T, allowed: tuple[Any, ...]) -> T:
    if given not in allowed:
        raise ValueError(f"{name} is one of {', '.join(allowed)}, not {shorten(given)}")
    return given
