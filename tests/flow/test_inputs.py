"""What an operator subscribes to, it declares: that is how flows are rewritten."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from penstock import CallingThread, Flow
from penstock.flow.base_flow import BaseFlow, origins_of, rewritten, stages_of
from penstock.flow.engine.stage import FlowNode, Origin
from penstock.flow.sources.creating import FromIterable
from tests.flow.all_cases import EVERY_CASE
from tests.flow.case import Case


def nodes_of(flow: Any) -> Iterator[FlowNode]:
    """All operators of a flow, and of the flows that they subscribe to."""
    if isinstance(flow, BaseFlow):
        for node in (flow.plan.origin, *stages_of(flow)):
            yield node
            for each in node.inputs:
                yield from nodes_of(each)


def held_by(node: FlowNode) -> Iterator[BaseFlow[Any]]:
    """The flows that its attributes refer to."""
    for value in vars(node).values():
        for each in value if isinstance(value, tuple | list) else (value,):
            if isinstance(each, BaseFlow):
                yield each


@EVERY_CASE
def test_each_flow_that_an_operator_holds_is_among_its_inputs(case: Case) -> None:
    for node in nodes_of(case.apply(Flow.range(3))):
        assert {*map(id, held_by(node))} <= {*map(id, node.inputs)}
        assert not isinstance(node, Origin) or {*map(id, node.upstreams)} <= {*map(id, node.inputs)}


def test_a_flow_is_rewritten_upstream_of_all_boundaries_and_on_each_branch() -> None:
    one, other = Flow.range(2).publish_on(CallingThread()), Flow.of(7)
    flow = Flow.concat(one, other).limit_rate(4).map(lambda number: number + 1)

    def moved(origin: Origin) -> Origin | None:
        return FromIterable("moved", [5]) if isinstance(origin, FromIterable) else None

    changed = rewritten(flow, moved)
    assert changed.to_list().run_sync() == [6, 6]
    assert flow.to_list().run_sync() == [1, 2, 8]  # which is as it was
    assert [each.name for each in origins_of(changed)] == [
        "limit_rate",
        "concat",
        "publish_on",
        "moved",
        "moved",
    ]
