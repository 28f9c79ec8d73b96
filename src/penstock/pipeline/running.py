"""One run of a pipeline, from its start to its end, and what it does meanwhile."""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from penstock.flow.site import note
from penstock.observe.reading import Edge, Reading, Stage, State
from penstock.pipeline.assembly import Assembly, AssemblyError, assembled
from penstock.pipeline.batches import SinkBatches
from penstock.pipeline.gauges import Recent, SinkGauge, SourceGauge, in_words
from penstock.pipeline.pipeline import Pipeline
from penstock.pipeline.raised import as_error
from penstock.pipeline.sinks import Fan, FunctionSink, Silent
from penstock.pipeline.stopping import Stopping
from penstock.pipeline.way import Phase, PlainWay, Way
from penstock.reference import AsyncSubscriber
from penstock.runtime import report_undelivered

__all__ = ["PipelineRun", "Place"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a pipeline runs; what is ``None`` stays as the code of the pipeline has it."""

    checkpoint: str | None = None
    master: str | None = None
    remote: str | None = field(default=None, repr=False)  # it may hold a token
    spark_page: bool = False
    accept_state_change: bool = False


class PipelineRun:
    """Assembles a pipeline, runs it, and knows what it does."""

    def __init__(self, pipeline: Pipeline, settings: Any, place: Place | None = None) -> None:
        self.name = pipeline.name
        stopping = Stopping()
        self._assembly = assembled(pipeline, settings, stopping.flow)
        self._batches = SinkBatches(self._assembly.element_sinks)
        self._way = way_of(self._assembly, place or Place(), stopping, self._batches)
        self._sinks = [
            self._sink(name, made) for name, made in self._assembly.element_sinks.items()
        ]
        self._way.watch_sinks(self._sinks)
        # Of sinks that Spark serves no signal tells: the end of the flow is theirs.
        heard = self._sinks or [SinkGauge("end", None, Silent(), None, self._sink_ended)]
        self._open_sinks = set(heard)
        self._errors = Recent()
        self._state: State = "starting"
        self._error: Exception | None = None
        self._fan = Fan(heard)
        self._came_through = False
        self._over = threading.Event()
        self._ending = threading.Lock()

    @property
    def sources(self) -> Mapping[str, SourceGauge]:
        """Its sources by name."""
        return self._assembly.sources

    @property
    def sinks(self) -> Mapping[str, Any]:
        """Its sinks by name, as they were made."""
        return self._assembly.sinks

    @property
    def way(self) -> Way:
        """What lies between its sources and its sinks."""
        return self._way

    @property
    def error(self) -> Exception | None:
        """Why it has failed."""
        return self._error

    def require_own_place(self) -> None:
        """Refuse a checkpoint that it could not go on from, before anything is started."""
        self._way.require_own_place()

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
            self._way.drain()

    def stop(self) -> None:
        """End now. What is in the journals stays there for the next run."""
        self._end("stopped")
        self._fan.cancel()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it has ended; whether it has."""
        return self._over.wait(timeout)

    def reading(self) -> Reading:
        """All its gauges, now. From any thread."""
        way = self._way.reading(self._sinks, self._phase)
        with self._ending:
            if way.started and self._state == "starting":
                self._state = "running"
        sinks = tuple(
            Stage(
                sink.name,
                "sink",
                sink.taken,
                detail=sink.level or "",
                recent=sink.recent.signals(),
                errors=sink.errors.signals(),
            )
            for sink in self._sinks
        )
        spark_stages, spark_edges = self._spark_sinks()
        return Reading(
            state=self._state,
            stages=(*way.stages, *sinks, *spark_stages),
            edges=(*way.edges, *spark_edges),
            batch=way.batch,
            lag=way.lag,
            latencies=way.latencies,
            ledger=way.ledger,
            checkpoint=way.checkpoint,
            errors=self._errors.signals(),
            dead_letters=way.dead_letters,
            last_dead_letters=way.last_dead_letters,
            spark_page=way.spark_page,
        )

    def _spark_sinks(self) -> tuple[tuple[Stage, ...], tuple[Edge, ...]]:
        sinks = self._assembly.spark_sinks
        if not sinks:
            return (), ()
        from penstock.pipeline.spark_sinks import spark_sink_edges, spark_sink_stages

        batches = self._batches.committed
        return tuple(spark_sink_stages(sinks, batches)), tuple(spark_sink_edges(sinks, batches))

    @property
    def _phase(self) -> Phase:
        if not self._over.is_set():
            return "running"
        return "through" if self._came_through else "broken"

    def _run(self) -> None:
        try:
            self._way.open_sinks()
            self._way.flow.subscribe(self._fan)
        except Exception as error:
            self._fail(error)

    def _sink(self, name: str, made: Any) -> SinkGauge:
        # A writer is both. Called, it is done with an element before Spark takes that for granted.
        if callable(made):

            def on_failure(error: Exception) -> None:
                gauge.failed(error)

            sink = FunctionSink(name, self._batches.function_of(name, made), on_failure)
            skipped = partial(self._batches.skipped, name)
            gauge = SinkGauge(name, made, sink, 1, self._sink_ended, skipped)
            return gauge
        return SinkGauge(name, made, made, None, self._sink_ended)

    def _sink_ended(self, sink: SinkGauge, error: Exception | None) -> None:
        if error is not None:
            self._fail(error)
        elif isinstance(sink.made, AsyncSubscriber) and sink.sink is sink.made:
            name = f"penstock-sink-{sink.name}"
            threading.Thread(target=self._await_sink, args=(sink,), name=name, daemon=True).start()
        else:
            self._sink_closed(sink)

    def _await_sink(self, sink: SinkGauge) -> None:
        """A sink with a thread of its own may still be at its last elements."""
        sink.made.wait()
        raised, error = sink.made.raised, getattr(sink.made, "error", None)
        error = as_error(raised) if raised is not None else error or sink.made.failure
        if isinstance(error, Exception):
            note(error, f"in the sink {sink.name}")
            sink.failed(error)
        else:
            self._sink_closed(sink)

    def _sink_closed(self, sink: SinkGauge) -> None:
        self._open_sinks.discard(sink)
        if not self._open_sinks:
            self._end("stopped" if self._state == "draining" else "completed", came_through=True)

    def _fail(self, error: Exception) -> None:
        if self._end("failed", error):
            self._fan.cancel()
        elif self._error is not error:
            report_undelivered(error, f"the pipeline {self.name} was over before")

    def _end(
        self, state: State, error: Exception | None = None, *, came_through: bool = False
    ) -> bool:
        """The first who calls this says how it ends; whether this call did."""
        with self._ending:
            if self._over.is_set():
                return False
            self._state, self._error, self._came_through = state, error, came_through
            if error is not None:
                self._errors.add(in_words(error))
            self._over.set()
        if not came_through:
            self._batches.stop()
            self._way.close_sinks()
        return True


def way_of(assembly: Assembly, place: Place, stopping: Stopping, batches: SinkBatches) -> Way:
    """With Spark or without, as the flow has it."""
    # Whoever has assembled a flow on Spark has loaded this; nobody else pays for it.
    if "penstock.spark.spark_flow" in sys.modules:
        from penstock.pipeline.spark_sinks import require_fitting_sinks
        from penstock.pipeline.spark_way import SparkWay
        from penstock.spark.acknowledgement import trouble_with_acknowledgement
        from penstock.spark.deployment import Deployment, from_spark_in

        if (origin := from_spark_in(assembly.flow)) is not None:
            require_fitting_sinks(assembly, origin)
            deployment = Deployment(
                name=assembly.name,
                checkpoint=place.checkpoint,
                master=place.master,
                remote=place.remote,
                ui=place.spark_page,
                batches=batches,
                accept_state_change=place.accept_state_change,
                sinks=tuple(assembly.spark_sinks.values()),
                rows=bool(assembly.element_sinks),
            )
            way = SparkWay(assembly, deployment)
            refuse(trouble_with_acknowledgement(way.flow))
            return way
        refuse(trouble_with_acknowledgement(assembly.flow))
    for name in assembly.spark_sinks:
        raise AssemblyError(
            f"the sink {name} is one of Spark's, and {assembly.name} does not go through Spark; "
            "lead the flow through on_spark, or name another sink"
        )
    for option in ("checkpoint", "master", "remote"):
        if getattr(place, option) is not None:
            raise AssemblyError(
                f"{assembly.name} does not go through Spark and has no use for a {option}; leave "
                "that out, or lead the flow through on_spark"
            )
    return PlainWay(assembly, stopping, batches)


def refuse(trouble: str | None) -> None:
    """Raise it, if there is any."""
    if trouble is not None:
        raise AssemblyError(trouble)
