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

from penstock.api import UNBOUNDED
from penstock.demand import Inlet
from penstock.flow.driver import Driver
from penstock.flow.elements import Receiver
from penstock.flow.fluent import Fluent
from penstock.flow.operators.alarm import Alarm
from penstock.flow.operators.branches import Branch
from penstock.flow.operators.map_async import Calls
from penstock.flow.operators.reservoir import Reservoir
from penstock.flow.plan import Plan
from penstock.flow.stage import Part
from penstock.reference.member import Member

__all__ = ["Supply", "delivered_by", "supplies_of"]

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

    ``operator``  to which it belongs; ``None`` for the origin of the run
    ``host``      the run that brings them, if it is one of a flow
    ``because``   what it waits for, if nothing is there and nobody of ours brings it
    """

    operator: str | None
    because: str
    requested: int = 0
    delivered: int | None = 0
    buffered: int = 0
    capacity: int | None = None
    host: Any = None
    ended: bool = False


def supplies_of(source: object) -> Iterator[Supply]:
    """The places to which ``source``, the last stage of a run, leads."""
    found: set[int] = set()
    todo: list[tuple[object, str | None]] = [(source, None)]
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
def _(place: Inlet, operator: str | None) -> Supply:
    buffered = 0
    if isinstance(place, Receiver):
        buffered = len(place.arrived)
    elif isinstance(place, Reservoir):
        buffered = len(place.kept)
    host, delivered = giver_of(place)
    ended = place.ending is not None
    return Supply(
        operator,
        "waits for its publisher",
        requested=place.asked,
        delivered=None if ended else delivered,
        buffered=buffered,
        capacity=place.kept.capacity if isinstance(place, Reservoir) else place.capacity,
        host=host,
        ended=ended,
    )


def giver_of(inlet: Inlet) -> tuple[Any, int | None]:
    """The run that brings elements to ``inlet``, if it is one of a flow, and how many came."""
    subscription = inlet.subscription
    if isinstance(subscription, Driver):
        counted = isinstance(inlet, Receiver)  # which takes elements without a call for each
        return subscription, delivered_by(subscription) if counted else inlet.admitted
    if isinstance(subscription, Member):
        return subscription.hub, subscription.demand.delivered
    return None, inlet.admitted


def delivered_by(driver: Driver[Any]) -> int | None:
    """What a run has delivered; a loop that never waits counts for itself while it runs."""
    if driver.requested >= UNBOUNDED:
        return None
    loop = driver.source
    frame = loop.gi_frame if isinstance(loop, GeneratorType) and loop.gi_running else None
    own_count: int = 0 if frame is None else frame.f_locals.get("delivered", 0)
    return max(driver.delivered, own_count)


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
