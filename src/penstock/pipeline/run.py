"""One run of a pipeline, from its start to its end, and what it does meanwhile."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, Final

from penstock.core import AsyncSubscriber
from penstock.delivery.contract import as_error
from penstock.flow.base_flow import uses_spark
from penstock.flow.engine.call_site import note
from penstock.observe.machine import MachineMeter
from penstock.observe.meters import RecentWords, SinkMeter, SourceMeter, in_words
from penstock.observe.notebook import NotebookProgress, drawn_status
from penstock.observe.observer import Observer
from penstock.observe.status import EdgeStatus, StageStatus, State, Status
from penstock.pipeline.assembly import Assembly, AssemblyError, RunTarget, StopSignal, assembled
from penstock.pipeline.definition import Pipeline
from penstock.pipeline.engine import Engine, LocalEngine, Phase
from penstock.pipeline.sinks import EndListener, FunctionSink, SinkBatches, SinkFanOut
from penstock.runtime import hide_fields, report_undelivered
from penstock.runtime.program_exit import before_exit

__all__ = ["PipelineRun"]

PICTURE_EVERY: Final = 0.5
"""Seconds between two pictures in a notebook."""


class PipelineRun:
    """Assembles a pipeline, runs it, and knows what it does."""

    def __init__(self, pipeline: Pipeline, settings: Any, target: RunTarget | None = None) -> None:
        self.name = pipeline.name
        target = target or RunTarget()
        self._samples = target.samples
        hide_fields(pipeline.secret_fields)
        stopping = StopSignal()
        self._assembly = assembled(pipeline, settings, stopping.flow)
        self._batches = SinkBatches(self._assembly.element_sinks)
        self._engine = engine_for(self._assembly, target, stopping, self._batches)
        self._sinks = [
            self._sink(name, made) for name, made in self._assembly.element_sinks.items()
        ]
        self._engine.watch_sinks(self._sinks)
        self._machine = MachineMeter(self._engine.checkpoint_place)
        # Of sinks that Spark serves no signal tells: the end of the flow is theirs.
        heard = self._sinks or [SinkMeter("end", None, EndListener(), None, self._sink_ended)]
        self._open_sinks = set(heard)
        self._errors = RecentWords()
        self._state: State = "starting"
        self._error: Exception | None = None
        self._fan = SinkFanOut(heard)
        self._came_through = False
        self._over = threading.Event()
        self._has_ended = False
        self._ending = threading.Lock()
        self._last_watched: Status | None = None

    @property
    def sources(self) -> Mapping[str, SourceMeter]:
        """Its sources by name."""
        return self._assembly.sources

    @property
    def sinks(self) -> Mapping[str, Any]:
        """Its sinks by name, as they are given elements or batches."""
        return self._assembly.sinks

    @property
    def engine(self) -> Engine:
        """What lies between its sources and its sinks."""
        return self._engine

    @property
    def error(self) -> Exception | None:
        """Why it has failed."""
        return self._error

    def require_own_checkpoint(self) -> None:
        """Refuse a checkpoint that it could not go on from, before anything is started."""
        self._engine.require_own_checkpoint()

    @property
    def state(self) -> State:
        """Where it is between its start and its end."""
        return self._state

    def start(self) -> None:
        """Run it, on threads of its own."""
        name = f"penstock-pipeline-{self.name}"
        threading.Thread(target=self._run, name=name, daemon=True).start()

    def drain(self) -> None:
        """Take nothing more from the sources, and end when all that was taken is through."""
        with self._ending:
            drains = self._state in ("starting", "running")
            if drains:
                self._state = "draining"
        if drains:
            self._engine.drain()

    def stop(self) -> None:
        """End now. What is in the journals stays there for the next run."""
        with before_exit():
            self._end("stopped")
            self._fan.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; whether it has."""
        return self._over.wait(timeout)

    def watch(self) -> None:
        """Run it until it has ended; raises what it failed with.

        In a notebook, its picture changes in place meanwhile. An interrupt drains it, a second one
        stops it.
        """
        observer, progress = Observer(self.name, self.status), NotebookProgress()
        self.start()
        try:
            with interrupts_raised():
                self._wait_with(observer, progress)
        except BaseException:
            self.stop()
            raise
        finally:
            self._last_watched = observer.sample()
            progress.show(self._last_watched)
        if self._error is not None:
            raise self._error

    def _wait_with(self, observer: Observer, progress: NotebookProgress) -> None:
        """Wait for the end, and show what happens until then; the first interrupt drains."""
        drains = False
        while True:
            try:
                if self.wait(PICTURE_EVERY):
                    return
                progress.show(observer.sample())
            except KeyboardInterrupt:
                if drains:
                    raise
                drains = True
                self.drain()

    def _repr_html_(self) -> str:
        return drawn_status(self._last_watched or replace(self.status(), pipeline=self.name))

    def status(self) -> Status:
        """What all its meters show, now. From any thread."""
        status = self._engine.status(self._sinks, self._phase)
        with self._ending:
            if status.state == "running" and self._state == "starting":
                self._state = "running"
        sinks = tuple(
            StageStatus(
                sink.name,
                "sink",
                sink.taken,
                detail=sink.level or "",
                recent=sink.recent.signals(),
                errors=sink.errors.signals(),
                unit=sink.unit,
            )
            for sink in self._sinks
        )
        spark_stages, spark_edges = self._spark_sinks()
        status = replace(
            status,
            state=self._state,
            stages=(*status.stages, *sinks, *spark_stages),
            edges=(*status.edges, *spark_edges),
            errors=self._errors.signals(),
            machine=self._machine.status(),
        )
        return status if self._samples else status.without_samples()

    def _spark_sinks(self) -> tuple[tuple[StageStatus, ...], tuple[EdgeStatus, ...]]:
        sinks = self._assembly.spark_sinks
        if not sinks:
            return (), ()
        from penstock.pipeline.spark_sinks import spark_sink_edges, spark_sink_stages

        batches = self._batches.committed
        return tuple(spark_sink_stages(sinks, batches)), tuple(spark_sink_edges(sinks, batches))

    @property
    def _phase(self) -> Phase:
        if not self._has_ended:
            return "running"
        return "completed" if self._came_through else "broken"

    def _run(self) -> None:
        try:
            self._engine.open_sinks()
            self._engine.flow.subscribe(self._fan)
        except Exception as error:
            self._fail(error)

    def _sink(self, name: str, made: Any) -> SinkMeter:
        # What is both is called: then it is done with an element before Spark takes it for granted.
        if callable(made):

            def on_failure(error: Exception) -> None:
                gauge.failed(error)

            sink = FunctionSink(name, self._batches.function_of(name, made), on_failure)
            skipped = partial(self._batches.skipped, name)
            gauge = SinkMeter(name, made, sink, lambda: sink.room, self._sink_ended, skipped)
            return gauge
        return SinkMeter(name, made, made, None, self._sink_ended)

    def _sink_ended(self, sink: SinkMeter, error: Exception | None) -> None:
        if error is not None:
            self._fail(error)
        elif isinstance(sink.made, AsyncSubscriber) and sink.sink is sink.made:
            name = f"penstock-sink-{sink.name}"
            threading.Thread(target=self._await_sink, args=(sink,), name=name, daemon=True).start()
        else:
            self._sink_closed(sink)

    def _await_sink(self, sink: SinkMeter) -> None:
        """A sink with a thread of its own may still be at its last elements."""
        sink.made.wait()
        raised, error = sink.made.raised, getattr(sink.made, "error", None)
        error = as_error(raised) if raised is not None else error or sink.made.failure
        if isinstance(error, Exception):
            note(error, f"in the sink {sink.name}")
            sink.failed(error)
        else:
            self._sink_closed(sink)

    def _sink_closed(self, sink: SinkMeter) -> None:
        self._open_sinks.discard(sink)
        if not self._open_sinks:
            self._end("stopped" if self._state == "draining" else "completed", came_through=True)

    def _fail(self, error: Exception) -> None:
        with before_exit():  # who waits for the end may leave the program as soon as it is told
            if self._end("failed", error):
                self._fan.cancel()
            elif self._error is not error:
                report_undelivered(error, f"the pipeline {self.name} was over before")

    def _end(
        self, state: State, error: Exception | None = None, *, came_through: bool = False
    ) -> bool:
        """The first who calls this says how it ends; whether this call did."""
        with self._ending:
            if self._has_ended:
                return False
            self._has_ended = True
            self._state, self._error, self._came_through = state, error, came_through
            if error is not None:
                self._errors.add(in_words(error))
        self._log_end(state, error)
        self._over.set()
        if not came_through:
            self._batches.stop()
            self._engine.close_sinks()
        return True

    def _log_end(self, state: State, error: Exception | None) -> None:
        try:
            self._engine.log_end(state, error, self._sinks, self._phase)
        except Exception as failure:
            report_undelivered(failure, f"the end of {self.name} could not be written down")


@contextmanager
def interrupts_raised() -> Iterator[None]:
    """Let an interrupt raise here, and nothing else: Spark's own handler would cancel its jobs."""
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def engine_for(
    assembly: Assembly, target: RunTarget, stopping: StopSignal, batches: SinkBatches
) -> Engine:
    """With Spark or without, as the flow has it."""
    if uses_spark(assembly.flow):  # else nobody pays for loading what follows
        from penstock.pipeline.spark_engine import spark_engine
        from penstock.spark.egress.acknowledgement import trouble_with_acknowledgement

        engine = spark_engine(assembly, target, batches)
        refuse(trouble_with_acknowledgement(assembly.flow if engine is None else engine.flow))
        if engine is not None:
            return engine
    for name in assembly.spark_sinks:
        raise AssemblyError(
            f"the sink {name} is one of Spark's, and {assembly.name} does not go through Spark; "
            "lead the flow through on_spark, or name another sink"
        )
    for option in ("checkpoint", "master", "remote"):
        if getattr(target, option) is not None:
            raise AssemblyError(
                f"{assembly.name} does not go through Spark and has no use for a {option}; leave "
                "that out, or lead the flow through on_spark"
            )
    return LocalEngine(assembly, stopping, batches)


def refuse(trouble: str | None) -> None:
    """Raise it, if there is any."""
    if trouble is not None:
        raise AssemblyError(trouble)
