"""Sources that open a flow of others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.flow import Flow
from tests.flow.case import Case


@contextmanager
def ten() -> Iterator[int]:
    yield 10


CASES = [
    Case("defer", lambda flow: Flow.defer(lambda: flow), lambda given: given),
    Case("resumable", lambda flow: Flow.resumable(lambda position: flow), lambda given: given),
    Case(
        "defer a chain",
        lambda flow: Flow.defer(lambda: flow.filter(lambda x: x % 2)).map(lambda x: x + 1),
        lambda given: [x + 1 for x in given if x % 2],
    ),
    Case(
        "using",
        lambda flow: Flow.using(ten, lambda number: flow.map(lambda x: x + number)),
        lambda given: [x + 10 for x in given],
    ),
]
