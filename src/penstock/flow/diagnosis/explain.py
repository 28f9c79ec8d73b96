"""A flow, its plan and its runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock.flow.diagnosis.explanation import Explanation, Segment
from penstock.flow.diagnosis.looking import run_of
from penstock.flow.fluent import Fluent
from penstock.flow.plan import Plan

__all__ = ["explain"]


def explain(flow: Fluent[Any]) -> Explanation:
    """What ``flow`` is made of, and what its runs wait for now."""
    plan = flow.plan
    hosts = [reference() for reference in plan.runs.copy()]
    runs = [run_of(host) for host in hosts if host is not None and not host.over]
    return Explanation(plan.title, tuple(segments_of(plan)), tuple(runs))


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
