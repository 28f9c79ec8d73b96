"""What makes one result of all elements."""

from __future__ import annotations

import operator
from functools import reduce

from penstock.flow import X
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
    Case(
        "any",
        lambda flow: flow.any(lambda x: x % 5 == 0),
        lambda given: [any(x % 5 == 0 for x in given)],
        claims={"cancels_early": True},
    ),
    Case(
        "all",
        lambda flow: flow.all(X % 5),
        lambda given: [all(x % 5 for x in given)],
        claims={"cancels_early": True},
    ),
    Case(
        "contains",
        lambda flow: flow.contains(3),
        lambda given: [3 in given],
        claims={"cancels_early": True},
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
