"""The fastest of several publishers."""

from __future__ import annotations

from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.operators.combination import Combination
from penstock.flow.operators.inputs import Input, close_all
from penstock.flow.stage import BY_TIME

__all__ = ["Race"]


class Race(Combination):
    """The elements of whichever input is the first to give anything, be it its end."""

    rerun = BY_TIME

    def combined(self, inputs: list[Input], host: Host) -> Elements:
        """Look at one after the other until one has something."""
        while inputs and not host.over:
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
