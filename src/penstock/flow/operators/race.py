"""The fastest of several publishers."""

from __future__ import annotations

from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.engine.stage import BY_TIME
from penstock.flow.operators.combination import Combination
from penstock.flow.operators.inputs import InputElements, close_all

__all__ = ["Race"]


class Race(Combination):
    """The elements of whichever input is the first to give anything, even if only its end."""

    rerun = BY_TIME

    def combined(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """Poll one input after the other until one has something."""
        while inputs and not run.over:
            for number, each in enumerate(inputs):
                if self.ready(each) or each.ended:
                    winner = inputs.pop(number)
                    break
            else:
                yield PENDING
                continue
            losers, inputs[:] = inputs[:], [winner]
            close_all(losers)
            yield from winner.rest()
            return
