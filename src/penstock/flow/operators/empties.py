"""What takes the place of elements that did not come."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.fluent import opened
from penstock.flow.stage import Stage

__all__ = ["SwitchIfEmpty"]


class SwitchIfEmpty(Stage):
    """The elements of another publisher if there are none."""

    waits = True

    def __init__(self, name: str, publisher: Publisher[Any]) -> None:
        super().__init__(name)
        self._publisher = publisher

    def run(self, elements: Elements, host: Host) -> Elements:
        """Look for the first element; behind it there is nothing to do."""
        for x in elements:
            yield x
            if x is not PENDING:
                yield from elements
                return
        yield from opened(self._publisher, host)
