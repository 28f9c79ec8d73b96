"""``penstock check``: checks all that a run would need, without moving data."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import click

from penstock.cli.arguments import RunOptions, load_pipeline, load_settings, place_options
from penstock.cli.failures import explained, in_words, show_traceback
from penstock.cli.findings import Finding, has_problem, lines
from penstock.delivery import BatchSink, DataFrameSink, Epoch, level_of
from penstock.pipeline import AssemblyError, Pipeline, PipelineRun

__all__ = ["command"]

T = TypeVar("T")
PATIENCE: Final = 3.0
"""The seconds that the other end has to answer."""
PORTS: Final = {"ws": 80, "http": 80, "wss": 443, "https": 443}


@click.command(name="check")
@place_options
@click.option("--no-spark", is_flag=True, help="Do not start Spark to judge the transformations.")
def command(
    reference: str,
    config: Path | None,
    assignments: tuple[str, ...],
    debug: bool,
    no_spark: bool,
    **given: Any,
) -> None:
    """Check a pipeline without moving data.

    Its sources and sinks are made and not used. Spark is started to judge what happens on it, with
    no rows.

    The exit code is 0 if a run could start, 1 if there is a problem, and 2 if the pipeline or its
    settings cannot be read.
    """
    with explained(debug):
        pipeline = load_pipeline(reference)
        options, settings = load_settings(pipeline, config, assignments, RunOptions())
        options = options.with_given(given)
    check = PipelineCheck(pipeline, settings, options, debug, no_spark)
    findings = list(check.findings())
    click.echo(lines(findings))
    sys.exit(1 if has_problem(findings) else 0)


@dataclass(frozen=True)
class PipelineCheck:
    """All checks, in the order in which a run would come to them.

    The functions of the pipeline are called on the thread that asks for the findings.
    """

    pipeline: Pipeline
    settings: Any
    options: RunOptions
    debug: bool
    no_spark: bool

    def findings(self) -> Iterator[Finding]:
        """What is found, one by one; after a problem only what does not depend on it."""
        yield Finding("pipeline", "ok", repr(self.pipeline))
        yield Finding("settings", "ok", self._settings_in_words())
        run, finding = self._found("assembly", "its sources and sinks can be made", self._run)
        yield finding
        if run is not None:
            yield from self._sources(run)
            yield from self._sinks(run)
            yield from self._on_the_way(run)

    def _sources(self, run: PipelineRun) -> Iterator[Finding]:
        """What should be changed about the sources, and whether their servers answer."""
        for name, source in run.sources.items():
            yield from (Finding(name, "warning", words) for words in source.advice)
            for url in (url for url in source.urls if "://" in url):
                yield self._found(name, "", partial(require_listener, url))[1]

    def _sinks(self, run: PipelineRun) -> Iterator[Finding]:
        """What each sink promises, and what it would do, without touching anything."""
        for name, made in run.sinks.items():
            advice = getattr(getattr(made, "sink", made), "advice", ())
            yield from (Finding(name, "warning", words) for words in advice)
            yield self._found(name, "", partial(sink_in_words, name, made, run))[1]

    def _run(self) -> PipelineRun:
        return PipelineRun(self.pipeline, self.settings, self.options.target)

    def _settings_in_words(self) -> str:
        names = ", ".join(field.name for field in fields(self.pipeline.settings))
        return names or "there are none"

    def _on_the_way(self, run: PipelineRun) -> Iterator[Finding]:
        plan = getattr(run.engine, "plan", None)
        if plan is None:
            yield Finding("spark", "ok", "it runs without Spark")
            return
        from penstock.cli.spark_check import SparkCheck

        spark = SparkCheck(plan)
        yield Finding("schema", "ok", spark.schemas)
        for subject, text, question in spark.questions(with_session=not self.no_spark):
            finding = self._found(subject, text, question)[1]
            yield finding
            if subject == "spark" and finding.state == "problem":
                return  # a Spark that cannot start cannot be asked either

    def _found(
        self, subject: str, text: str, question: Callable[[], T]
    ) -> tuple[T | None, Finding]:
        """The answer to a question, and the finding; an answer that is a text becomes its text."""
        try:
            answer = question()
        except Exception as error:
            show_traceback(error, self.debug)
            words = in_words(error) if isinstance(error, AssemblyError) else one_line(error)
            return None, Finding(subject, "problem", words)
        return answer, Finding(subject, "ok", answer if isinstance(answer, str) else text)


class NobodyThere(OSError):
    """The other end of a source is not there."""


def require_listener(url: str) -> str:
    """Connect to the server at ``url``, or to one of several, and say that it listens."""
    parts = urlsplit(url)
    reason = ""
    for server in parts.netloc.split(","):
        place = urlsplit(f"{parts.scheme}://{server}")
        port = place.port or PORTS[place.scheme]
        try:
            socket.create_connection((place.hostname or "", port), timeout=PATIENCE).close()
        except OSError as error:
            reason = error.strerror or str(error)
        else:
            return f"somebody listens at {url}"
    raise NobodyThere(f"nobody answers at {url}: {reason}; a run would wait for it")


def sink_in_words(name: str, made: Any, run: PipelineRun) -> str:
    """The level of a sink, and what it would do, if it can say that."""
    level: str = level_of(made) or "not known how often it has a row"
    check = getattr(made, "check", None)
    if not isinstance(made, BatchSink | DataFrameSink) or not callable(check):
        return level
    epoch = next_epoch(run, name, made)
    if epoch is None and level == "exactly once":
        level += " within a run, since there is no checkpoint"
    return "; ".join(filter(None, (level, check(epoch))))


def next_epoch(run: PipelineRun, name: str, made: BatchSink | DataFrameSink) -> Epoch | None:
    """That of the checkpoint for a sink, if there is one and the pipeline were started now."""
    plan = getattr(run.engine, "plan", None)
    if plan is None or plan.checkpoint is None:
        return None
    from penstock.pipeline.history import RunHistory
    from penstock.spark.checkpoint import Checkpoint

    checkpoint = Checkpoint(plan.checkpoint)
    epoch = checkpoint.next_epoch()
    if isinstance(made, DataFrameSink):
        known: Epoch = plan.epoch_known_to(made, epoch)
        return known
    history = None if plan.accept_lost_batches else RunHistory.opened(checkpoint)
    begun = -1 if checkpoint.planned_batch is None else checkpoint.planned_batch
    done = begun if checkpoint.unfinished_batch is None else begun - 1
    had = {} if history is None else history.had_by_sinks(done)
    return epoch.for_sink(had.get(name, epoch.had))


def one_line(error: Exception) -> str:
    """The error without its name where it is a sentence of ours, which says what to do."""
    ours = type(error).__module__.startswith("penstock.")
    return str(error) if ours else in_words(error)
