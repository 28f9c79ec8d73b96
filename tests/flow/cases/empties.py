"""What takes the place of elements that did not come."""

from __future__ import annotations

from penstock import IterablePublisher
from penstock.flow import Flow
from tests.flow.case import Case

CASES = [
    Case(
        "default_if_empty",
        lambda flow: flow.default_if_empty("nothing"),
        lambda given: given or ["nothing"],
    ),
    Case(
        "default_if_empty downstream of filter",
        lambda flow: flow.filter(lambda x: False).default_if_empty("nothing"),
        lambda given: ["nothing"],
    ),
    Case(
        "switch_if_empty to one element",
        lambda flow: flow.switch_if_empty(Flow.of(-1)),
        lambda given: given or [-1],
    ),
    Case(
        "switch_if_empty to a flow",
        lambda flow: flow.switch_if_empty(Flow.range(3)),
        lambda given: given or [0, 1, 2],
    ),
    Case(
        "switch_if_empty to a publisher",
        lambda flow: flow.filter(lambda x: False).switch_if_empty(IterablePublisher([1, 2])),
        lambda given: [1, 2],
    ),
]
