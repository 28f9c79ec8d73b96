"""What the plan of a flow says before it runs: where its count of elements stays the same."""

from __future__ import annotations

from operator import is_
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.fluent import Fluent, stages_of
from penstock.flow.operators.hops import PublishOn, SubscribeOn
from penstock.flow.operators.limit_rate import LimitRate

__all__ = ["gives_one_for_each"]

LEVEL_HOPS: Final = (PublishOn, SubscribeOn, LimitRate)
"""Origins that only take over what a flow in front of them gives."""


def gives_one_for_each(flow: Publisher[Any], entrance: Publisher[Any]) -> bool:
    """Whether ``flow`` is known to give one element for each that ``entrance`` gives."""
    if flow is entrance:
        return True
    if not (isinstance(flow, Fluent) and isinstance(entrance, Fluent)):
        return False
    origin, stages = flow.plan.origin, stages_of(flow)
    if origin is entrance.plan.origin:
        before = stages_of(entrance)
        shared, behind = stages[: len(before)], stages[len(before) :]
        is_behind = len(shared) == len(before) and all(map(is_, shared, before))
        return is_behind and all(stage.level for stage in behind)
    return (
        isinstance(origin, LEVEL_HOPS)
        and all(stage.level for stage in stages)
        and gives_one_for_each(origin.upstream, entrance)
    )
