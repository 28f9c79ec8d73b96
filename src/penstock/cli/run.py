"""``penstock run``: runs a pipeline, shows what it does, and ends it without loss."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import click

from penstock.cli.failures import explained
from penstock.cli.loading import load_pipeline, load_settings
from penstock.cli.options import RunOptions, place_options
from penstock.cli.progress import Progress
from penstock.observe import Observer
from penstock.pipeline import PipelineRun

__all__ = ["command"]

EXIT_CODES: Final = {"completed": 0, "failed": 1, "stopped": 3}
INTERRUPTED: Final = 130
LOOK: Final = 0.1
"""The seconds within which a signal is heeded."""
DRAINING: Final = "draining: what was taken still comes through; Ctrl-C again stops at once"
TOKEN: Final = "PENSTOCK_DASHBOARD_TOKEN"


@click.command(name="run")
@place_options
@click.option("--dashboard", is_flag=True, default=None, help="Serve the live page.")
@click.option("--port", type=click.IntRange(0, 65535), help="The port of the page.")
@click.option(
    "--accept-state-change",
    is_flag=True,
    default=None,
    help="Let a changed query read the state of the one before.",
)
def command(
    reference: str,
    config: Path | None,
    assignments: tuple[str, ...],
    debug: bool,
    **given: Any,
) -> None:
    """Run a pipeline until its sources are done.

    Ctrl-C takes nothing more from the sources, lets through what was taken, and stops; a second
    one stops at once. Run it again with the same checkpoint, and it goes on where it was.

    The exit code is 0 if all is done, 3 if it was stopped, 1 if it failed, 2 if it could not
    start, and 130 after the second Ctrl-C.
    """
    with explained(debug):
        pipeline = load_pipeline(reference)
        options, settings = load_settings(pipeline, config, assignments, RunOptions())
        options = options.with_given(given)
        run = PipelineRun(pipeline, settings, options.place)
        run.require_own_place()
        sys.exit(watched(run, options, debug))


def watched(run: PipelineRun, options: RunOptions, debug: bool) -> int:
    """Run it with everything around it; the exit code."""
    observer = Observer(run.name, run.reading)
    progress = Progress(sys.stderr)
    interrupts = Interrupts(run, progress)
    with interrupts, ExitStack() as around:  # whoever reads the address may press Ctrl-C at once
        if options.dashboard:
            around.enter_context(served(observer, options.port, progress))
        observer.listen(progress.show)
        run.start()
        observer.start()
        while not run.wait(LOOK):
            interrupts.heed()
        observer.close()
        progress.end(observer.view)
    if run.error is not None:
        progress.failed(run.error, debug)
    return INTERRUPTED if interrupts.stopped else EXIT_CODES[run.state]


@contextmanager
def served(observer: Observer, port: int, progress: Progress) -> Iterator[None]:
    """The live page, for as long as the pipeline runs."""
    from penstock.observe.dashboard import Dashboard

    # Whoever starts the pipeline again wants its page at the same address.
    with Dashboard(observer, port=port, token=os.environ.get(TOKEN)) as dashboard:
        progress.say(f"the page: {dashboard.address}")
        yield


class Interrupts:
    """The first Ctrl-C, or SIGTERM, drains; the second one stops."""

    def __init__(self, run: PipelineRun, progress: Progress) -> None:
        self.count = 0
        self._heeded = 0
        self._run = run
        self._progress = progress
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @property
    def stopped(self) -> bool:
        """Whether nobody waited for what was taken."""
        return self._heeded > 1

    def heed(self) -> None:
        """Do what the signals since the last call ask for."""
        while self._heeded < self.count:
            self._heeded += 1
            if self._heeded == 1:
                self._progress.say(DRAINING)
                self._run.drain()
            else:
                self._run.stop()

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # Only counted: the code that a signal interrupts may hold the locks of all the rest.
        self.count += 1
