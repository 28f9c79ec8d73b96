"""Whether a cluster still works for this program: a batch for which nobody does waits for ever.

A standalone master that hears nothing of a driver forgets the application, and tells nobody. What
the driver may see of that are executors that go, and none that come. Those whose heartbeats have
stopped are given up and get no more tasks, but Spark goes on to count them: it means to strike them
out when the master was told to kill them, and does not where the master cannot be told.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from time import monotonic
from typing import TYPE_CHECKING, Final

from penstock.runtime import shorten, shown_address
from penstock.spark.failures import SparkLost, SparkUnavailable
from penstock.spark.private_api import has_executors, is_remote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["TIMEOUT", "ExecutorWatch", "executors_timeout"]

TIMEOUT: Final = "PENSTOCK_EXECUTORS_TIMEOUT"
"""The environment variable that says for how many seconds a batch waits for an executor."""

PATIENCE: Final = 120.0
EVERY: Final = 1.0
"""The seconds between two looks."""


class ExecutorWatch:
    """Looks now and then, on the thread that calls it. An embedded Spark is not looked at."""

    def __init__(
        self,
        session: SparkSession,
        *,
        patience: float | None = None,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._context = None if is_remote(session) else session.sparkContext
        if self._context is not None and self._context.master.startswith("local"):
            self._context = None
        self._patience = executors_timeout() if patience is None else patience
        self._now = now
        self._had_some = False
        self._next = now()
        self._alone_since: float | None = None

    def require(self) -> None:
        """Raise ``SparkLost`` if there were executors, and for too long there was none for a job.

        One that never had any waits until the cluster has room for it, however long that takes.
        """
        if self._context is None or self._now() < self._next:
            return
        self._next = self._now() + EVERY
        self._had_some = self._had_some or has_executors(self._context)
        if not self._is_alone:
            self._alone_since = None
        elif self._alone_since is None:
            self._alone_since = self._now()
        elif self._now() - self._alone_since >= self._patience:
            raise SparkLost(
                f"Spark has lost all executors at {shown_address(self._context.master)}, and for "
                f"{self._patience:g} seconds none has come while a batch waits for one: the "
                "cluster cannot reach this program, or has given it up; start it again, and it "
                f"goes on from its checkpoint ({TIMEOUT} is how many seconds to wait)"
            )

    @property
    def _is_alone(self) -> bool:
        """Whether a job is under way for which nobody works."""
        context = self._context
        if context is None or not self._had_some or has_executors(context):
            return False
        return bool(context.statusTracker().getActiveJobsIds())


def executors_timeout() -> float:
    """The seconds that the user has chosen, or two minutes."""
    text = os.environ.get(TIMEOUT) or str(PATIENCE)
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise SparkUnavailable(f"{TIMEOUT} is a number of seconds above 0, not {shorten(text)}")
    return seconds
