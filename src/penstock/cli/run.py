"""``penstock run``: runs a pipeline, shows what it does, and ends it without loss."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final, TextIO

import click

from penstock.cli.arguments import (
    LOG_FORMATS,
    RunOptions,
    load_pipeline,
    load_settings,
    place_options,
)
from penstock.cli.failures import explained
from penstock.cli.log_progress import JsonProgress, LineProgress
from penstock.cli.progress import RunProgress, TerminalProgress, leftovers
from penstock.cli.service import ServiceManager
from penstock.observe import Observer
from penstock.pipeline import PipelineRun

__all__ = ["command"]

EXIT_CODES: Final = {"completed": 0, "failed": 1, "stopped": 3}
INTERRUPTED: Final = 130
POLL: Final = 0.1
"""The seconds within which a signal is heeded."""
NOT_BEGUN: Final = "stopped before it began"
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
@click.option(
    "--accept-lost-batches",
    is_flag=True,
    default=None,
    help="Go on although a sink lacks batches that it had.",
)
@click.option(
    "--drain-timeout",
    type=float,
    metavar="SECONDS",
    help="How long Ctrl-C waits for what was taken; 30 by default.",
)
@click.option(
    "--tls-certificate", type=click.Path(path_type=Path), help="Serve the page by TLS: a PEM file."
)
@click.option("--tls-key", type=click.Path(path_type=Path), help="The key of that certificate.")
@click.option(
    "--spark-page",
    is_flag=True,
    default=None,
    help="Serve Spark's own page, too: on this machine, to all its users, for it knows no token.",
)
@click.option(
    "--samples/--no-samples",
    default=None,
    help="Whether the page may show elements: the last rows at each edge, and dead letters.",
)
@click.option("--quiet", is_flag=True, default=None, help="Say nothing but what went wrong.")
@click.option(
    "--log-format",
    type=click.Choice(LOG_FORMATS),
    help="Lines for people, or for programs: an object each, instead of the table.",
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
    with Interrupts() as interrupts, explained(debug):
        try:
            pipeline = load_pipeline(reference)
            options, settings = load_settings(pipeline, config, assignments, RunOptions())
            options = options.with_given(given)
            options.require_complete()
            run = PipelineRun(pipeline, settings, options.target)
            run.require_own_checkpoint()
            interrupts.only_count()
        except KeyboardInterrupt:
            click.echo(NOT_BEGUN, err=True)
            sys.exit(interrupts.code_of_stop)
        sys.exit(watched(run, options, debug, interrupts))


def watched(run: PipelineRun, options: RunOptions, debug: bool, interrupts: Interrupts) -> int:
    """Run it with everything around it; the exit code."""
    observer, manager = Observer(run.name, run.status), ServiceManager.of(os.environ)
    with ExitStack() as around:
        progress = around.enter_context(progress_on(sys.stderr, options))
        if options.dashboard:
            around.enter_context(served(observer, options, progress))
        observer.listen(progress.show)
        if manager is not None:
            observer.listen(manager.tell)
        run.start()
        observer.start()
        draining = Draining(run, progress, options.drain_timeout)
        while not run.wait(POLL):
            draining.heed(interrupts.count)
        observer.close()
        progress.end(observer.status)
        if run.error is not None:
            progress.failed(run.error, debug)
    return INTERRUPTED if draining.stopped else EXIT_CODES[run.state]


def progress_on(stream: TextIO, options: RunOptions) -> RunProgress:
    """A table if ``stream`` is a terminal, else lines."""
    if options.log_format == "json":
        return JsonProgress(stream, quiet=options.quiet)
    if stream.isatty() and not options.quiet:
        return TerminalProgress(stream)
    return LineProgress(stream, quiet=options.quiet)


@contextmanager
def served(observer: Observer, options: RunOptions, progress: RunProgress) -> Iterator[None]:
    """The live page, for as long as the pipeline runs."""
    from penstock.observe.dashboard import Dashboard

    with Dashboard(
        observer,
        port=options.port,
        # When the pipeline is started again, an open page is to go on.
        token=os.environ.get(TOKEN),
        certificate=options.tls_certificate,
        key=options.tls_key,
        announce=lambda address: progress.say(f"the page was opened; once more: {address}"),
    ) as dashboard:
        progress.say(f"the page: {dashboard.address}")
        yield


class Interrupts:
    """Counts each Ctrl-C and each SIGTERM, from before the modules of the pipeline are loaded."""

    def __init__(self) -> None:
        self.count = 0
        self._raises = True
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._interrupt)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def only_count(self) -> None:
        """From now on there is something that can be drained."""
        # The code that a signal interrupts may hold the locks of all the rest.
        self._raises = False
        for number in self._before:  # a source may have started Spark, which has handlers as well
            signal.signal(number, self._interrupt)
        if self.count:  # a module of the user has caught it
            raise KeyboardInterrupt

    @property
    def code_of_stop(self) -> int:
        """The exit code of a pipeline that was stopped before it began."""
        return EXIT_CODES["stopped"] if self.count == 1 else INTERRUPTED

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.count += 1
        if self._raises:
            raise KeyboardInterrupt


class Draining:
    """The first signal drains, for so many seconds; the second one stops."""

    def __init__(self, run: PipelineRun, progress: RunProgress, timeout: float) -> None:
        self._run = run
        self._progress = progress
        self._timeout = timeout
        self._since = 0.0
        self._heeded = 0

    @property
    def stopped(self) -> bool:
        """Whether it was stopped without waiting for what was taken."""
        return self._heeded > 1

    def heed(self, signals: int) -> None:
        """Do what so many signals ask for, and what the time says."""
        while self._heeded < signals:
            self._heeded += 1
            if self._heeded == 1:
                self._progress.say(DRAINING)
                self._since = time.monotonic()
                self._run.drain()
            else:
                self._run.stop()
        if self._heeded == 1 and time.monotonic() - self._since >= self._timeout:
            self._give_up()

    def _give_up(self) -> None:
        left = leftovers(self._run.status())
        self._run.stop()
        self._progress.warn(f"not drained within {self._timeout:g} s, and stopped")
        for line in left:
            self._progress.warn(f"  left: {line}")
