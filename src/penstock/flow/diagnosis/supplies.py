"""Where a run gets its elements from, found by following what its stages refer to.

A stage is a generator: its local variables lead to the stages in front of it, and to the places
where elements arrive from elsewhere.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from gc import get_referents
from types import GeneratorType
from typing import Any, Final

from penstock.demand import Inlet
from penstock.flow.diagnosis.work import work_of
from penstock.flow.driver import Driver
from penstock.flow.fluent import Fluent
from penstock.flow.intake import Intake
from penstock.flow.operators.alarm import Alarm
from penstock.flow.operators.branches import Branch
from penstock.flow.operators.hops import HandedOn
from penstock.flow.operators.map_async import Calls
from penstock.flow.operators.reservoir import Reservoir
from penstock.flow.plan import Plan
from penstock.flow.stage import Part
from penstock.reference.member import Member

__all__ = ["Supply", "names_in", "supplies_of"]

OWN: Final = __name__.rpartition(".diagnosis")[0] + "."
IN_FRONT: Final = ("source", "elements")
"""What a stage calls the elements of the stage in front of it."""
BEHIND: Final = "receiver"
"""What a loop calls whoever takes its elements."""
CONTAINERS: Final = (list, tuple, deque, dict, set)
ENDS: Final = (Part, Plan, Fluent, type)


@dataclass(frozen=True, slots=True)
class Supply:
    """A place where elements arrive.

    ``operator``   to which it belongs; ``None`` for the origin of the run
    ``because``    what it waits for, if nothing is there and no other run brings it
    ``host``       the run that brings elements, if it is one of a flow
    ``giver``      the operator that made elements here in advance
    ``handed_on``  nothing more is made in advance: the run itself goes on with what is in front
    """

    operator: str | None
    because: str
    requested: int = 0
    delivered: int | None = None
    buffered: int = 0
    capacity: int | None = None
    host: Any = None
    giver: str = ""
    ended: bool = False
    handed_on: bool = False


def supplies_of(host: Any) -> Iterator[Supply]:
    """The places to which the last stage of a run leads, and where its elements cross over."""
    found: set[int] = set()
    todo: list[tuple[object, str | None]] = [(host.source, None), (host.prepared, None)]
    while todo:
        thing, operator = todo.pop(0)
        if id(thing) in found or isinstance(thing, ENDS):
            continue
        found.add(id(thing))
        supply = supply_at(thing, operator)
        if supply is not None:
            yield supply
        elif isinstance(thing, GeneratorType):
            todo += from_generator(thing, operator)
        elif type(thing).__module__.startswith(OWN) and not hasattr(thing, "wake"):
            todo += [(each, operator) for each in contents(get_referents(thing))]


def from_generator(
    generator: GeneratorType[Any, Any, Any], operator: str | None
) -> Iterator[tuple[object, str | None]]:
    """What a stage refers to, and the operator to which that belongs."""
    frame = generator.gi_frame
    if frame is None:
        return
    local = {name: value for name, value in frame.f_locals.items() if name != BEHIND}
    me = local.pop("self", None)
    own = me.name if isinstance(me, Part) else operator
    for name in IN_FRONT:
        yield local.pop(name, None), operator
    yield me, own
    for each in contents(local.values()):
        yield each, own
    if not generator.gi_running:
        yield generator.gi_yieldfrom, own


def contents(things: Iterable[object]) -> Iterator[object]:
    """``things``, with those that are containers replaced by what is in them."""
    for thing in things:
        if isinstance(thing, dict):
            yield from list(thing.values())
        elif isinstance(thing, CONTAINERS):
            yield from list(thing)
        else:
            yield thing


@singledispatch
def supply_at(place: object, operator: str | None) -> Supply | None:
    """What arrives at ``place``; ``None`` if it is no such place."""
    return None


@supply_at.register
def _(place: Intake, operator: str | None) -> Supply:
    return arriving_at(place, operator, place.came, len(place.arrived), place.capacity)


@supply_at.register
def _(place: Reservoir, operator: str | None) -> Supply:
    return arriving_at(place, operator, place.admitted, len(place.kept), place.kept.capacity)


def arriving_at(
    inlet: Inlet, operator: str | None, came: int, buffered: int, capacity: int
) -> Supply:
    """What a subscriber of ours has."""
    return Supply(
        operator,
        "waits for its publisher",
        requested=inlet.asked,
        delivered=came,
        buffered=buffered,
        capacity=capacity,
        host=giver_to(inlet),
        ended=inlet.ending is not None,
    )


def names_in(plan: Plan) -> tuple[str, str]:
    """The first operator of a plan, and the last one that does something."""
    names = [name for run in plan.operators for name in run]
    return plan.origin.name, names[-1] if names else plan.origin.name


def giver_to(inlet: Inlet) -> Any:
    """The run that brings elements to ``inlet``, if it is one of a flow."""
    subscription = inlet.subscription
    if isinstance(subscription, Member):
        return subscription.hub
    return subscription if isinstance(subscription, Driver) else None


@supply_at.register
def _(place: HandedOn, operator: str | None) -> Supply:
    handed_on = place.handed_on
    return Supply(
        operator,
        "" if handed_on else work_of(place.thread),
        requested=place.capacity,
        delivered=place.made,
        buffered=len(place.arrived),
        capacity=place.capacity,
        giver=names_in(place.plan)[-1],
        handed_on=handed_on,
    )


@supply_at.register
def _(place: Branch, operator: str | None) -> Supply:
    return Supply(operator, "waits for its group", buffered=len(place.arrived), host=place.router)


@supply_at.register
def _(place: Alarm, operator: str | None) -> Supply:
    return Supply(operator, "waits for its clock", ended=not place.is_set)


@supply_at.register
def _(place: Calls, operator: str | None) -> Supply:
    done = sum(call.done for call in list(place.line))
    calls = len(place.going) - done
    return Supply(operator, f"waits for {calls} of its calls", buffered=done, ended=not calls)
