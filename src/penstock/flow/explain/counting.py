"""How many elements a run has delivered, read off what counts anyway.

No loop counts for this. Where demand has a bound, a loop counts its elements to keep to it.
Otherwise an iterator over something with a length knows where it stands, and a place where elements
arrive knows how many came. Downstream of stages that leave out or add elements, that says nothing.
"""

from __future__ import annotations

from collections.abc import Sized
from operator import length_hint
from typing import Any

from penstock.api import UNBOUNDED
from penstock.flow.engine.fusion import FusedSegment
from penstock.flow.engine.plan import Plan
from penstock.flow.engine.subscription import FlowSubscription
from penstock.flow.explain.upstreams import wait_states
from penstock.flow.operators.threads import ThreadHandover
from penstock.flow.sources.from_iterable import FromIterable

__all__ = ["delivered_by"]


def delivered_by(driver: FlowSubscription[Any]) -> int | None:
    """What a run has delivered; ``None`` if nothing counts it."""
    if driver.requested >= UNBOUNDED:
        return passed(driver.plan, driver)
    return driver.delivered


def passed(plan: Plan, driver: FlowSubscription[Any]) -> int | None:
    """How many elements have come to the end of a plan, if as many as have left its origin."""
    for part in plan.segments:
        stages = part.stages if isinstance(part, FusedSegment) else (part,)
        if not all(stage.one_to_one for stage in stages):
            return None
    return left_origin(plan, driver)


def left_origin(plan: Plan, driver: FlowSubscription[Any]) -> int | None:
    """How many elements the stages downstream of the origin of a plan have taken."""
    if isinstance(plan.origin, FromIterable):
        return position(plan.origin.iterable, driver.sized)
    crossing = driver.prepared
    if isinstance(crossing, ThreadHandover) and crossing.handed_over:
        came = passed(crossing.plan, driver)
        return None if came is None else came - len(crossing.arrived)
    for state in wait_states(driver):
        if state.operator is None and state.delivered is not None:
            return state.delivered - state.buffered
    return None


def position(iterable: object, iterator: object) -> int | None:
    """How many elements an iterator has given, if it knows how many are left."""
    try:
        left = length_hint(iterator, -1)
        return len(iterable) - left if left >= 0 and isinstance(iterable, Sized) else None
    except OverflowError:  # a range may have more elements than a length can say
        return None
