"""What a running pipeline does: read, kept for five minutes, and shown.

``reading.py``       all gauges at one moment, as data
``words.py``         the words of the ledger, and what each of them means
``conservation.py``  whether all that went in came out
``observer.py``      reads them again and again
``slowest.py``       finds the stage for which the others wait, and says so
``view.py``          what comes of it: the same for the terminal, the page and the metrics
``dashboard/``       the page
``metrics/``         Prometheus and OpenTelemetry
"""

from penstock.observe.conservation import Conservation, Passage
from penstock.observe.observer import Observer
from penstock.observe.reading import Batch, Cause, Edge, Ledger, LedgerLine, Reading, Signal, Stage
from penstock.observe.view import EdgeView, Point, StageView, View

__all__ = [
    "Batch",
    "Cause",
    "Conservation",
    "Edge",
    "EdgeView",
    "Ledger",
    "LedgerLine",
    "Observer",
    "Passage",
    "Point",
    "Reading",
    "Signal",
    "Stage",
    "StageView",
    "View",
]
