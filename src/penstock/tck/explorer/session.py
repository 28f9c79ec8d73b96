"""Runs a scenario again and again in a prepared process, each time under another strategy."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.options import ExplorationOptions
from penstock.tck.explorer.patching import Patches
from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.search import Strategy
from penstock.tck.explorer.task import End, RunEnd, current_task
from penstock.tck.explorer.threads import bound, release_all
from penstock.tck.explorer.tracers import tracer_for
from penstock.tck.explorer.tracing import Level, Tracer
from penstock.tck.explorer.trail import TrailRecorder
from penstock.tck.explorer.watchdog import Budget, execute
from penstock.tck.explorer.workers import OneCore, Workers

__all__ = [
    "Result",
    "Scenario",
    "Session",
    "open_session",
]

Scenario = Callable[[Environment], object]

_TIDY_EVERY = 64
"""Schedules after which garbage is collected and an idle core is sought."""
_YOUNG = 1
"""The generations of the collector that hold what the runs made, and not the whole process."""

_RECORDING = 1.0
"""The least seconds to record a schedule."""

_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class Result:
    """A run that is over."""

    run: ScheduledRun
    outcome: RunEnd
    leaked: int


class Session:
    """The runs of one scenario."""

    def __init__(
        self,
        scenario: Scenario,
        options: ExplorationOptions,
        patches: Patches,
        tracer: Tracer,
        core: OneCore,
    ) -> None:
        self.budget = Budget(options.budget)
        self.options = options
        self.schedules = 0
        self._scenario = scenario
        self._patches = patches
        self._tracer = tracer
        self._core = core
        self._workers = Workers(core)

    def run(self, strategy: Strategy) -> Result:
        """Run one schedule to its end."""
        self.schedules += 1
        if self.schedules % _TIDY_EVERY:
            return self._run(strategy, None, self.budget)
        self._core.leave()
        result = self._run(strategy, None, self.budget)
        self._core.choose()
        gc.collect(_YOUNG)
        return result

    def warm_up(self, strategy: Strategy) -> Result:
        """Run one schedule that does not count: it fills caches and imports modules."""
        return self._run(strategy, None, self.budget)

    def record(self, strategy: Strategy, recorder: TrailRecorder) -> Result:
        """Run a known schedule once more and record its trail; the budget may be overdrawn."""
        return self._run(strategy, recorder, Budget(max(self.budget.left, _RECORDING)))

    def close(self) -> None:
        """End the threads that are kept for runs."""
        self._workers.close()

    def _run(self, strategy: Strategy, recorder: TrailRecorder | None, budget: Budget) -> Result:
        options = self.options
        run = ScheduledRun(
            strategy,
            self._tracer,
            self._workers,
            max_steps=options.max_steps,
            exact=options.level is Level.GIL,
            race_timers=options.race_timers,
            recorder=recorder,
        )

        def body() -> None:
            self._patches.renew()
            thread = threading.Thread(name="scenario", daemon=False)
            bound(run.tasks[0], thread, lambda: self._scenario(Environment(run)))

        self._tracer.begin()
        leaked = execute(run, body, budget)
        if leaked:
            release_all(run)
        assert run.outcome is not None
        if run.outcome.end is End.INTERRUPTED:
            raise KeyboardInterrupt
        return Result(run, run.outcome, len(leaked))


@contextmanager
def open_session(scenario: Scenario, options: ExplorationOptions) -> Iterator[Session]:
    """Prepare the process for runs of ``scenario``, and leave it as it was."""
    if current_task() is not None:
        raise RuntimeError("a scenario cannot start an exploration of its own")
    if not _one_at_a_time.acquire(blocking=False):
        raise RuntimeError("another thread of this process is exploring; one at a time")
    try:
        with (
            tracer_for(options.level, options.subject) as tracer,
            Patches(options.subject) as patches,
            _no_collection(),
            OneCore() as core,
        ):
            session = Session(scenario, options, patches, tracer, core)
            try:
                yield session
            finally:
                session.close()
    finally:
        _one_at_a_time.release()


@contextmanager
def _no_collection() -> Iterator[None]:
    """Keep the garbage collector, which calls back into subjects, out of the runs."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
