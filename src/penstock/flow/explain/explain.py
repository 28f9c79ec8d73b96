"""A flow, its plan and its runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.plan import Plan
from penstock.flow.explain.explanation import ExplainedSegment, Explanation
from penstock.flow.explain.run_status import run_of
from penstock.flow.multicast.shared_flow import FromSharing, SharedFlow

__all__ = ["explain"]


def explain(flow: BaseFlow[Any]) -> Explanation:
    """What ``flow`` is made of, and what its runs wait for now."""
    plan = flow.plan
    return Explanation(plan.title, tuple(segments_of(plan)), tuple(map(run_of, runs_of(flow))))


def runs_of(flow: BaseFlow[Any]) -> Iterator[Any]:
    """Those who run ``flow`` now; subscribers of a shared flow have one run together."""
    origin = flow.plan.origin
    if isinstance(flow, SharedFlow) and isinstance(origin, FromSharing):
        shared = origin.sharing.shared_run
        if shared.subscriptions or shared.source is not None:
            yield shared
    for reference in flow.plan.runs.copy():
        run = reference()
        if run is not None and not run.over:
            yield run


def segments_of(plan: Plan) -> Iterator[ExplainedSegment]:
    """The parts of a plan, those upstream of its boundaries included."""
    origin = plan.origin
    if isinstance(origin.upstream, BaseFlow):
        yield from segments_of(origin.upstream.plan)
    executor = "" if origin.executor is None else type(origin.executor).__name__
    yield ExplainedSegment((origin.name,), executor)
    for names in plan.operators:
        yield ExplainedSegment(names)
