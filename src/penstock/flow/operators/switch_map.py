"""Each element becomes a publisher, which takes the place of the one before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.arguments import require_publisher
from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.operators.inputs import Input, open_input
from penstock.flow.stage import BY_TIME, Stage

__all__ = ["SwitchMap"]


class SwitchMap(Stage):
    """The elements of the latest publisher that a function made."""

    rerun = BY_TIME
    waits = True
    checked = True
    each = UNBOUNDED

    def __init__(self, function: Callable[[Any], Publisher[Any]]) -> None:
        super().__init__("switch_map")
        self._function = function

    def apply(self, elements: Elements, host: Host) -> Elements:
        """How many elements the outer stream has says nothing of the inner ones."""
        host.sized = None
        return super().apply(elements, host)

    def run(self, elements: Elements, host: Host) -> Elements:
        """Look at the outer stream in front of each element of the inner one."""
        outer = Input(elements, host)
        inner: Input | None = None
        host.ended.add(outer)  # the outer stream counts also while nothing is wanted
        try:
            while not host.over:
                if outer.look():
                    if inner is not None:
                        inner.close()
                    inner = self._opened(outer.take(), host)
                elif inner is not None and inner.ready():
                    yield inner.take()
                elif outer.ended and (inner is None or inner.exhausted):
                    return
                else:
                    yield PENDING
        finally:
            host.ended.discard(outer)
            if inner is not None:
                inner.close()

    def _opened(self, element: Any, host: Host) -> Input:
        return open_input(require_publisher(self.name, self._function(element)), host)
