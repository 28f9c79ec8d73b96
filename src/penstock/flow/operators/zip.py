"""The first elements of several publishers together, then the second ones, and so on."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.operators.combination import Combination
from penstock.flow.operators.inputs import Input
from penstock.flow.stage import FROM_START

__all__ = ["Zip"]


class Zip(Combination):
    """Tuples of one element of each input."""

    rerun = FROM_START

    def combined(self, inputs: list[Input], host: Host) -> Elements:
        """Nobody waits, and nobody asks for what is discarded: the builtin does it."""
        if self.waits or host.discards:
            return self._paired(inputs, host)
        return zip(*[each.rest() for each in inputs], strict=False)

    def _paired(self, inputs: list[Input], host: Host) -> Elements:
        """Look at all inputs first, so that those that wait do so at the same time."""
        while inputs and not host.over:
            ready = [self.ready(each) for each in inputs]
            if any(each.exhausted for each in inputs):
                return
            if all(ready):
                yield tuple([each.take() for each in inputs])
            else:
                yield PENDING

    def left(self, hints: Sequence[int]) -> int:
        """The shortest one ends it."""
        return min(hints, default=0)
