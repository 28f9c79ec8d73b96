"""The counters of a running pipeline for the monitoring systems of others.

``table.py``          all metrics as data: names, meanings, and how each is read from a ``View``
``prometheus.py``     as Prometheus collects them
``opentelemetry.py``  as instruments of OpenTelemetry
``unavailable.py``    what is raised where the package of either is missing
"""

from penstock.observe.metrics.table import METRICS, Metric
from penstock.observe.metrics.unavailable import MetricsUnavailable

__all__ = ["METRICS", "Metric", "MetricsUnavailable"]
