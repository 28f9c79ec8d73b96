"""What comes before a flow, and what comes behind it."""

from __future__ import annotations

from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.flow.elements import PENDING, Elements, Host, close
from penstock.flow.fluent import opened
from penstock.flow.operators.inputs import may_wait
from penstock.flow.stage import FROM_START, Stage

__all__ = ["StartWith", "Then"]


class StartWith(Stage):
    """Given elements first."""

    rerun = FROM_START

    def __init__(self, elements: tuple[Any, ...]) -> None:
        super().__init__("start_with")
        self._elements = elements

    def run(self, elements: Elements, host: Host) -> Elements:
        """One after the other."""
        yield from self._elements
        yield from elements


class Then(Stage):
    """The elements of another publisher, once there are no more."""

    each = UNBOUNDED

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("then")
        self.waits = may_wait(publisher)
        self._publisher = publisher

    def run(self, elements: Elements, host: Host) -> Elements:
        """Leave out all elements."""
        for x in elements:
            if host.over:
                return
            if x is PENDING:
                yield x
        others = opened(self._publisher, host)
        try:
            yield from others
        finally:
            close(others)
