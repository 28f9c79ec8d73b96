"""What ``penstock run`` says while a pipeline runs, and what a terminal shows of it.

All of it goes to one stream, the standard error: the standard output is for the sinks.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, Self, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.cli.failures import in_words
from penstock.observe import EdgeStatus, Status
from penstock.observe.figures import (
    asked,
    count,
    duration,
    headline,
    in_flight,
    movement,
    passed,
    rate,
    seconds,
    short,
)
from penstock.observe.ledger import in_short
from penstock.runtime import printable

__all__ = [
    "RunProgress",
    "TerminalProgress",
    "count",
    "duration",
    "leftovers",
    "rate",
    "seconds",
    "short",
    "summary",
]


class RunProgress(ABC):
    """Says what becomes of a pipeline, in a ``with`` block around its run."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    @abstractmethod
    def say(self, text: str) -> None:
        """What is good to know."""

    @abstractmethod
    def warn(self, text: str) -> None:
        """What somebody has to know, even if nothing else is said."""

    @abstractmethod
    def show(self, status: Status) -> None:
        """The pipeline as it is now."""

    @abstractmethod
    def end(self, status: Status) -> None:
        """The pipeline as it was in the end."""

    def failed(self, error: Exception, debug: bool) -> None:
        """Why it ended."""
        words = "".join(traceback.format_exception(error)).rstrip() if debug else in_words(error)
        self.warn(words if debug else f"failed: {words}")


class TerminalProgress(RunProgress):
    """A table that changes in place, and lines above it that stay."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(printable(text, lines=True), soft_wrap=True)

    def warn(self, text: str) -> None:
        """A line that stays."""
        self.say(text)

    def show(self, status: Status) -> None:
        """The table of now, in the place of the one before."""
        if self._live is None:
            self._live = Live(console=self._console, auto_refresh=False)
            self._live.start()
        self._live.update(picture(status), refresh=True)

    def end(self, status: Status) -> None:
        """The final table, and the summary."""
        if self._live is not None:
            self._live.update(picture(status), refresh=True)
            self._live.stop()
            self._live = None
        self.say(summary(status))


def picture(status: Status) -> Any:
    """Stages and edges as a table, followed by the sentence and the ledger."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("stage", "passed", "per second", "asked for", "in flight", ""):
        table.add_column(column, justify="right" if column not in ("stage", "") else "left")
    edges = {each.taker: each for each in status.edges}
    for stage in status.stages:
        edge = edges.get(stage.name)
        style = "bold red" if stage.slowest and stage.kind != "source" else "bold"
        table.add_row(
            shown(stage.name, style),
            passed(status, stage),
            rate(stage.rate),
            asked(status, edge),
            in_flight(status, edge),
            shown(stage.trouble or stage.detail, "red" if stage.trouble else "dim"),
        )
    return Group(
        shown(headline(status), "bold"),
        table,
        Text(movement(status)),
        shown(status.sentence, "italic"),
        shown(in_short(status.ledger), "dim"),
    )


def shown(text: str, style: str) -> Text:
    """Text that may come from others, so that it controls no terminal."""
    return Text(printable(text), style=style)


def summary(status: Status) -> str:
    """What came of it."""
    return (
        f"{status.pipeline} {status.state} after {status.seconds:.1f} s: {in_short(status.ledger)}"
    )


def leftovers(status: Status) -> list[str]:
    """A line for each journal that holds rows, and for each sink that does not take any."""
    kinds = {stage.name: stage.kind for stage in status.stages}
    lines: list[str] = []
    for edge in status.edges:
        if kinds.get(edge.giver) == "journal" and edge.in_flight:
            lines.append(f"{count(edge.in_flight)} rows in the {edge.giver}, {fate(status)}")
    edges = {edge.taker: edge for edge in status.edges if kinds.get(edge.taker) == "sink"}
    return lines + [line for edge in edges.values() for line in of_sink(edge)]


def fate(status: Status) -> str:
    """What becomes of the rows in a journal."""
    if status.checkpoint == "none":
        return "which are lost, since there is no checkpoint"
    return "with which the next run goes on"


def of_sink(edge: EdgeStatus) -> Iterator[str]:
    """What the pipeline waits for at a sink, if it waits for the sink."""
    if edge.in_flight:
        yield f"the sink {edge.taker} has not finished {count(edge.in_flight)} that it was given"
    elif edge.requested <= edge.delivered:
        yield f"the sink {edge.taker} does not ask for more"
