"""Flows without elements."""

from __future__ import annotations

from itertools import repeat

from penstock.flow.elements import PENDING, Elements, Host
from penstock.flow.stage import Origin

__all__ = ["Error", "Never"]


class Error(Origin):
    """Nothing but an error."""

    replay = "from_start"
    waits = False
    checked = True

    def __init__(self, error: Exception) -> None:
        super().__init__("error")
        self._error = error

    def open(self, host: Host, each: int) -> Elements:
        """Fail at once."""
        raise self._error


class Never(Origin):
    """Nothing at all."""

    replay = "from_start"
    checked = True

    def __init__(self) -> None:
        super().__init__("never")

    def open(self, host: Host, each: int) -> Elements:
        """Wait for what nobody will bring."""
        return repeat(PENDING)
