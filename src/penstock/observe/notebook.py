"""A running pipeline in a notebook: its picture, which changes in place."""

from __future__ import annotations

import builtins
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from penstock.observe.figures import asked, headline, in_flight, movement, passed, rate
from penstock.observe.ledger import in_short
from penstock.runtime.drawing import figure, line, table

if TYPE_CHECKING:
    from penstock.observe.status import StageStatus, Status

__all__ = ["NotebookProgress", "drawn_status"]

HEADS: Final = ("stage", "passed", "per second", "asked for", "in flight", "")


def drawn_status(status: Status) -> str:
    """Stages and edges as a table, followed by the sentence and the ledger."""
    edges = {each.taker: each for each in status.edges}
    rows = [
        (
            f"{stage.name} (the slowest)" if is_bottleneck(stage) else stage.name,
            passed(status, stage),
            rate(stage.rate),
            asked(status, edges.get(stage.name)),
            in_flight(status, edges.get(stage.name)),
            stage.trouble or stage.detail,
        )
        for stage in status.stages
    ]
    return figure(
        headline(status),
        table(HEADS, rows, numbers=(1, 2, 3, 4)),
        line(movement(status), faint=True),
        *([line(status.sentence)] if status.sentence else []),
        line(in_short(status.ledger)),
        *(line(each.text) for each in status.errors),
    )


def is_bottleneck(stage: StageStatus) -> bool:
    """Whether the others wait for this stage, as the terminal marks it."""
    return stage.slowest and stage.kind != "source"


class NotebookProgress:
    """Shows each status in the place of the one before; outside of notebooks, nothing.

    It uses what a notebook has imported anyway, on the thread that calls it.
    """

    def __init__(self) -> None:
        self._display = display_of_a_notebook()
        self._handle: Any = None

    def show(self, status: Status) -> None:
        """The pipeline as it is now."""
        if self._display is None:
            return
        if self._handle is None:
            self._handle = self._display(status, display_id=True)
        else:
            self._handle.update(status)


def display_of_a_notebook() -> Any:
    """``IPython.display.display``, if this program is the kernel of a notebook."""
    get_shell = getattr(builtins, "get_ipython", None)  # IPython puts it there while a cell runs
    if get_shell is None or getattr(get_shell(), "kernel", None) is None:
        return None  # IPython on a terminal would print line upon line
    return import_module("IPython.display").display
