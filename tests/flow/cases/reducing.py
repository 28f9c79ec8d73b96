"""What makes one result of all elements."""

from __future__ import annotations

import operator
from functools import reduce

from tests.flow.case import Case

CASES = [
    Case(
        "reduce",
        lambda flow: flow.reduce(0, lambda total, x: total + x),
        lambda given: [sum(given)],
    ),
    Case(
        "reduce with an operator",
        lambda flow: flow.reduce(5, operator.sub),
        lambda given: [5 - sum(given)],
    ),
    Case(
        "reduce without a seed",
        lambda flow: flow.reduce(operator.sub),
        lambda given: [reduce(operator.sub, given)] if given else [],
    ),
    Case("collect", lambda flow: flow.collect(frozenset), lambda given: [frozenset(given)]),
    Case("count", lambda flow: flow.count(), lambda given: [len(given)]),
    Case("to_list", lambda flow: flow.to_list(), lambda given: [given]),
    Case("to_list twice", lambda flow: flow.to_list().to_list(), lambda given: [[given]]),
    Case("for_each", lambda flow: flow.for_each(lambda x: None), lambda given: []),
    Case(
        "a result, gone on with",
        lambda flow: flow.count().map(str),
        lambda given: [str(len(given))],
    ),
]
