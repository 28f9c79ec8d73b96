"""From a pipeline and its settings to flows and sinks that can run, and be told to stop."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, cast

from penstock.api import Publisher
from penstock.connectors.shared.reconnecting import listening
from penstock.connectors.shared.writer import Writer
from penstock.core import COMPLETED
from penstock.delivery import DataFrameSink
from penstock.flow import Flow
from penstock.flow.base_flow import extended
from penstock.flow.engine.prefetch_subscriber import EagerSubscriber, subscribe
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started
from penstock.flow.engine.stage import EACH_ALONE, Stage
from penstock.observe.meters import SourceMeter
from penstock.pipeline.definition import Pipeline
from penstock.runtime import shorten

__all__ = [
    "Assembly",
    "AssemblyError",
    "RunTarget",
    "StopSignal",
    "assembled",
]


class StopSignal:
    """A flow that gives nothing until somebody says that it is time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_time = False
        self._emitters: list[Any] = []
        self.flow: Flow[Any] = Flow.create(self._register, overflow="latest")

    def now(self) -> None:
        """It is time."""
        with self._lock:
            self._is_time = True
            emitters, self._emitters = self._emitters, []
        for emitter in emitters:
            emitter.complete()

    def _register(self, emitter: Any) -> None:
        with self._lock:
            if not self._is_time:
                self._emitters.append(emitter)
                return
        emitter.complete()


SIGNALS: Final = ("on_subscribe", "on_next", "on_error", "on_complete")


class AssemblyError(Exception):
    """A pipeline that cannot be put together; the user's error is its cause."""


@dataclass(frozen=True, kw_only=True)
class RunTarget:
    """Where a pipeline runs; what is ``None`` stays as the code of the pipeline has it.

    ``accept_lost_batches``  whether a sink may lack batches that it has had
    ``samples``  whether elements may be shown: on the page, and in the status
    """

    checkpoint: str | None = None
    master: str | None = None
    remote: str | None = field(default=None, repr=False)  # it may hold a token
    spark_page: bool = False
    accept_state_change: bool = False
    accept_lost_batches: bool = False
    samples: bool = True


@dataclass(frozen=True)
class Assembly:
    """A pipeline that is ready to run.

    ``entrances``  the flows of the sources, by name; a ``SparkFlow`` where Spark reads it itself
    ``flow``       what comes out, for the sinks
    ``sinks``      by name: functions, subscribers, or sinks that Spark serves
    """

    name: str
    sources: Mapping[str, SourceMeter]
    entrances: Mapping[str, Publisher[Any]]
    flow: Publisher[Any]
    sinks: Mapping[str, Any]

    @property
    def spark_sinks(self) -> Mapping[str, DataFrameSink]:
        """Those that Spark serves, with DataFrames."""
        return {name: each for name, each in self.sinks.items() if isinstance(each, DataFrameSink)}

    @property
    def element_sinks(self) -> Mapping[str, Any]:
        """All others."""
        return {
            name: each for name, each in self.sinks.items() if not isinstance(each, DataFrameSink)
        }


def assembled(pipeline: Pipeline, settings: Any, until: Publisher[Any]) -> Assembly:
    """Call the functions of ``pipeline``; its sources complete when ``until`` gives anything."""
    gauges = {name: SourceMeter(name) for name in pipeline.sources}
    flows = {
        name: _made(f"the source {name}", source, make, settings, gauges[name], until)
        for name, make in pipeline.sources.items()
    }
    flow = _made("transform", pipeline.flow, settings, flows)
    sinks = {
        name: _made(f"the sink {name}", sink, make, settings)
        for name, make in pipeline.sinks.items()
    }
    return Assembly(pipeline.name, gauges, flows, flow, sinks)


def source(
    make: Callable[[Any], Any], settings: Any, gauge: SourceMeter, until: Publisher[Any]
) -> Publisher[Any]:
    """A source whose elements are counted, and which can be told to complete.

    What Spark reads itself stays on Spark, which counts it, and is told there.
    """
    with listening(gauge):
        made = make(settings)
    if not callable(getattr(made, "subscribe", None)):
        raise TypeError(f"it must be a flow or another publisher, not {shorten(made)}")
    if getattr(made, "is_read_by_spark", False):
        return cast("Publisher[Any]", made)
    flow = made if isinstance(made, Flow) else Flow.from_publisher(made)
    return extended(flow, [MeteredSource(gauge, until)])


class MeteredSource(Stage):
    """The elements of a source, counted, until another publisher gives anything.

    All of it happens on the thread that pulls the source.
    """

    rerun = EACH_ALONE
    waits = True

    def __init__(self, meter: SourceMeter, until: Publisher[Any]) -> None:
        super().__init__("source")
        self.inputs = (until,)
        self._meter = meter
        self._until = until

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Listen at once: it may be over before an element is wanted."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Count elements until it is over."""
        stop = EagerSubscriber(run, self.name, prefetch=1)
        try:
            subscribe(stop, self._until)
            yield None
            if not stop.has_come():
                yield from self._counted(elements, stop, run)
            if stop.ending not in (None, COMPLETED):
                raise stop.hand_over_error()
        finally:
            run.ended.discard(stop)
            stop.close()
            close(elements)

    def _counted(self, elements: Elements, stop: EagerSubscriber, run: RunContext) -> Elements:
        count = self._meter.recent.add
        try:
            for x in elements:
                if x is not PENDING:
                    count(x)
                yield x
                if run.ended and stop.has_come():  # asked so that no element costs a call
                    return
        except Exception as error:
            self._meter.has_failed(error)
            raise


def sink(make: Callable[[Any], Any], settings: Any) -> Any:
    """A function, a subscriber, or a sink that Spark serves; of a ``Writer``, its sink."""
    made = make(settings)
    if isinstance(made, Writer):
        return made.sink  # which is called and told of batches, with no thread in between
    if not (is_subscriber(made) or callable(made) or isinstance(made, DataFrameSink)):
        raise TypeError(f"it must be a function or a subscriber, not {shorten(made)}")
    return made


def is_subscriber(thing: Any) -> bool:
    """Whether it has the signals of a ``Subscriber``."""
    return all(callable(getattr(thing, signal, None)) for signal in SIGNALS)


def _made(what: str, make: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except Exception as error:
        raise AssemblyError(f"{what} cannot be made: {type(error).__name__}: {error}") from error
