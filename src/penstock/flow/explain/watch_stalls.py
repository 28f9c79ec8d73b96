"""A timer that looks at a run by itself, and says what it waits for if it seems to hang."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final
from weakref import ref

from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started
from penstock.flow.engine.stage import EACH_ALONE, Stage
from penstock.flow.explain.explain import run_of
from penstock.flow.explain.explanation import ExplainedRun
from penstock.flow.operators.timing import system_clock
from penstock.runtime import Clock, Timer, report_undelivered

__all__ = ["WatchStalls"]

logger: Final = logging.getLogger("penstock.flow")


class WatchStalls(Stage):
    """Counts the elements that go by, for a watchdog, which reports on the clock's thread."""

    rerun = EACH_ALONE
    waits = True  # so that a boundary gives it a run of its own, which can say what is wanted

    def __init__(
        self, after: float, clock: Clock | None, report: Callable[[ExplainedRun], object] | None
    ) -> None:
        super().__init__("watch_stalls")
        self._after = after
        self._clock = clock
        self._report = report

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Watch from the beginning."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Let elements pass."""
        clock = system_clock() if self._clock is None else self._clock
        watchdog = StallWatchdog(run, self._after, clock, self._report or self._warn)
        try:
            yield None
            for x in elements:
                if x is not PENDING:
                    watchdog.passed += 1
                yield x
        finally:
            watchdog.close()
            close(elements)

    def _warn(self, run: ExplainedRun) -> None:
        flow = f"the flow {run.title}" if run.title else f"the flow that is watched at {self.site}"
        logger.warning("%s: nothing came for %g s: %s", flow, self._after, run.sentence)


class StallWatchdog:
    """Looks every ``after`` seconds, on the clock's thread, since the run itself may be stuck."""

    def __init__(
        self, run: RunContext, after: float, clock: Clock, report: Callable[[ExplainedRun], object]
    ) -> None:
        self._run: ref[Any] = ref(run)  # it must not keep alive a run that nobody wants
        self._after = after
        self._clock = clock
        self._report = report
        self._reported = False
        self._closed = False
        self._seen = 0
        self.passed = 0
        self._timer: Timer | None = None
        self._start_timer()

    def close(self) -> None:
        """The run is over."""
        self._closed = True
        self._cancel_timer()

    def _look(self) -> None:
        run = self._run()
        if run is None or self._closed:
            return
        try:
            self._judge(run_of(run))
        except Exception as error:
            report_undelivered(error, "the report of watch_stalls raised")
        self._start_timer()

    def _judge(self, run: ExplainedRun) -> None:
        """One report for each stall."""
        moved, self._seen = self.passed != self._seen, self.passed
        if moved or not run.wants:
            self._reported = False
        elif not self._reported:
            self._reported = True
            self._report(run)

    def _start_timer(self) -> None:
        self._timer = self._clock.call_later(self._after, self._look)
        if self._closed:  # meanwhile, by another thread
            self._cancel_timer()

    def _cancel_timer(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
