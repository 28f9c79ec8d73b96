"""How a flow goes on after a restart: the place of each element, and the elements behind a place.

A place is the count of elements where a flow gives the same each time, the position of an element
where its source can go on behind one, and for ``merge``, ``concat`` and ``zip`` the places of all
inputs. It travels with its element through whatever holds elements back. A run of operators that
hold nothing back lets it pass by: there it is always the place of the one element that is on its
way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count, takewhile
from typing import TYPE_CHECKING, Any, Final

from penstock.api import Publisher
from penstock.demand import shorten
from penstock.flow.fluent import Fluent, extended, stages_of, with_origin
from penstock.flow.operators.merge import Merge
from penstock.flow.operators.merging import Portions
from penstock.flow.operators.zip import Zip
from penstock.flow.placed import Placed, Placing
from penstock.flow.plan import AnyStage
from penstock.flow.sources.resumable import Resumable
from penstock.flow.stage import FROM_START, Origin, Part

if TYPE_CHECKING:
    from penstock.flow.flow import Flow

__all__ = ["CannotResume", "Counted", "Resumption", "resumed_at", "resumption_of", "source_of"]

LIVE: Final = 'resume="none" goes on live'
SAME: Final = f'if it gives the same elements each time, write resume="from_start"; {LIVE}'


class CannotResume(ValueError):
    """A flow that cannot go on where it was; one sentence says why, and what to write."""


class Resumption(ABC):
    """A flow, and how it goes on.

    ``in_order``  whether elements come in the same order again
    """

    in_order: bool = True

    @abstractmethod
    def placed(self, place: Any) -> Flow[Placed]:
        """The elements behind ``place``, which is ``None`` at the beginning, with their places."""


class Counted(Resumption):
    """A flow that gives the same elements each time: a place is how many came so far."""

    def __init__(self, flow: Fluent[Any]) -> None:
        self.flow = flow

    def placed(self, place: Any) -> Flow[Placed]:
        """Run it from the beginning, and leave out those that came before."""
        taken = 0 if place is None else place
        if not isinstance(taken, int):
            raise other_flow(self.flow.plan.origin, place)
        rest = extended(self.flow).skip(taken) if taken else extended(self.flow)
        return rest._then(Placing("x = {pair}(({0}(), x))", count(taken + 1).__next__))


class AtPosition(Resumption):
    """A source that goes on behind a position, and knows the position of each element."""

    def __init__(self, origin: Resumable, position_of: Callable[[Any], Any]) -> None:
        self._origin = origin
        self._position_of = position_of

    def placed(self, place: Any) -> Flow[Placed]:
        """The positions are the places."""
        return Fluent._from(self._origin.at(place)).map(self._placed)

    def _placed(self, element: Any) -> Placed:
        position = self._position_of(element)
        if position is None:
            raise ValueError(
                f"{self._origin.name}: {shorten(element)} has no position, behind which a restart "
                f"could go on; {LIVE}"
            )
        return Placed(position, element)


class Carried(Resumption):
    """A boundary, through which elements go as they are, and so do their places."""

    def __init__(self, origin: Origin, upstream: Resumption) -> None:
        self._origin = origin
        self._upstream = upstream
        self.in_order = upstream.in_order

    def placed(self, place: Any) -> Flow[Placed]:
        """Nothing changes."""
        return Fluent._from(self._origin.over(self._upstream.placed(place)))


class PassedBy(Resumption):
    """Stages that hold nothing back: the place of what comes out is that of what went in last."""

    def __init__(self, upstream: Resumption, stages: Sequence[AnyStage]) -> None:
        self._upstream = upstream
        self._stages = stages
        self.in_order = upstream.in_order

    def placed(self, place: Any) -> Flow[Placed]:
        """Take the place off in front of the stages, and give it back behind them."""
        passing = [None]  # the place of the one element that is on its way
        take_off = Placing("{0}[0], x = x", passing)
        give_back = Placing("x = {pair}(({0}[0], x))", passing)
        return extended(self._upstream.placed(place), [take_off, *self._stages, give_back])


class Combined(Resumption):
    """Several inputs, each of which has a place: ``["merge", 3, 5]``."""

    def __init__(self, origin: Origin, inputs: Sequence[Resumption]) -> None:
        self._origin = origin
        self._inputs = inputs
        self.in_order = origin.rerun == FROM_START and all(each.in_order for each in inputs)

    def placed(self, place: Any) -> Flow[Placed]:
        """Each input goes on behind its own place."""
        places = self._places(place)
        inputs = [each.placed(at) for each, at in zip(self._inputs, places[1:], strict=True)]
        if isinstance(self._origin, Zip):
            return Fluent._from(self._origin.over(*inputs)).map(self._of_all)
        numbered = [
            flow._then(Placing("x = {pair}(({0}, x))", number))
            for number, flow in enumerate(inputs, 1)
        ]
        merged = Fluent._from(self._origin.over(*numbered))
        note = Placing("{0}[x[0]], x = x[1]", places)
        give_back = Placing("x = {pair}(({0}[:], x))", places)
        return extended(merged, [Portions(self._origin.name), note, give_back])

    def _of_all(self, elements: tuple[Placed, ...]) -> Placed:
        """One element of each input."""
        places = [each.place for each in elements]
        return Placed([self._origin.name, *places], tuple([each.element for each in elements]))

    def _places(self, place: Any) -> list[Any]:
        if place is None:
            return [self._origin.name] + [None] * len(self._inputs)
        size = len(self._inputs) + 1
        if not isinstance(place, list) or place[:1] != [self._origin.name] or len(place) != size:
            raise other_flow(self._origin, place)
        return place.copy()


def resumption_of(publisher: Publisher[Any], *, repeatable: bool = False) -> Resumption:
    """How ``publisher`` goes on after a restart; raises ``CannotResume``.

    ``repeatable``  somebody knows that its sources give the same elements each time
    """
    if not isinstance(publisher, Fluent):
        if repeatable:
            return Counted(Fluent.flow.from_publisher(publisher))
        raise CannotResume(f"{shorten(publisher)} does not say how it goes on; {SAME}")
    origin, stages = publisher.plan.origin, stages_of(publisher)
    if isinstance(origin, Merge):
        start, stages = of_origin(origin, stages[:1], repeatable=repeatable), stages[1:]
    else:
        start = of_origin(origin, (), repeatable=repeatable)
    return behind(start, stages, repeatable=repeatable)


def of_origin(origin: Origin, portions: Sequence[AnyStage], *, repeatable: bool) -> Resumption:
    """The same for an origin, without the stages that follow it."""
    alone = extended(Fluent._from(origin), portions)
    if not origin.upstreams:
        return of_source(origin, repeatable=repeatable)
    if not repeats(origin, repeatable) and not (origin.carries or isinstance(origin, Merge)):
        raise CannotResume(depends_on_time(origin))
    inputs = [resumption_of(each, repeatable=repeatable) for each in origin.upstreams]
    if repeats(origin, repeatable) and all(isinstance(each, Counted) for each in inputs):
        return Counted(alone)
    if isinstance(origin, Merge | Zip):
        return Combined(origin, inputs)
    if not origin.carries:
        raise CannotResume(begins_again(origin))
    return Carried(origin, *inputs)


def of_source(origin: Origin, *, repeatable: bool) -> Resumption:
    """The same for an origin that makes its elements itself."""
    if repeatable or origin.replay == "from_start":
        return Counted(Fluent._from(origin))
    if not isinstance(origin, Resumable):
        raise CannotResume(
            f"{named(origin)} can neither give its elements again nor go on behind one; {SAME}"
        )
    if origin.position_of is None:
        raise CannotResume(
            f"{named(origin)} does not know the positions of its elements; write "
            f"Flow.resumable(factory, position=...); {LIVE}"
        )
    return AtPosition(origin, origin.position_of)


def behind(start: Resumption, stages: list[AnyStage], *, repeatable: bool) -> Resumption:
    """How a flow goes on with ``stages`` downstream of what goes on as ``start``."""
    if isinstance(start, Counted):
        # Where a stage repeats, elements can be counted behind it, and what it keeps comes back.
        repeating = list(takewhile(lambda stage: repeats(stage, repeatable), stages))
        start, stages = Counted(extended(start.flow, repeating)), stages[len(repeating) :]
        wrong = depends_on_time
    else:
        wrong = begins_again
    for stage in stages:
        if stage.rerun.holds or not stage.rerun.severable:
            raise CannotResume(wrong(stage))
    return PassedBy(start, stages) if stages else start


def repeats(part: Part, repeatable: bool) -> bool:
    """Whether it gives the same again, as far as it is known, or somebody knows it."""
    return repeatable if part.rerun.repeats is None else part.rerun.repeats


def source_of(publisher: Publisher[Any]) -> Resumable | None:
    """The one source of positions that stands at the beginning of ``publisher``, if one does."""
    while isinstance(publisher, Fluent):
        origin = publisher.plan.origin
        if isinstance(origin, Resumable):
            return origin
        if len(origin.upstreams) != 1:
            break
        (publisher,) = origin.upstreams
    return None


def resumed_at(flow: Fluent[Any], position: Any) -> Flow[Any]:
    """``flow`` with a source that goes on behind ``position``, also if boundaries lie between.

    For positions that whoever records the elements finds in them; raises ``CannotResume``.
    """
    origin = flow.plan.origin
    for part in stages_of(flow):
        if not part.rerun.severable:
            raise CannotResume(begins_again(part))
    if isinstance(origin, Resumable):
        return with_origin(flow, origin.at(position))
    if not origin.rerun.severable:
        raise CannotResume(begins_again(origin))
    (upstream,) = origin.upstreams
    assert isinstance(upstream, Fluent)  # else no source of positions would stand there
    return with_origin(flow, origin.over(resumed_at(upstream, position)))


def named(part: Part) -> str:
    """An operator, and where it stands."""
    return part.name if part.site is None else f"{part.name} at {part.site}"


def depends_on_time(part: Part) -> str:
    """Why a flow with ``part`` does not give the same again."""
    if part.rerun.repeats is None:
        return f"{named(part)} may give other elements when it runs again; {SAME}"
    return f"what {named(part)} gives depends on time, and differs when it runs again; {LIVE}"


def begins_again(part: Part) -> str:
    """Why ``part`` cannot stand downstream of a source that goes on somewhere."""
    return (
        f"{named(part)} would begin again in the middle of the elements; let Spark do it, by sql "
        f"or frame, or put it upstream of what merges; {LIVE}"
    )


def other_flow(part: Part, place: Any) -> CannotResume:
    """What to say of a place of another flow."""
    return CannotResume(
        f"the checkpoint has the place {shorten(place)}, which is none of {named(part)}; the flow "
        "upstream of on_spark has changed: name another checkpoint"
    )
