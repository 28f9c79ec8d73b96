"""What comes before a flow, and what comes after it."""

from __future__ import annotations

from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.base_flow import opened
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close
from penstock.flow.engine.stage import FROM_START, Stage
from penstock.flow.operators.inputs import may_wait

__all__ = ["StartWith", "Then"]


class StartWith(Stage):
    """Given elements first."""

    rerun = FROM_START

    def __init__(self, elements: tuple[Any, ...]) -> None:
        super().__init__("start_with")
        self._elements = elements

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """The given elements, then those from upstream."""
        yield from self._elements
        yield from elements


class Then(Stage):
    """The elements of another publisher, once there are no more."""

    inputs_per_output = UNBOUNDED

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("then")
        self.waits = may_wait(publisher)
        self._publisher = publisher
        self.inputs = (publisher,)

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Leave out all elements from upstream, then open the other publisher."""
        for x in elements:
            if run.over:
                return
            if x is PENDING:
                yield x
        others = opened(self._publisher, run, operator=self.name)
        try:
            yield from others
        finally:
            close(others)
