"""From a pipeline and its settings to flows and sinks that can run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from penstock.api import Publisher
from penstock.connectors.listening import listening
from penstock.delivery import DataFrameSink
from penstock.demand import shorten
from penstock.flow import Flow
from penstock.pipeline.gauges import SourceGauge
from penstock.pipeline.pipeline import Pipeline

__all__ = ["Assembly", "AssemblyError", "assembled"]


SIGNALS: Final = ("on_subscribe", "on_next", "on_error", "on_complete")


class AssemblyError(Exception):
    """A pipeline that cannot be put together; the user's error is its cause."""


@dataclass(frozen=True)
class Assembly:
    """A pipeline that is ready to run.

    ``entrances``  the flows of the sources, by name
    ``flow``       what comes out, for the sinks
    ``sinks``      by name: functions, subscribers, or sinks that Spark serves
    """

    name: str
    sources: Mapping[str, SourceGauge]
    entrances: Mapping[str, Flow[Any]]
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
    gauges = {name: SourceGauge(name) for name in pipeline.sources}
    flows = {
        name: _made(f"the source {name}", source, make, settings, gauges[name], until)
        for name, make in pipeline.sources.items()
    }
    flow = _made("through", pipeline.flow, settings, flows)
    sinks = {
        name: _made(f"the sink {name}", sink, make, settings)
        for name, make in pipeline.sinks.items()
    }
    return Assembly(pipeline.name, gauges, flows, flow, sinks)


def source(
    make: Callable[[Any], Any], settings: Any, gauge: SourceGauge, until: Publisher[Any]
) -> Flow[Any]:
    """A source whose elements are counted, and which can be told to complete."""
    with listening(gauge):
        made = make(settings)
    if not callable(getattr(made, "subscribe", None)):
        raise TypeError(f"it must be a flow or another publisher, not {shorten(made)}")
    flow = made if isinstance(made, Flow) else Flow.from_publisher(made)
    return flow.do_on_error(gauge.has_failed).do_on_next(gauge.recent.add).take_until(until)


def sink(make: Callable[[Any], Any], settings: Any) -> Any:
    """A function, a subscriber, or a sink that Spark serves."""
    made = make(settings)
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
