"""How a flow goes on after a restart, found by looking at what it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow, extended, rewritten, stages_of
from penstock.flow.engine.plan import AnyStage
from penstock.flow.engine.stage import FlowNode, Origin
from penstock.flow.operators.combining import Zip
from penstock.flow.operators.flattening import FlatMap
from penstock.flow.operators.merge import Merge
from penstock.flow.operators.transforming import FlatMapIterable
from penstock.flow.resume.concat_map import ConcatMapResumption
from penstock.flow.resume.resumption import (
    LIVE,
    SAME,
    BoundaryResumption,
    CannotResume,
    CombinedResumption,
    CountedResumption,
    PairedResumption,
    Resumption,
    SourceResumption,
    StatelessResumption,
    begins_again,
    depends_on_time,
    named,
)
from penstock.flow.sources.creating import Resumable
from penstock.runtime import shorten

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = [
    "CannotResume",
    "CountedResumption",
    "Resumption",
    "resumed_at",
    "resumption_of",
    "source_of",
]


def resumption_of(publisher: Publisher[Any], *, repeatable: bool = False) -> Resumption:
    """How ``publisher`` goes on after a restart; raises ``CannotResume``.

    ``repeatable``  somebody knows that its sources give the same elements each time
    """
    if not isinstance(publisher, BaseFlow):
        if repeatable:
            return CountedResumption(BaseFlow.flow.from_publisher(publisher))
        raise CannotResume(f"{shorten(publisher)} does not say how it goes on; {SAME}")
    origin, stages = publisher.plan.origin, stages_of(publisher)
    if isinstance(origin, Merge):
        start, stages = of_origin(origin, stages[:1], repeatable=repeatable), stages[1:]
    else:
        start = of_origin(origin, (), repeatable=repeatable)
    try:
        return with_stages(start, stages, repeatable=repeatable)
    except CannotResume:
        if not isinstance(origin, Resumable) or not origin.repeats:
            raise
        # A stage remembers what came before, so all of it has to come again.
        counted = CountedResumption(BaseFlow._from(origin))
        return with_stages(counted, stages, repeatable=repeatable)


def of_origin(origin: Origin, portions: Sequence[AnyStage], *, repeatable: bool) -> Resumption:
    """The same for an origin, without the stages that follow it."""
    alone = extended(BaseFlow._from(origin), portions)
    if not origin.upstreams:
        return of_source(origin, repeatable=repeatable)
    if not repeats(origin, repeatable) and not (origin.carries or isinstance(origin, Merge)):
        raise CannotResume(depends_on_time(origin))
    inputs = [resumption_of(each, repeatable=repeatable) for each in origin.upstreams]
    if repeats(origin, repeatable) and all(isinstance(each, CountedResumption) for each in inputs):
        return CountedResumption(alone)
    if isinstance(origin, Merge | Zip):
        return CombinedResumption(origin, inputs)
    if not origin.carries:
        raise CannotResume(begins_again(origin))
    return BoundaryResumption(origin, *inputs)


def of_source(origin: Origin, *, repeatable: bool) -> Resumption:
    """The same for an origin that makes its elements itself."""
    if repeatable or origin.replay == "from_start":
        return CountedResumption(BaseFlow._from(origin))
    if not isinstance(origin, Resumable):
        raise CannotResume(
            f"{named(origin)} can neither give its elements again nor go on after one; {SAME}"
        )
    if origin.paired is not None:
        return PairedResumption(origin)
    if origin.position_of is None:
        raise CannotResume(
            f"{named(origin)} does not know the positions of its elements; write "
            f"Flow.resumable(factory, position=...); {LIVE}"
        )
    return SourceResumption(origin, origin.position_of)


def with_stages(start: Resumption, stages: list[AnyStage], *, repeatable: bool) -> Resumption:
    """How a flow goes on with ``stages`` downstream of what goes on as ``start``."""
    if isinstance(start, CountedResumption):
        # Downstream of a stage that repeats, elements can be counted, and what it keeps comes back.
        repeating = list(takewhile(lambda stage: repeats(stage, repeatable), stages))
        start, stages = CountedResumption(extended(start.flow, repeating)), stages[len(repeating) :]
        wrong = depends_on_time
    else:
        wrong = begins_again
    for number, stage in enumerate(stages):
        if isinstance(stage, FlatMap) and stage.one_at_a_time:
            upstream = StatelessResumption(start, stages[:number]) if number else start
            inner = partial(resumption_of, repeatable=repeatable)
            portions, rest = stages[number + 1], stages[number + 2 :]
            return with_stages(
                ConcatMapResumption(upstream, stage, portions, inner), rest, repeatable=repeatable
            )
        if stage.rerun.holds or not stage.rerun.severable:
            raise CannotResume(several(stage) if isinstance(stage, FlatMap) else wrong(stage))
    return StatelessResumption(start, stages) if stages else start


def several(stage: FlatMap) -> str:
    """Why flows that run at the same time have no position."""
    return (
        f"what {named(stage)} gives depends on time, as several flows take turns; concat_map, or "
        f"concurrency=1, goes on with the one that was running; {LIVE}"
    )


def gives_several(part: FlowNode) -> str:
    """Why the position of an element does not tell where to go on downstream of ``part``."""
    return (
        f"{named(part)} gives several elements for one, and a position in them does not tell how "
        "many of these were recorded: the rest would be lost; concat_map keeps the position in its "
        f"flow, if the source tells the positions, Flow.resumable(factory, position=...); {LIVE}"
    )


def repeats(part: FlowNode, repeatable: bool) -> bool:
    """Whether it gives the same again, as far as it is known, or somebody knows it."""
    return repeatable if part.rerun.repeats is None else part.rerun.repeats


def source_of(publisher: Publisher[Any]) -> Resumable | None:
    """The one source of positions that stands at the beginning of ``publisher``, if one does."""
    while isinstance(publisher, BaseFlow):
        origin = publisher.plan.origin
        if isinstance(origin, Resumable):
            return origin
        if len(origin.upstreams) != 1:
            break
        (publisher,) = origin.upstreams
    return None


def resumed_at(flow: BaseFlow[Any], position: Any) -> Flow[Any]:
    """``flow`` with a source that goes on after ``position``, also if boundaries lie between.

    For positions that the recorder finds in the elements; raises ``CannotResume``.
    """
    whole: BaseFlow[Any] | None = flow
    while whole is not None:
        for part in stages_of(whole):
            if isinstance(part, FlatMap | FlatMapIterable):
                raise CannotResume(gives_several(part))
            if not part.rerun.severable:
                raise CannotResume(begins_again(part))
        origin = whole.plan.origin
        if not isinstance(origin, Resumable) and not origin.rerun.severable:
            raise CannotResume(begins_again(origin))
        whole = origin.upstream

    def moved(origin: Origin) -> Origin | None:
        return origin.at(position) if isinstance(origin, Resumable) else None

    return rewritten(flow, moved)
