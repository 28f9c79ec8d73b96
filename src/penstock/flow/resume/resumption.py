"""An element and its position, which is where a new run goes on downstream of it.

A position is the count of elements where a flow gives the same each time, what the source says
where it can go on after an element, and for ``merge``, ``concat`` and ``zip`` the positions of all
inputs; for ``concat_map`` see ``concat_map.py``. It travels with its element through whatever holds
elements back. Operators that hold nothing back never see it: between them there is one element at a
time, and the position is that of this one.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from penstock.flow.base_flow import BaseFlow, extended
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.plan import AnyStage
from penstock.flow.engine.stage import EACH_ALONE, FROM_START, FlowNode, FusedStage, Origin
from penstock.flow.operators.combining import Zip
from penstock.flow.operators.inputs import FlattenPortions
from penstock.flow.sources.creating import Resumable
from penstock.runtime import shorten

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = [
    "LIVE",
    "SAME",
    "AttachPosition",
    "BoundaryResumption",
    "CannotResume",
    "CombinedResumption",
    "CountedResumption",
    "PairedResumption",
    "PositionedElement",
    "Resumption",
    "SourceResumption",
    "StatelessResumption",
    "begins_again",
    "depends_on_time",
    "is_same_position",
    "named",
    "other_flow",
    "plain",
    "position_as_json",
]


class PositionedElement(NamedTuple):
    """An element with its position, which is something that JSON has."""

    position: Any
    element: Any


def position_as_json(position: object) -> str:
    """A position as it is kept."""
    try:
        return json.dumps(position, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"the position of a source must be something that JSON has: {error}"
        ) from error


def is_same_position(one: object, other: object) -> bool:
    """Whether they are the same where they are kept, where a tuple is a list."""
    return position_as_json(one) == position_as_json(other)


def plain(element: Any) -> Any:
    """The element itself, for those who know nothing of positions."""
    while type(element) is PositionedElement:
        element = element.element
    return element


PAIR: Final = partial(tuple.__new__, PositionedElement)
"""Makes a ``PositionedElement`` of a pair, in a third of the time."""


class AttachPosition(FusedStage):
    """A line that gives the element ``x`` a position, or takes it off.

    In the line, ``{0}``, ``{1}`` are the values; ``{pair}`` makes a ``PositionedElement``.
    """

    rerun = EACH_ALONE
    one_to_one = True
    checked = True

    def __init__(self, line: str, *values: object) -> None:
        super().__init__("resume", line, (PAIR, *values))
        self._line = line

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One line; a call for each element would be felt here."""
        pair, *others = values
        loop.line(self._line.format(*others, pair=pair))
        loop.known()


class SkipTaken(FusedStage):
    """All but those that earlier runs have taken, which come again; it is an error if they do not.

    Else a file that is being written again would be taken for one that is over.
    """

    rerun = FROM_START

    def __init__(self, source: str, taken: int) -> None:
        super().__init__("resume", values=(taken, partial(fewer_came, source, taken)))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """Count down to where it goes on."""
        taken, fewer = values
        left = loop.local("left", taken)
        loop.line(f"if {left}:")
        loop.line(f"{left} -= 1", deeper=1)
        loop.drop(deeper=1)
        loop.at_end(f"if {left}: raise {fewer}({left})")


def fewer_came(source: str, taken: int, left: int) -> CannotResume:
    """What a source fails with that is shorter than it was."""
    return CannotResume(
        f"{source} has ended after {taken - left:,} elements, and {taken:,} had been taken from it "
        "before: it is not what it was; restore it, or begin with another checkpoint"
    )


LIVE: Final = 'resume="none" goes on live'
SAME: Final = f'if it gives the same elements each time, write resume="from_start"; {LIVE}'


class CannotResume(ValueError):
    """A flow that cannot go on where it was; one sentence says why, and what to write."""


class Resumption(ABC):
    """A flow, and how it goes on.

    ``in_order``   whether elements come in the same order again
    ``upstreams``  where positions come from that are passed on as they are
    ``unseen``     what it relies on and cannot know before it runs, one sentence each
    ``is_finite``  whether its end is the same each time; else more may come after it another time
    """

    in_order: bool = True
    upstreams: tuple[Resumption, ...] = ()
    unseen: tuple[str, ...] = ()
    is_finite: bool = False

    @abstractmethod
    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """The elements after ``position``, each with its own; ``None`` is the beginning."""

    def recorded(self, position: Any) -> None:
        """Tell the sources that all up to ``position`` is stored."""
        for each in self.upstreams:
            each.recorded(position)

    def repeating(self) -> Resumption:
        """The same for those to whom the first element after a position must be the same each time.

        Raises ``CannotResume`` where that is not so.
        """
        return self


class CountedResumption(Resumption):
    """A flow that gives the same elements each time: a position is how many came so far."""

    is_finite = True

    def __init__(self, flow: BaseFlow[Any]) -> None:
        self.flow = flow

    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """Run it from the beginning, and leave out those that came before."""
        taken = 0 if position is None else position
        if not isinstance(taken, int):
            raise other_flow(self.flow.plan.origin, position)
        flow = extended(self.flow)
        rest = flow._then(SkipTaken(named(self.flow.plan.origin), taken)) if taken else flow
        return rest._then(AttachPosition("x = {pair}(({0}(), x))", count(taken + 1).__next__))


class SourceResumption(Resumption):
    """A source that goes on after a position, and knows the position of each element.

    The function that tells a position is called on the thread of the run.
    """

    def __init__(self, origin: Resumable, position_of: Callable[[Any], Any]) -> None:
        self._origin = origin
        self._position_of = position_of

    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """Those that the source tells."""
        return BaseFlow._from(self._origin.at(position)).map(self._positioned)

    def recorded(self, position: Any) -> None:
        """The source may forget it now."""
        if self._origin.on_recorded is not None:
            self._origin.on_recorded(position)

    def _positioned(self, element: Any) -> PositionedElement:
        position = self._position_of(element)
        if position is None:
            raise ValueError(
                f"{self._origin.name}: {shorten(element)} has no position, after which a restart "
                f"could go on; {LIVE}"
            )
        return PositionedElement(position, element)


class PairedResumption(Resumption):
    """A source that goes on after a position, and gives each element together with its own."""

    def __init__(self, origin: Resumable) -> None:
        self._origin = origin

    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """Those that the source gives."""
        return BaseFlow._from(self._origin.paired_at(position))

    def recorded(self, position: Any) -> None:
        """The source may forget it now."""
        if self._origin.on_recorded is not None:
            self._origin.on_recorded(position)


class BoundaryResumption(Resumption):
    """A boundary, through which elements go as they are, and so do their positions."""

    def __init__(self, origin: Origin, upstream: Resumption) -> None:
        self._origin = origin
        self._upstream = upstream
        self.upstreams = (upstream,)
        self.in_order = upstream.in_order
        self.unseen = upstream.unseen
        self.is_finite = upstream.is_finite

    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """Nothing changes."""
        return BaseFlow._from(self._origin.over(self._upstream.positioned(position)))

    def repeating(self) -> Resumption:
        """As far as upstream does."""
        return BoundaryResumption(self._origin, self._upstream.repeating())


class StatelessResumption(Resumption):
    """Stages that hold nothing back: what comes out has the position of what went in last."""

    def __init__(self, upstream: Resumption, stages: Sequence[AnyStage]) -> None:
        self._upstream = upstream
        self.upstreams = (upstream,)
        self._stages = stages
        self.in_order = upstream.in_order
        self.unseen = upstream.unseen
        self.is_finite = upstream.is_finite

    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """Take the position off upstream of the stages, and attach it again downstream of them."""
        passing = [None]  # the position of the one element that is on its way
        detach = AttachPosition("{0}[0], x = x", passing)
        attach = AttachPosition("x = {pair}(({0}[0], x))", passing)
        return extended(self._upstream.positioned(position), [detach, *self._stages, attach])

    def repeating(self) -> Resumption:
        """Unless a stage leaves out or groups elements as time has it."""
        for stage in self._stages:
            if not stage.rerun.repeats:
                raise CannotResume(differs(stage))
        return StatelessResumption(self._upstream.repeating(), self._stages)


class CombinedResumption(Resumption):
    """Several inputs, each of which has a position: ``["merge", 3, 5]``."""

    def __init__(self, origin: Origin, inputs: Sequence[Resumption]) -> None:
        self._origin = origin
        self._inputs = inputs
        self.in_order = origin.rerun == FROM_START and all(each.in_order for each in inputs)
        self.unseen = tuple(line for each in inputs for line in each.unseen)
        self.is_finite = all(each.is_finite for each in inputs)

    def positioned(self, position: Any) -> Flow[PositionedElement]:
        """Each input goes on after its own position."""
        positions = self._positions(position)
        inputs = [each.positioned(at) for each, at in zip(self._inputs, positions[1:], strict=True)]
        if isinstance(self._origin, Zip):
            return BaseFlow._from(self._origin.over(*inputs)).map(self._of_all)
        numbered = [
            flow._then(AttachPosition("x = {pair}(({0}, x))", number))
            for number, flow in enumerate(inputs, 1)
        ]
        merged = BaseFlow._from(self._origin.over(*numbered))
        note = AttachPosition("{0}[x[0]], x = x[1]", positions)
        attach = AttachPosition("x = {pair}(({0}[:], x))", positions)
        return extended(merged, [FlattenPortions(self._origin.name), note, attach])

    def recorded(self, position: Any) -> None:
        """Each input has its own."""
        for each, at in zip(self._inputs, self._positions(position)[1:], strict=True):
            if at is not None:
                each.recorded(at)

    def repeating(self) -> Resumption:
        """Unless the inputs take turns as time has it."""
        if self._origin.rerun != FROM_START:
            raise CannotResume(differs(self._origin))
        return CombinedResumption(self._origin, [each.repeating() for each in self._inputs])

    def _of_all(self, elements: tuple[PositionedElement, ...]) -> PositionedElement:
        """One element of each input."""
        positions = [each.position for each in elements]
        return PositionedElement(
            [self._origin.name, *positions], tuple([each.element for each in elements])
        )

    def _positions(self, position: Any) -> list[Any]:
        if position is None:
            return [self._origin.name] + [None] * len(self._inputs)
        match position:
            case [self._origin.name, *others] if len(others) == len(self._inputs):
                return [self._origin.name, *others]
        raise other_flow(self._origin, position)


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


def other_flow(part: FlowNode, position: Any) -> CannotResume:
    """What to say of a position of another flow."""
    return CannotResume(
        f"the checkpoint has the position {shorten(position)}, which is none of {named(part)}; the "
        "flow upstream of on_spark has changed: name another checkpoint"
    )
