"""Runs a scenario again and again in a prepared process, as its options say."""

from __future__ import annotations

import gc
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TypeVar

from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.patching import Patches
from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.search import Strategy
from penstock.tck.explorer.task import End, RunEnd, current_task
from penstock.tck.explorer.threads import bound, release_all
from penstock.tck.explorer.tracing import Level, TracedSubject, Tracer, imported, with_submodules
from penstock.tck.explorer.trail import TrailRecorder
from penstock.tck.explorer.watchdog import Budget, execute
from penstock.tck.explorer.workers import OneCore, Workers

if sys.version_info >= (3, 12):
    from penstock.tck.explorer.monitoring import MonitoringTracer as TracerOfThisPython
else:
    from penstock.tck.explorer.settrace import SettraceTracer as TracerOfThisPython

__all__ = [
    "Result",
    "Scenario",
    "Session",
    "checked_options",
    "open_session",
]

_T = TypeVar("_T")

Scenario = Callable[[Environment], object]

_TIDY_EVERY = 64
"""Schedules after which garbage is collected and an idle core is sought."""
_YOUNG = 1
"""The generations of the collector that hold what the runs made, and not the whole process."""

_RECORDING = 1.0
"""The least seconds to record a schedule."""

_one_at_a_time = threading.Lock()


@dataclass(frozen=True)
class ExplorationOptions:
    """How to explore."""

    subject: tuple[ModuleType, ...]
    level: Level
    bound: int
    seeds: Sequence[int]
    max_steps: int
    budget: float
    race_timers: bool = False


def checked_options(
    scenario: object,
    *,
    subject: ModuleType | Iterable[ModuleType],
    level: str | Level,
    bound: int,
    seeds: Iterable[int],
    max_steps: int,
    budget: float,
    race_timers: bool = False,
) -> ExplorationOptions:
    """Return the options, or raise an error that names the wrong value and what is allowed."""
    if not callable(scenario):
        raise TypeError(f"scenario must be a function of one argument, not {scenario!r}")
    return ExplorationOptions(
        subject=_checked_subject(scenario, subject),
        level=_checked_level(level),
        bound=_checked_count("bound", bound, least=0),
        seeds=_checked_seeds(seeds),
        max_steps=_checked_count("max_steps", max_steps, least=1),
        budget=_checked_budget(budget),
        race_timers=_checked_flag("race_timers", race_timers),
    )


def _checked_subject(
    scenario: object, subject: ModuleType | Iterable[ModuleType]
) -> tuple[ModuleType, ...]:
    modules = [subject] if isinstance(subject, ModuleType) else _listed("subject", subject)
    for module in modules:
        if not isinstance(module, ModuleType):
            raise TypeError(f"subject must be a module or several, not {module!r}")
    if not modules:
        own = imported(getattr(scenario, "__module__", None) or "")
        modules = [own] if own is not None else []
    found: dict[ModuleType, None] = {}
    for module in modules:
        if module not in found:  # one that was found with its package brings nothing new
            found.update(dict.fromkeys(with_submodules(module)))
    return tuple(found)


def _checked_level(level: str | Level) -> Level:
    allowed = [known.value for known in Level]
    if not isinstance(level, Level) and level not in allowed:
        raise ValueError(f"level must be one of {allowed}, not {level!r}")
    return Level(level)


def _checked_count(name: str, value: int, *, least: int) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {value!r}")
    if value < least:
        raise ValueError(f"{name} must be at least {least}, not {value}")
    return value


def _checked_flag(name: str, value: bool) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, not {value!r}")
    return value


def _checked_seeds(seeds: Iterable[int]) -> Sequence[int]:
    if isinstance(seeds, range):
        return seeds
    return [_checked_count("seeds", seed, least=0) for seed in _listed("seeds", seeds)]


def _listed(name: str, values: Iterable[_T]) -> list[_T]:
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{name} must be iterable, not {values!r}") from None


def _checked_budget(budget: float) -> float:
    if isinstance(budget, bool) or not isinstance(budget, int | float):
        raise TypeError(f"budget must be a number of seconds, not {budget!r}")
    if not 0 < budget < float("inf"):
        raise ValueError(f"budget must be a positive number of seconds, not {budget!r}")
    return float(budget)


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
            _tracer(options) as tracer,
            Patches(options.subject) as patches,
            _no_collection(),
            _observed_collections(),
            OneCore() as core,
        ):
            session = Session(scenario, options, patches, tracer, core)
            try:
                yield session
            finally:
                session.close()
    finally:
        _one_at_a_time.release()


def _tracer(options: ExplorationOptions) -> Tracer:
    """The tracer for a level on the running version of Python."""
    if options.level is Level.SYNC:
        return Tracer()
    return TracerOfThisPython(TracedSubject(options.subject), options.level)


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


@contextmanager
def _observed_collections() -> Iterator[None]:
    """Let each task know while the subject collects garbage in its thread."""
    gc.callbacks.append(_note_collection)
    try:
        yield
    finally:
        gc.callbacks.remove(_note_collection)


def _note_collection(phase: str, _: dict[str, int]) -> None:
    task = current_task()
    if task is not None:
        task.collecting = phase == "start"
