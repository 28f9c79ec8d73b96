"""The counters of a running pipeline for the monitoring systems of others.

``table.py``          all metrics as data: Prometheus, OpenTelemetry and the documentation are made
                      of this table
``prometheus.py``     the metrics of a pipeline as Prometheus collects them
``opentelemetry.py``  the metrics of a pipeline as instruments of OpenTelemetry
"""

from penstock.observe.metrics.table import METRICS, Metric, MetricsUnavailable

__all__ = ["METRICS", "Metric", "MetricsUnavailable"]
