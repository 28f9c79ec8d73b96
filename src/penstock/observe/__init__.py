"""What a running pipeline does: counted, sampled, kept for a day, and shown.

``meters.py``       meters: what counts while elements pass; ``spark`` and ``pipeline`` only update
                    them
``samples.py``      the last rows at an edge, as text: few of them, cut, and without secret values
``ledger.py``       the ledger: whether all that went in came out, the sum that makes ``lost``, and
                    its words
``status.py``       the status of a running pipeline at one moment: the same for terminal, page and
                    metrics
``units.py``        what a number counts: elements, or where these are Arrow batches, batches here
                    and rows there
``figures.py``      the figures of a status in words: the same for terminal and notebook
``notebook.py``     a running pipeline in a notebook: its picture, which changes in place
``situation.py``    in which situation a pipeline is, and how to say so in a sentence that its
                    figures bear out
``observer.py``     samples the status of a pipeline, and knows the last day
``machine.py``      what a run takes of its machine: processors and memory by process, and the disk
                    that is left
``chart_rings.py``  the points of the charts for five minutes, an hour and a day, in memory that
                    never grows
``dashboard/``      the page that shows a running pipeline, for the one who runs it
``metrics/``        the counters of a running pipeline for the monitoring systems of others
"""

from penstock.observe.ledger import Cause, Conservation, Ledger, LedgerLine, Passage
from penstock.observe.observer import Observer
from penstock.observe.status import (
    BatchStatus,
    EdgeStatus,
    EngineStatus,
    FlowSegments,
    MachineStatus,
    PastRun,
    Point,
    ProcessUse,
    SampleRow,
    Signal,
    StageStatus,
    StateSize,
    Status,
)

__all__ = [
    "BatchStatus",
    "Cause",
    "Conservation",
    "EdgeStatus",
    "EngineStatus",
    "FlowSegments",
    "Ledger",
    "LedgerLine",
    "MachineStatus",
    "Observer",
    "Passage",
    "PastRun",
    "Point",
    "ProcessUse",
    "SampleRow",
    "Signal",
    "StageStatus",
    "StateSize",
    "Status",
]
