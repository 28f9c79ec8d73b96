"""What sources of complete files share."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.flow import Flow
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin, Replay

__all__ = ["from_file"]


class FromFile(Origin):
    """The elements of a file, which is read again for each run, and closed with it.

    It is read on the thread of the run.
    """

    waits = False
    checked = True
    replay: Replay = "from_start"

    def __init__(self, name: str, content: Iterable[Any]) -> None:
        super().__init__(name)
        self._content = content

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Nothing is opened before the first pull."""
        yield from self._content  # in a frame of ours: errors are to name this source


def from_file(name: str, content: Iterable[Any]) -> Flow[Any]:
    """The elements of ``content``, under the name of its connector."""
    return Flow(FromFile(name, content))
