"""The metrics of a pipeline as Prometheus collects them.

from prometheus_client import REGISTRY
from penstock.observe.metrics.prometheus import PipelineCollector

REGISTRY.register(PipelineCollector(observer))
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from penstock.observe.metrics.table import METRICS, Metric, MetricsUnavailable
from penstock.observe.observer import Observer
from penstock.observe.status import Status

try:
    from prometheus_client import CollectorRegistry, generate_latest
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
    from prometheus_client.exposition import CONTENT_TYPE_LATEST
    from prometheus_client.registry import Collector
except ImportError as missing:
    raise MetricsUnavailable("prometheus", missing) from missing

__all__ = ["CONTENT_TYPE", "PipelineCollector", "text"]

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST

FAMILIES: Final[dict[str, type[CounterMetricFamily | GaugeMetricFamily]]] = {
    "counter": CounterMetricFamily,
    "gauge": GaugeMetricFamily,
}


class PipelineCollector(Collector):
    """Reads the last status of an observer each time that Prometheus asks."""

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def collect(self) -> Iterator[CounterMetricFamily | GaugeMetricFamily]:
        """All metrics, of one and the same status."""
        status = self._observer.status
        return (family(metric, status) for metric in METRICS)


def family(metric: Metric, status: Status) -> CounterMetricFamily | GaugeMetricFamily:
    """A metric with its values."""
    result = FAMILIES[metric.kind](metric.prometheus_name, metric.meaning, labels=metric.labels)
    for labels, value in metric.read(status):
        result.add_metric(labels, value)
    return result


def text(observer: Observer) -> bytes:
    """All metrics in the text format, for whom serves them."""
    registry = CollectorRegistry()
    registry.register(PipelineCollector(observer))
    return generate_latest(registry)
