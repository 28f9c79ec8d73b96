"""The first elements of several publishers together, then the second ones, and so on."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.engine.stage import FROM_START
from penstock.flow.operators.combination import Combination
from penstock.flow.operators.inputs import InputElements

__all__ = ["Zip"]


class Zip(Combination):
    """Tuples of one element of each input."""

    rerun = FROM_START

    def combined(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """The builtin ``zip``, if no input waits and no listener is told of discarded elements."""
        if self.waits or run.discards:
            return self._paired(inputs, run)
        return zip(*[each.rest() for each in inputs], strict=False)

    def _paired(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """Check all inputs first, so that those that wait do so at the same time."""
        while inputs and not run.over:
            ready = [self.ready(each) for each in inputs]
            if any(each.exhausted for each in inputs):
                return
            if all(ready):
                yield tuple([each.take() for each in inputs])
            else:
                yield PENDING

    def left(self, hints: Sequence[int]) -> int:
        """As many as the shortest input has left."""
        return min(hints, default=0)
