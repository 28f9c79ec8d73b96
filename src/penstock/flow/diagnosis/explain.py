"""A flow, its plan and its runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.flow.diagnosis.explanation import Explanation, Segment
from penstock.flow.diagnosis.looking import run_of
from penstock.flow.fluent import Fluent
from penstock.flow.plan import Plan
from penstock.flow.sharing.shared_flow import FromSharing, SharedFlow

__all__ = ["explain"]


def explain(flow: Fluent[Any]) -> Explanation:
    """What ``flow`` is made of, and what its runs wait for now."""
    plan = flow.plan
    return Explanation(plan.title, tuple(segments_of(plan)), tuple(map(run_of, hosts_of(flow))))


def hosts_of(flow: Fluent[Any]) -> Iterator[Any]:
    """Those who run ``flow`` now; subscribers of a shared flow have one run together."""
    origin = flow.plan.origin
    if isinstance(flow, SharedFlow) and isinstance(origin, FromSharing):
        hub = origin.sharing.hub
        if hub.members or hub.source is not None:
            yield hub
    for reference in flow.plan.runs.copy():
        host = reference()
        if host is not None and not host.over:
            yield host


def segments_of(plan: Plan) -> Iterator[Segment]:
    """The parts of a plan, those in front of its boundaries included."""
    origin = plan.origin
    upstream = getattr(origin, "upstream", None)
    if isinstance(upstream, Fluent):
        yield from segments_of(upstream.plan)
    executor = "" if origin.executor is None else type(origin.executor).__name__
    yield Segment((origin.name,), executor)
    for names in plan.operators:
        yield Segment(names)
