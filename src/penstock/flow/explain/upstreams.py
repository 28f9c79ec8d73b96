"""Where a run gets its elements from, found by following what its stages refer to.

A stage is a generator: its local variables lead to the stages upstream, and to the places
where elements arrive from elsewhere.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import singledispatch
from types import FrameType, GeneratorType
from typing import Any, Final

from penstock.core import BaseSubscriber
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.call_site import CallSite, is_own, parts_at
from penstock.flow.engine.plan import Plan
from penstock.flow.engine.prefetch_subscriber import PrefetchSubscriber
from penstock.flow.engine.stage import FlowNode
from penstock.flow.engine.subscription import FlowSubscription
from penstock.flow.multicast.broadcast_subscription import BroadcastSubscription
from penstock.flow.operators.map_async import PendingCalls
from penstock.flow.operators.overflow import OverflowSubscriber
from penstock.flow.operators.stage_timer import StageTimer
from penstock.flow.operators.substream_router import Substream
from penstock.flow.operators.threads import ThreadHandover

__all__ = [
    "UpstreamState",
    "names_in",
    "supplies_of",
    "work_of",
]


def work_of(thread: int) -> str:
    """What the thread does, for a sentence about the run that it works for."""
    frame = frame_of(thread)
    called: FrameType | None = None
    while frame is not None:
        if is_own(frame):
            parts = parts_at(frame, frame.f_lineno)
            if parts:
                return work_in(parts[0].name, called)
        else:
            called = frame
        frame = frame.f_back
    return "is at work"


def frame_of(thread: int) -> FrameType | None:
    """What the thread executes now.

    Before Python 3.11.9 a garbage collection that begins within this call may never return: it
    frees what takes a lock of the interpreter that the call holds.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames().get(thread)
    finally:
        if collects:
            gc.enable()


def work_in(operator: str, called: FrameType | None) -> str:
    """The words for a stage that called the user's code, or did not."""
    if called is None:
        return f"is at work in `{operator}`"
    place = CallSite(called.f_code, called.f_lineno)
    if called.f_code.co_name == "on_next":
        return f"waits for on_next of your subscriber to return, which is at {place}"
    return f"waits for the function of `{operator}` to return, which is at {place}"


OWN: Final = __name__.rpartition(".explain")[0] + "."
IN_FRONT: Final = ("source", "elements")
"""What a stage calls the elements of the stage upstream."""
BEHIND: Final = "receiver"
"""What a loop calls the one that takes its elements."""
CONTAINERS: Final = (list, tuple, deque, dict, set)
ENDS: Final = (FlowNode, Plan, BaseFlow, type)


@dataclass(frozen=True, slots=True)
class UpstreamState:
    """A place where elements arrive.

    ``operator``   to which it belongs; ``None`` for the origin of the run
    ``because``    what it waits for, if nothing is there and no other run brings it
    ``run``       the run that brings elements, if it is one of a flow
    ``giver``      the operator that made elements here in advance
    ``handed_on``  nothing more is made in advance: the run itself goes on with what is upstream
    """

    operator: str | None
    because: str
    requested: int = 0
    delivered: int | None = None
    buffered: int = 0
    capacity: int | None = None
    run: Any = None
    giver: str = ""
    ended: bool = False
    handed_on: bool = False


def supplies_of(run: Any) -> Iterator[UpstreamState]:
    """The places to which the last stage of a run leads, and where its elements cross over."""
    found: set[int] = set()
    todo: list[tuple[object, str | None]] = [(run.source, None), (run.prepared, None)]
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
            todo += [(each, operator) for each in contents(gc.get_referents(thing))]


def from_generator(
    generator: GeneratorType[Any, Any, Any], operator: str | None
) -> Iterator[tuple[object, str | None]]:
    """What a stage refers to, and the operator to which that belongs."""
    frame = generator.gi_frame
    if frame is None:
        return
    local = {name: value for name, value in frame.f_locals.items() if name != BEHIND}
    me = local.pop("self", None)
    own = me.name if isinstance(me, FlowNode) else operator
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
def supply_at(place: object, operator: str | None) -> UpstreamState | None:
    """What arrives at ``place``; ``None`` if it is no such place."""
    return None


@supply_at.register
def _(place: PrefetchSubscriber, operator: str | None) -> UpstreamState:
    return arriving_at(place, operator, place.came, len(place.arrived), place.capacity)


@supply_at.register
def _(place: OverflowSubscriber, operator: str | None) -> UpstreamState:
    return arriving_at(place, operator, place.admitted, len(place.kept), place.kept.capacity)


def arriving_at(
    inlet: BaseSubscriber, operator: str | None, came: int, buffered: int, capacity: int
) -> UpstreamState:
    """What a subscriber of ours has."""
    return UpstreamState(
        operator,
        "waits for its publisher",
        requested=inlet.asked,
        delivered=came,
        buffered=buffered,
        capacity=capacity,
        run=giver_to(inlet),
        ended=inlet.ending is not None,
    )


def names_in(plan: Plan) -> tuple[str, str]:
    """The first operator of a plan, and the last one that does something."""
    names = [name for names in plan.operators for name in names]
    return plan.origin.name, names[-1] if names else plan.origin.name


def giver_to(inlet: BaseSubscriber) -> Any:
    """The run that brings elements to ``inlet``, if it is one of a flow."""
    subscription = inlet.subscription
    if isinstance(subscription, BroadcastSubscription):
        return subscription.broadcast
    return subscription if isinstance(subscription, FlowSubscription) else None


@supply_at.register
def _(place: ThreadHandover, operator: str | None) -> UpstreamState:
    handed_on = place.handed_over
    return UpstreamState(
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
def _(place: Substream, operator: str | None) -> UpstreamState:
    return UpstreamState(
        operator, "waits for its group", buffered=len(place.arrived), run=place.router
    )


@supply_at.register
def _(place: StageTimer, operator: str | None) -> UpstreamState:
    return UpstreamState(operator, "waits for its clock", ended=not place.is_set)


@supply_at.register
def _(place: PendingCalls, operator: str | None) -> UpstreamState:
    done = sum(call.done for call in list(place.line))
    calls = len(place.going) - done
    return UpstreamState(
        operator, f"waits for {calls} of its calls", buffered=done, ended=not calls
    )
