"""``penstock checkpoint``: look at a checkpoint, back it up, rewind it, or begin again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import Any, Final

import click

from penstock.cli.failures import BadInput
from penstock.observe import PastRun
from penstock.observe.figures import count, duration
from penstock.pipeline.history import RunHistory
from penstock.pipeline.run_log import RUNNING, logged_runs
from penstock.runtime import printable
from penstock.spark.checkpoint import Checkpoint, CheckpointError
from penstock.spark.checkpoint_upkeep import (
    CheckpointSummary,
    JournalSummary,
    back_up,
    rewind,
    set_aside,
    summary_of,
)

__all__ = ["command"]

SHOWN_RUNS: Final = 10


@click.group(name="checkpoint")
def command() -> None:
    """Look at a checkpoint, back it up, rewind it, or begin again."""


def at_place(action: Callable[..., None]) -> Callable[..., None]:
    """Give an action the checkpoint at a place; what is wrong with it is one line."""

    @wraps(action)
    def called(place: str, **options: Any) -> None:
        with in_one_line():
            action(Checkpoint(place), **options)

    return click.argument("place")(called)


@contextmanager
def in_one_line() -> Iterator[None]:
    try:
        yield
    except (CheckpointError, OSError) as error:
        raise BadInput(printable(str(error))) from None


sure = click.option("--yes", is_flag=True, help="Do it without asking.")


@command.command()
@at_place
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def show(checkpoint: Checkpoint, as_json: bool) -> None:
    """Say whose it is, how far it has come, and what waits in it.

    Nothing is changed, and a run may have it meanwhile.
    """
    found = summary_of(checkpoint)
    history = RunHistory.opened(checkpoint)
    runs = [each.shown for each in logged_runs(checkpoint)]
    if as_json:
        click.echo(json.dumps({**for_programs(found, history), "runs": [*map(asdict, runs)]}))
        return
    click.echo(printable(found.place))
    for name, text in lines(found, history, runs):
        click.echo(printable(f"  {name:<10} {text}"))


@command.command()
@at_place
@click.argument("file", type=click.Path(path_type=Path))
def export(checkpoint: Checkpoint, file: Path) -> None:
    """Write all of it into a new file, a tar archive.

    To go on from there, unpack the file elsewhere and name that folder as the checkpoint.
    """
    back_up(checkpoint, file)
    click.echo(f"{checkpoint.place} is in {file} ({count(file.stat().st_size)} bytes)")


@command.command()
@at_place
@sure
def reset(checkpoint: Checkpoint, yes: bool) -> None:
    """Let the next run begin again: sources from their start, and sinks get everything.

    The checkpoint is not deleted, but gets another name.
    """
    found = summary_of(checkpoint)
    confirm(yes, f"{found.pipeline} would begin again, and sinks would get everything again.")
    click.echo(f"set aside as {set_aside(checkpoint)}; the next run begins again")


@command.command(name="rewind")
@at_place
@click.option("--to", type=int, required=True, metavar="BATCH", help="The last batch to keep.")
@sure
def rewind_to(checkpoint: Checkpoint, to: int, yes: bool) -> None:
    """Let the next run do the batches after BATCH again.

    That works as far back as what they were made of is kept: for long where Spark reads a source
    itself, but rows of a journal are gone once they are done.
    """
    found = summary_of(checkpoint)
    again = f"batches {to + 1} to {found.planned}" if to < found.planned else "no batch"
    confirm(yes or to >= found.planned, f"Sinks of {found.pipeline} would get {again} again.")
    rewind(checkpoint, to)
    click.echo(f"the next run goes on after batch {to}: sinks get {again} again")


def confirm(yes: bool, what: str) -> None:
    """Ask, unless the answer was given."""
    if not yes:
        click.confirm(f"{what} Go on?", abort=True, err=True)


def lines(
    found: CheckpointSummary, history: RunHistory | None, runs: Sequence[PastRun]
) -> Iterator[tuple[str, str]]:
    """What ``show`` prints."""
    yield "pipeline", f"{found.pipeline}, started {count(found.starts)} times"
    yield "spark", spark_line(found)
    for number, journal in enumerate(found.journals):
        yield f"journal-{number}", journal_line(journal)
    if history is not None:
        for name, sink in history.sinks.items():
            again = f", perhaps {count(sink.possibly_duplicated)} of them twice"
            yield (
                "sink",
                (
                    f"{name} was given {count(sink.delivered)}"
                    f"{again if sink.possibly_duplicated else ''}"
                ),
            )
        yield (
            "ledger",
            (
                f"restarts {count(history.restarts)}, replayed {count(history.replayed)}, "
                f"lost {count(history.lost)}{' or more' if 'lost' in history.at_least else ''}"
            ),
        )
    for run in runs[-SHOWN_RUNS:]:
        yield "run", run_line(run, is_in_use=bool(found.user))
    yield "in use", found.user or "no"


def run_line(run: PastRun, *, is_in_use: bool) -> str:
    """When it began, how it ended, and what it did; one that never said so was killed."""
    began = datetime.fromtimestamp(run.began).astimezone().isoformat(" ", "seconds")
    if run.state != RUNNING:
        state = run.state
    else:
        state = "runs, or was killed" if is_in_use else "killed"
    if state != run.state:
        return f"{began}, {state}"
    figures = ", ".join(
        f"{name.replace('_', ' ')} {'not known' if number is None else count(number)}"
        for name in ("taken", "delivered", "dead_letters", "lost")
        if (number := getattr(run, name)) != 0 or name != "dead_letters"
    )
    error = f"; {run.error}" if run.error else ""
    return f"{began}, {state} after {duration(run.seconds)}: {figures}{error}"


def spark_line(found: CheckpointSummary) -> str:
    """How far Spark has come."""
    if found.planned < 0:
        return "has begun no batch"
    done = "no batch is done" if found.done < 0 else f"batch {count(found.done)} is done"
    if found.planned == found.done:
        return done
    return f"{done}; batch {count(found.planned)} was begun and comes again"


def journal_line(journal: JournalSummary) -> str:
    """What waits in a journal."""
    rows = f"{count(journal.waiting)} rows wait, up to row {count(journal.end)}"
    end = "; its source is done" if journal.sealed else ""
    return f"{rows}{end}; {journal.schema}"


def for_programs(found: CheckpointSummary, history: RunHistory | None) -> dict[str, Any]:
    """The same as plain data."""
    sinks = {} if history is None else {name: vars(each) for name, each in history.sinks.items()}
    return {
        **found._asdict(),
        "journals": [each._asdict() for each in found.journals],
        "sinks": sinks,
        "restarts": 0 if history is None else history.restarts,
        "replayed": 0 if history is None else history.replayed,
        "lost": 0 if history is None else history.lost,
        "at_least": [] if history is None else [*history.at_least],
    }
