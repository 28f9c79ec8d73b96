"""Where the time of a batch went, and how far event time has come, as Spark reports it.

Spark looks what there is to read before it plans, and reads while it computes: it has one figure
for both, which holds the delivery as well. This program knows how long that took.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, NamedTuple

__all__ = ["BatchReport", "report_in"]

RUNNING: Final = "addBatch"
BEFORE: Final = {
    "look": ("latestOffset", "getOffset", "setOffsetRange", "getEndOffset", "getBatch"),
    "plan": ("queryPlanning", "walCommit"),
}
AFTER: Final = ("commitOffsets", "commitBatch")


class BatchReport(NamedTuple):
    """What Spark says of a batch beside its rows.

    ``milliseconds``  what it spent its time with, in its own words
    ``watermark``     the event time before which rows are late, in seconds since 1970
    """

    milliseconds: Mapping[str, int]
    watermark: float | None = None

    def phases(self, delivery: float | None) -> tuple[tuple[str, float], ...]:
        """The phases in their order, with their seconds; ``delivery`` is known to this program."""
        known = [(name, self._seconds(*parts)) for name, parts in BEFORE.items()]
        running = self._seconds(RUNNING)
        delivered = min(delivery or 0.0, running)
        known.append(("compute", running - delivered))
        if delivery is not None:
            known.append(("deliver", delivered))
        return (*known, ("commit", self._seconds(*AFTER)))

    def _seconds(self, *names: str) -> float:
        return sum(self.milliseconds.get(name, 0) for name in names) / 1000


def report_in(report: Mapping[str, Any]) -> BatchReport:
    """What stands in the progress of a query."""
    times = report.get("eventTime") or {}
    return BatchReport(dict(report["durationMs"]), moment_in(times.get("watermark")))


def moment_in(text: str | None) -> float | None:
    """A moment as Spark writes it; that of 1970 stands for none."""
    if not text:
        return None
    return datetime.fromisoformat(text).timestamp() or None
