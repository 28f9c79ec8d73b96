"""What sources of complete files share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.flow import Flow
from penstock.flow.elements import Elements, Host
from penstock.flow.stage import Origin, Replay

__all__ = ["from_file"]


class FromFile(Origin):
    """The elements of a file, which is read anew for each host, and closed with it."""

    waits = False
    checked = True
    replay: Replay = "from_start"

    def __init__(self, name: str, content: Iterable[Any]) -> None:
        super().__init__(name)
        self._content = content

    def open(self, host: Host, each: int) -> Elements:
        """Nothing is opened before the first pull."""
        yield from self._content  # in a frame of ours: errors are to name this source


def from_file(name: str, content: Iterable[Any]) -> Flow[Any]:
    """The elements of ``content``, under the name of its connector."""
    return Flow(FromFile(name, content))
