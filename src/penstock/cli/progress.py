"""What a terminal shows of a pipeline while it runs: the same figures as the page."""

from __future__ import annotations

import time
from typing import Any, Final, TextIO

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from penstock.api import UNBOUNDED
from penstock.cli.failures import in_words
from penstock.cli.figures import count, duration, rate, seconds, short
from penstock.observe import EdgeView, View
from penstock.observe.words import in_short
from penstock.runtime import printable

__all__ = ["Progress"]

PLAIN_EVERY: Final = 2.0
"""The seconds between two lines where there is no terminal."""


class Progress:
    """A table that changes in place on a terminal; elsewhere a line now and then."""

    def __init__(self, stream: TextIO) -> None:
        self._console = Console(file=stream, highlight=False, markup=False, emoji=False)
        self._live: Live | None = None
        self._said = 0.0

    def say(self, text: str) -> None:
        """A line that stays."""
        self._console.print(printable(text, lines=True), soft_wrap=True)

    def show(self, view: View) -> None:
        """The pipeline as it is now."""
        if self._console.is_terminal:
            if self._live is None:
                self._live = Live(console=self._console, auto_refresh=False)
                self._live.start()
            self._live.update(picture(view), refresh=True)
        elif time.monotonic() - self._said >= PLAIN_EVERY:
            self._said = time.monotonic()
            self.say(line(view))

    def end(self, view: View) -> None:
        """The last picture, and the summary."""
        if self._live is not None:
            self._live.update(picture(view), refresh=True)
            self._live.stop()
            self._live = None
        self.say(summary(view))

    def failed(self, error: Exception, debug: bool) -> None:
        """Why it ended."""
        if debug:
            import traceback

            self.say("".join(traceback.format_exception(error)).rstrip())
        else:
            self.say(f"failed: {in_words(error)}")


def picture(view: View) -> Any:
    """Stages and edges as a table, with the sentence and the ledger below."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("stage", "passed", "per second", "asked for", "in flight", ""):
        table.add_column(column, justify="right" if column not in ("stage", "") else "left")
    edges = {each.edge.taker: each for each in view.edges}
    for each in view.stages:
        stage, edge = each.stage, edges.get(each.stage.name)
        style = "bold red" if each.slowest and stage.kind != "source" else "bold"
        table.add_row(
            shown(stage.name, style),
            count(stage.passed),
            rate(each.rate),
            asked(edge),
            "" if edge is None else in_flight(edge),
            shown(stage.trouble or stage.detail, "red" if stage.trouble else "dim"),
        )
    return Group(
        shown(headline(view), "bold"),
        table,
        Text(movement(view)),
        shown(view.sentence, "italic"),
        shown(in_short(view.ledger), "dim"),
    )


def shown(text: str, style: str) -> Text:
    """Words that may be of others, and command no terminal."""
    return Text(printable(text), style=style)


def headline(view: View) -> str:
    """The name, the state and the time; how far it has come."""
    parts = [view.pipeline, view.state.upper(), duration(view.seconds)]
    if view.batch is not None:
        parts.append(f"batch {count(view.batch.number)} ({seconds(view.batch.seconds)})")
    if view.checkpoint:
        parts.append(f"checkpoint {view.checkpoint}")
    if view.ledger.restarts:
        parts.append(f"restarted {count(view.ledger.restarts)}x")
    return "   ".join(parts)


def movement(view: View) -> str:
    """What the charts show of this moment."""
    point = view.point
    parts = [
        f"in {rate(point.rate_in)}, out {rate(point.rate_out)}",
        f"asked for {short(point.demand)}, in flight {short(point.in_flight)}",
    ]
    if point.p50 is not None and point.p99 is not None:
        parts.append(f"latency {seconds(point.p50)}, p99 {seconds(point.p99)}")
    if point.lag is not None:
        parts.append(f"lag {seconds(point.lag)}")
    return "   ".join(parts)


def asked(edge: EdgeView | None) -> str:
    """The demand at an edge."""
    if edge is None:
        return ""
    if edge.edge.requested >= UNBOUNDED:
        return "all"
    return short(max(edge.edge.requested - edge.edge.delivered, 0))


def in_flight(edge: EdgeView) -> str:
    """What is on its way, of the most that may be."""
    held, capacity = short(edge.edge.in_flight), edge.edge.capacity
    return held if capacity is None else f"{held} of {short(capacity)}"


def line(view: View) -> str:
    """The same in one line."""
    stages = ", ".join(
        f"{each.stage.name} {count(each.stage.passed)} ({rate(each.rate)})" for each in view.stages
    )
    return "   ".join(
        [headline(view), movement(view), stages, in_short(view.ledger), view.sentence]
    )


def summary(view: View) -> str:
    """What came of it."""
    return f"{view.pipeline} {view.state} after {view.seconds:.1f} s: {in_short(view.ledger)}"
