"""The metrics of a pipeline as instruments of OpenTelemetry.

from penstock.observe.metrics.opentelemetry import instrument

instrument(observer)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from penstock.observe.metrics.table import METRICS, Metric, MetricsUnavailable
from penstock.observe.observer import Observer

try:
    from opentelemetry.metrics import CallbackOptions, Meter, Observation, get_meter
except ImportError as missing:
    raise MetricsUnavailable("opentelemetry", missing) from missing

__all__ = ["instrument"]


def instrument(observer: Observer, meter: Meter | None = None) -> None:
    """Make all metrics, of ``meter`` or else of the meter that is set for the program.

    They are read each time that the exporter of the program asks.
    """
    meter = meter or get_meter("penstock")
    makers = {
        "counter": meter.create_observable_counter,
        "gauge": meter.create_observable_gauge,
    }
    for metric in METRICS:
        makers[metric.kind](
            metric.name,
            callbacks=[reader(metric, observer)],
            unit=metric.unit,
            description=metric.meaning,
        )


def reader(
    metric: Metric, observer: Observer
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    """What OpenTelemetry calls when it wants the values of a metric."""

    def read(_: CallbackOptions) -> Iterable[Observation]:
        return [
            Observation(value, dict(zip(metric.labels, labels, strict=True)))
            for labels, value in metric.read(observer.status)
        ]

    return read
