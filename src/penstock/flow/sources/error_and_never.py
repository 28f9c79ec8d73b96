"""Flows without elements."""

from __future__ import annotations

from itertools import repeat

from penstock.flow.engine.run_context import PENDING, Elements, RunContext
from penstock.flow.engine.stage import Origin

__all__ = ["Error", "Never"]


class Error(Origin):
    """Nothing but an error."""

    replay = "from_start"
    waits = False
    checked = True

    def __init__(self, error: Exception) -> None:
        super().__init__("error")
        self._error = error

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Fail at once."""
        raise self._error


class Never(Origin):
    """Nothing at all."""

    replay = "from_start"
    checked = True

    def __init__(self) -> None:
        super().__init__("never")

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Wait forever."""
        return repeat(PENDING)
