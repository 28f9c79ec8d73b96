"""Each element becomes a publisher, whose elements go on."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from typing import Any

from penstock.api import Publisher
from penstock.flow.arguments import require_publisher
from penstock.flow.elements import Elements, Host, started
from penstock.flow.operators.inputs import Input, open_input
from penstock.flow.operators.merging import Merging
from penstock.flow.stage import BY_TIME, UNKNOWN, Stage

__all__ = ["FlatMap"]


class FlatMap(Stage):
    """Portions of the publishers that a function makes, some of them at a time or one."""

    waits = True
    checked = True

    def __init__(
        self,
        name: str,
        function: Callable[[Any], Publisher[Any]],
        concurrency: int,
        prefetch: int,
    ) -> None:
        super().__init__(name)
        self._function = function
        self._concurrency = concurrency
        self._prefetch = prefetch
        # One after the other, they give the same again if each of the publishers does.
        self.rerun = UNKNOWN if self.one_at_a_time else BY_TIME

    @property
    def one_at_a_time(self) -> bool:
        """Whether a publisher is made when the one before has completed."""
        return self._concurrency == 1

    @property
    def function(self) -> Callable[[Any], Publisher[Any]]:
        """What makes a publisher of an element."""
        return self._function

    def calling(self, function: Callable[[Any], Publisher[Any]]) -> FlatMap:
        """The same with another function."""
        moved = copy(self)
        moved._function = function
        return moved

    def apply(self, elements: Elements, host: Host) -> Elements:
        """What it knows of its size is said at once."""
        return started(self.run(elements, host))

    def run(self, elements: Elements, host: Host) -> Elements:
        """Merge what the function makes of the elements."""
        merging = Merging(
            Input(elements, host, sized=host.sized),
            lambda element: self._opened(element, host),
            host,
            concurrency=self._concurrency,
        )
        host.sized = merging
        try:
            yield None
            yield from merging.portions()
        finally:
            merging.close()

    def _opened(self, element: Any, host: Host) -> Input:
        publisher = require_publisher(self.name, self._function(element))
        return open_input(publisher, host, prefetch=self._prefetch)
