"""The runs of a pipeline: when, for how long, how each ended; kept with its checkpoint.

A run is written down when it begins, so that the next one finds it if it was killed: it never wrote
down its end. What it had done is known by then, from the counts that are kept with each batch.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from time import time
from typing import Any, Final

from penstock.observe.ledger import Ledger
from penstock.observe.meters import beginning_of, in_words
from penstock.observe.status import PastRun, State
from penstock.pipeline.history import RunHistory
from penstock.spark.checkpoint import Checkpoint

__all__ = ["LoggedRun", "RunLog", "RunTotals", "logged_runs", "totals_of"]

FILE: Final = "run-log.json"
KEPT: Final = 100
SHOWN: Final = 10
SEEN_EVERY: Final = 30.0
"""The seconds after which a run that has done a batch says again that it is there."""
KILLED: Final = "killed"
RUNNING: Final = "running"

logger = logging.getLogger("penstock")


@dataclass(frozen=True)
class RunTotals:
    """What all runs up to a moment have done; ``None`` where nobody knows."""

    taken: int | None = 0
    delivered: int | None = 0
    dead_letters: int | None = 0
    lost: int | None = 0

    @classmethod
    def of(cls, ledger: Ledger) -> RunTotals:
        """Those of a ledger."""
        return cls(ledger.taken, ledger.delivered, ledger.dead_letters, ledger.lost)


@dataclass(frozen=True)
class LoggedRun:
    """A run as it is written down.

    ``seen``    when it last said that it was there, in seconds since 1970
    ``before``  what earlier runs had done when it began; ``after`` includes what it did itself
    """

    began: float
    seen: float
    state: str = RUNNING
    error: str = ""
    before: RunTotals = field(default_factory=RunTotals)
    after: RunTotals = field(default_factory=RunTotals)

    @classmethod
    def read(cls, found: dict[str, Any]) -> LoggedRun:
        """One that was written down."""
        before, after = (RunTotals(**found.pop(name)) for name in ("before", "after"))
        return cls(**found, before=before, after=after)

    @property
    def shown(self) -> PastRun:
        """What it did itself."""
        figures = {
            name: difference(getattr(self.after, name), getattr(self.before, name))
            for name in ("taken", "delivered", "dead_letters", "lost")
        }
        return PastRun(
            self.began, max(self.seen - self.began, 0.0), self.state, error=self.error, **figures
        )


def totals_of(history: RunHistory, taken: Sequence[tuple[int, int]]) -> RunTotals:
    """What earlier runs have done; ``taken`` are the elements of each journal, and their rows."""
    return RunTotals(
        sum(elements for elements, _ in taken) + history.spark.streamed,
        min((each.delivered for each in history.sinks.values()), default=0),
        sum(max(elements - rows, 0) for elements, rows in taken),
        history.lost,
    )


def difference(after: int | None, before: int | None) -> int | None:
    """What came between; ``None`` if one of them is not known."""
    return None if after is None or before is None else max(after - before, 0)


def logged_runs(checkpoint: Checkpoint) -> list[LoggedRun]:
    """All that are kept, the newest last; of a checkpoint of an earlier version, none."""
    text = checkpoint.remembered(FILE)
    if text is None:
        return []
    try:
        return [LoggedRun.read(each) for each in json.loads(text)["runs"]]
    except (ValueError, TypeError, KeyError, AttributeError):
        logger.warning("the runs in %s could not be read; they begin again", checkpoint.place)
        return []


class RunLog:
    """Writes a run down; without a checkpoint it does nothing. From any thread.

    A log that cannot be written ends no run.
    """

    def __init__(self, place: str | None) -> None:
        self._checkpoint = None if place is None else Checkpoint(place)
        self._lock = threading.Lock()
        self._run: LoggedRun | None = None
        self._earlier: list[LoggedRun] = []

    @property
    def recent(self) -> tuple[PastRun, ...]:
        """The last runs, this one included, which is the last of them."""
        run, runs = self._run, self._earlier[-SHOWN:]
        if run is None:
            return ()
        if run.state == RUNNING:
            run = replace(run, seen=time())
        return tuple(each.shown for each in [*runs, run][-SHOWN:])

    def begin(self, totals: RunTotals) -> None:
        """A run begins, when nobody else has the checkpoint; earlier runs have done that much."""
        if self._checkpoint is None:
            return
        now = time()
        earlier = self._read(self._checkpoint)
        with self._lock:
            self._earlier = [ended_by_now(each, totals) for each in earlier]
            self._run = LoggedRun(now, now, before=totals, after=totals)
        self._write([*self._earlier, self._run])

    def seen(self) -> None:
        """It is still there: now and then that is written down."""
        with self._lock:
            run, now = self._run, time()
            if run is None or run.state != RUNNING or now - run.seen < SEEN_EVERY:
                return
            self._run = replace(run, seen=now)
        self._write([*self._earlier, self._run])

    def end(self, state: State, error: Exception | None, totals: RunTotals) -> None:
        """It has ended. Another one may have begun by now: what that wrote down stays."""
        if self._checkpoint is None:
            return
        with self._lock:
            run = self._run
            if run is None:
                return
            words = "" if error is None else beginning_of(in_words(error))
            ended = self._run = replace(run, seen=time(), state=state, error=words, after=totals)
        found = self._read(self._checkpoint)
        if any(each.began == run.began for each in found):
            self._write([ended if each.began == run.began else each for each in found])
        else:
            self._write([*self._earlier, ended])

    def _read(self, checkpoint: Checkpoint) -> list[LoggedRun]:
        try:
            return logged_runs(checkpoint)
        except OSError as error:
            logger.warning("the runs in %s cannot be read: %s", checkpoint.place, error)
            return []

    def _write(self, runs: Sequence[LoggedRun]) -> None:
        assert self._checkpoint is not None
        kept = [asdict(each) for each in runs[-KEPT:]]
        try:
            self._checkpoint.remember(FILE, json.dumps({"runs": kept}))
        except OSError as error:
            logger.warning("the runs of the pipeline cannot be written down: %s", error)


def ended_by_now(run: LoggedRun, totals: RunTotals) -> LoggedRun:
    """A run that never wrote down its end was killed; what it had done is known now."""
    return run if run.state != RUNNING else replace(run, state=KILLED, after=totals)
