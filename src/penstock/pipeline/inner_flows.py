"""The flows of a pipeline by their segments, as ``explain`` has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.explain.explain import explain
from penstock.flow.explain.explanation import Explanation
from penstock.observe.status import FlowSegments

__all__ = ["inner_flows"]

MOST_SEGMENTS: Final = 40


def inner_flows(name: str, flow: Publisher[Any]) -> Iterator[FlowSegments]:
    """The flow, after those that it combines; nothing is known of publishers of others."""
    if isinstance(flow, BaseFlow) and not getattr(flow, "is_read_by_spark", False):
        yield from flattened(name, explain(flow))


def flattened(name: str, explanation: Explanation) -> Iterator[FlowSegments]:
    """What an explanation says, the flows that are combined first."""
    for number, each in enumerate(explanation.inputs, 1):
        yield from flattened(f"{name}, input {number}", each)
    segments = tuple(map(str, explanation.segments))
    yield FlowSegments(name, segments[:MOST_SEGMENTS])
