"""What a place is: a count, a position, the places of several inputs, or one place within another.

A place is the count of elements where a flow gives the same each time, the position of an element
where its source can go on after one, and for ``merge``, ``concat`` and ``zip`` the places of all
inputs; for ``concat_map`` see ``inner_flows.py``. It travels with its element through whatever
holds elements back. A run of operators that hold nothing back lets it pass by: there it is always
the place of the one element that is on its way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from penstock.flow.base_flow import BaseFlow, extended
from penstock.flow.engine.plan import AnyStage
from penstock.flow.engine.stage import FROM_START, FlowNode, Origin
from penstock.flow.operators.round_robin import FlattenPortions
from penstock.flow.operators.zip import Zip
from penstock.flow.resume.positioned import AttachPosition, PositionedElement
from penstock.flow.sources.from_publisher import Resumable
from penstock.runtime import shorten

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = [
    "LIVE",
    "SAME",
    "BoundaryResumption",
    "CannotResume",
    "CombinedResumption",
    "CountedResumption",
    "Resumption",
    "SourceResumption",
    "StatelessResumption",
    "begins_again",
    "depends_on_time",
    "named",
    "other_flow",
]

LIVE: Final = 'resume="none" goes on live'
SAME: Final = f'if it gives the same elements each time, write resume="from_start"; {LIVE}'


class CannotResume(ValueError):
    """A flow that cannot go on where it was; one sentence says why, and what to write."""


class Resumption(ABC):
    """A flow, and how it goes on.

    ``in_order``  whether elements come in the same order again
    ``unseen``    what it relies on and cannot know before it runs, one sentence each
    """

    in_order: bool = True
    unseen: tuple[str, ...] = ()

    @abstractmethod
    def placed(self, place: Any) -> Flow[PositionedElement]:
        """The elements after ``place``, which is ``None`` at the beginning, with their places."""

    def repeating(self) -> Resumption:
        """The same for those to whom the first element after a place must be the same each time.

        Raises ``CannotResume`` where that is not so.
        """
        return self


class CountedResumption(Resumption):
    """A flow that gives the same elements each time: a place is how many came so far."""

    def __init__(self, flow: BaseFlow[Any]) -> None:
        self.flow = flow

    def placed(self, place: Any) -> Flow[PositionedElement]:
        """Run it from the beginning, and leave out those that came before."""
        taken = 0 if place is None else place
        if not isinstance(taken, int):
            raise other_flow(self.flow.plan.origin, place)
        rest = extended(self.flow).skip(taken) if taken else extended(self.flow)
        return rest._then(AttachPosition("x = {pair}(({0}(), x))", count(taken + 1).__next__))


class SourceResumption(Resumption):
    """A source that goes on after a position, and knows the position of each element."""

    def __init__(self, origin: Resumable, position_of: Callable[[Any], Any]) -> None:
        self._origin = origin
        self._position_of = position_of

    def placed(self, place: Any) -> Flow[PositionedElement]:
        """The positions are the places."""
        return BaseFlow._from(self._origin.at(place)).map(self._placed)

    def _placed(self, element: Any) -> PositionedElement:
        position = self._position_of(element)
        if position is None:
            raise ValueError(
                f"{self._origin.name}: {shorten(element)} has no position, after which a restart "
                f"could go on; {LIVE}"
            )
        return PositionedElement(position, element)


class BoundaryResumption(Resumption):
    """A boundary, through which elements go as they are, and so do their places."""

    def __init__(self, origin: Origin, upstream: Resumption) -> None:
        self._origin = origin
        self._upstream = upstream
        self.in_order = upstream.in_order
        self.unseen = upstream.unseen

    def placed(self, place: Any) -> Flow[PositionedElement]:
        """Nothing changes."""
        return BaseFlow._from(self._origin.over(self._upstream.placed(place)))

    def repeating(self) -> Resumption:
        """As far as upstream does."""
        return BoundaryResumption(self._origin, self._upstream.repeating())


class StatelessResumption(Resumption):
    """Stages that hold nothing back: the place of what comes out is that of what went in last."""

    def __init__(self, upstream: Resumption, stages: Sequence[AnyStage]) -> None:
        self._upstream = upstream
        self._stages = stages
        self.in_order = upstream.in_order
        self.unseen = upstream.unseen

    def placed(self, place: Any) -> Flow[PositionedElement]:
        """Take the place off in front of the stages, and give it back behind them."""
        passing = [None]  # the place of the one element that is on its way
        take_off = AttachPosition("{0}[0], x = x", passing)
        give_back = AttachPosition("x = {pair}(({0}[0], x))", passing)
        return extended(self._upstream.placed(place), [take_off, *self._stages, give_back])

    def repeating(self) -> Resumption:
        """Unless a stage leaves out or groups elements as time has it."""
        for stage in self._stages:
            if not stage.rerun.repeats:
                raise CannotResume(differs(stage))
        return StatelessResumption(self._upstream.repeating(), self._stages)


class CombinedResumption(Resumption):
    """Several inputs, each of which has a place: ``["merge", 3, 5]``."""

    def __init__(self, origin: Origin, inputs: Sequence[Resumption]) -> None:
        self._origin = origin
        self._inputs = inputs
        self.in_order = origin.rerun == FROM_START and all(each.in_order for each in inputs)
        self.unseen = tuple(line for each in inputs for line in each.unseen)

    def placed(self, place: Any) -> Flow[PositionedElement]:
        """Each input goes on after its own position."""
        places = self._places(place)
        inputs = [each.placed(at) for each, at in zip(self._inputs, places[1:], strict=True)]
        if isinstance(self._origin, Zip):
            return BaseFlow._from(self._origin.over(*inputs)).map(self._of_all)
        numbered = [
            flow._then(AttachPosition("x = {pair}(({0}, x))", number))
            for number, flow in enumerate(inputs, 1)
        ]
        merged = BaseFlow._from(self._origin.over(*numbered))
        note = AttachPosition("{0}[x[0]], x = x[1]", places)
        give_back = AttachPosition("x = {pair}(({0}[:], x))", places)
        return extended(merged, [FlattenPortions(self._origin.name), note, give_back])

    def repeating(self) -> Resumption:
        """Unless the inputs take turns as time has it."""
        if self._origin.rerun != FROM_START:
            raise CannotResume(differs(self._origin))
        return CombinedResumption(self._origin, [each.repeating() for each in self._inputs])

    def _of_all(self, elements: tuple[PositionedElement, ...]) -> PositionedElement:
        """One element of each input."""
        places = [each.place for each in elements]
        return PositionedElement(
            [self._origin.name, *places], tuple([each.element for each in elements])
        )

    def _places(self, place: Any) -> list[Any]:
        if place is None:
            return [self._origin.name] + [None] * len(self._inputs)
        size = len(self._inputs) + 1
        if not isinstance(place, list) or place[:1] != [self._origin.name] or len(place) != size:
            raise other_flow(self._origin, place)
        return place.copy()


def named(part: FlowNode) -> str:
    """An operator, and where it stands."""
    return part.name if part.site is None else f"{part.name} at {part.site}"


def depends_on_time(part: FlowNode) -> str:
    """Why a flow with ``part`` does not give the same again."""
    if part.rerun.repeats is None:
        return f"{named(part)} may give other elements when it runs again; {SAME}"
    return f"what {named(part)} gives depends on time, and differs when it runs again; {LIVE}"


def differs(part: FlowNode) -> str:
    """Why nobody can rely on the next element that ``part`` gives."""
    return f"the next element of {named(part)} may be another one when it runs again"


def begins_again(part: FlowNode) -> str:
    """Why ``part`` cannot stand downstream of a source that goes on somewhere."""
    return (
        f"{named(part)} would begin again in the middle of the elements; let Spark do it, by sql "
        f"or frame, or put it upstream of what merges; {LIVE}"
    )


def other_flow(part: FlowNode, place: Any) -> CannotResume:
    """What to say of a place of another flow."""
    return CannotResume(
        f"the checkpoint has the place {shorten(place)}, which is none of {named(part)}; the flow "
        "upstream of on_spark has changed: name another checkpoint"
    )
