"""Each element becomes a publisher, which takes the place of the one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.checks import require_publisher
from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.engine.stage import BY_TIME, Stage
from penstock.flow.operators.inputs import InputElements, open_input

__all__ = ["SwitchMap"]


class SwitchMap(Stage):
    """The elements of the latest publisher that a function made.

    Calls the function on the thread that pulls the run.
    """

    rerun = BY_TIME
    waits = True
    checked = True
    inputs_per_output = UNBOUNDED

    def __init__(self, function: Callable[[Any], Publisher[Any]]) -> None:
        super().__init__("switch_map")
        self._function = function

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """How many elements the outer stream has says nothing of the inner ones."""
        run.sized = None
        return super().apply(elements, run)

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Check the outer stream before each element of the inner one."""
        outer = InputElements(elements, run)
        inner: InputElements | None = None
        run.ended.add(outer)  # the outer stream counts also while nothing is wanted
        try:
            while not run.over:
                if outer.peek():
                    if inner is not None:
                        inner.close()
                    inner = self._opened(outer.take(), run)
                elif inner is not None and inner.ready():
                    yield inner.take()
                elif outer.ended and (inner is None or inner.exhausted):
                    return
                else:
                    yield PENDING
        finally:
            run.ended.discard(outer)
            if inner is not None:
                inner.close()

    def _opened(self, element: Any, run: RunContext) -> InputElements:
        publisher = require_publisher(self.name, self._function(element))
        return open_input(publisher, run, self.name)
