"""A way through Spark as data: what goes in, what happens there, and where it is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args

from penstock.api import Publisher
from penstock.delivery import Epoch
from penstock.demand import shorten
from penstock.flow import Flow
from penstock.flow.fluent import Fluent, with_origin
from penstock.flow.sources.resumable import Resumable
from penstock.flow.stage import Replay
from penstock.spark.schema import Schema
from penstock.spark.session import SparkSettings
from penstock.spark.stages import FrameStage, SparkStage, applied

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from penstock.spark.run import Run

__all__ = [
    "BatchListener",
    "Input",
    "Pipeline",
    "joined",
    "replay_of",
    "require_output_mode",
    "require_replay",
]

OutputMode = Literal["append", "update", "complete"]
T = TypeVar("T")


@dataclass(frozen=True)
class Input:
    """A publisher whose elements go onto Spark.

    ``replay``       how the publisher goes on after a restart
    ``position_of``  what it needs to do so, of an element
    ``on_misfit``    who gets elements that do not fit; without it, one of them ends the stream
    """

    publisher: Publisher[Any]
    schema: Schema
    max_rows: int
    max_bytes: int
    replay: Replay = "none"
    position_of: Callable[[Any], object] | None = None
    on_misfit: Callable[[Any], object] | None = None

    def resumed(self, taken: int, position: object) -> Publisher[Any]:
        """What is to be read after a restart, given what the journal has taken."""
        if self.replay == "from_start" and taken:
            return Flow.from_publisher(self.publisher).skip(taken)
        if self.replay == "position" and isinstance(self.publisher, Fluent):
            return resumed_at(self.publisher, position)
        return self.publisher


def resumed_at(flow: Fluent[Any], position: object) -> Publisher[Any]:
    """``flow`` with a source that goes on behind ``position``, also if boundaries lie between."""
    origin: Any = flow.plan.origin
    if isinstance(origin, Resumable):
        return with_origin(flow, origin.at(position))
    moved = copy(origin)
    moved.upstream = resumed_at(origin.upstream, position)
    return with_origin(flow, moved)


def replay_of(publisher: Publisher[Any]) -> Replay:
    """How a publisher goes on after a restart, as it declares."""
    while isinstance(publisher, Fluent):
        origin = publisher.plan.origin
        upstream = getattr(origin, "upstream", None)
        if upstream is None:
            return origin.replay
        publisher = upstream
    return "none"


Step = Callable[[Sequence["DataFrame"]], "DataFrame"]


class BatchListener(Protocol):
    """Told where the batches of a run begin and end. What it raises ends the run.

    ``open`` and ``close`` come on the thread of the run, the others on that of Spark's call.
    """

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
class Pipeline:
    """All that a run needs to know.

    ``first``   makes one stream of those of the inputs
    ``stages``  what happens to that stream
    ``watch``   is told of each run when its journals are open
    ``batches`` is told where its batches begin and end
    """

    name: str
    inputs: tuple[Input, ...]
    settings: SparkSettings
    checkpoint: str | None
    batch_rows: int
    output_mode: OutputMode
    first: Step | None = None
    stages: tuple[SparkStage, ...] = ()
    watch: Callable[[Run], object] | None = None
    batches: BatchListener | None = None

    @property
    def keeps_sequence(self) -> bool:
        """Whether rows come out in the sequence in which they went in."""
        return self.first is None and not any(isinstance(each, FrameStage) for each in self.stages)

    def transform(self, frames: Sequence[DataFrame]) -> DataFrame:
        """From the streams of the inputs to what comes out."""
        frame = frames[0] if self.first is None else self.first(frames)
        return applied(self.stages, frame)


def joined(left: Pipeline, right: Pipeline, on: Any, how: str) -> Step:
    """One stream of two."""

    def join(frames: Sequence[DataFrame]) -> DataFrame:
        middle = len(left.inputs)
        return left.transform(frames[:middle]).join(right.transform(frames[middle:]), on, how)

    return join


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
