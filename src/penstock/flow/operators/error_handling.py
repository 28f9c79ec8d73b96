"""Errors and empty flows: ``on_error_*``, ``switch_if_empty``, ``repeat``, ``retry``, `Retry`."""

from __future__ import annotations

import random
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from typing import Any

from penstock.api import Publisher
from penstock.core import without_own_frames
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.checks import require_callable, require_publisher
from penstock.flow.engine.call_site import note, with_note
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started, unclosed
from penstock.flow.engine.stage import EACH_ALONE, FROM_START, Origin, Stage
from penstock.flow.operators.timing import StageTimer
from penstock.runtime import Clock, shorten
from penstock.runtime.arguments import ErrorKinds, require_error_kinds, require_int, require_seconds

__all__ = [
    "OnErrorMap",
    "OnErrorResume",
    "Repeat",
    "Retry",
    "RetryOnError",
    "SwitchIfEmpty",
    "caught",
]


class OnErrorResume(Stage):
    """In place of an error, the elements of another publisher.

    Calls the function on the thread that pulls the run.
    """

    waits = True

    def __init__(
        self, name: str, function: Callable[[Exception], Publisher[Any]], only: ErrorKinds
    ) -> None:
        super().__init__(name)
        self._function = function
        self._only = only

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Within the handling of the error only the function is called, not what it returns."""
        try:
            yield from unclosed(elements)
            return
        except self._only as error:
            publisher = require_publisher(self.name, self._function(caught(error)))
        yield from opened(publisher, run, operator=self.name)


class OnErrorMap(Stage):
    """In place of an error, another one. Calls the function on the thread that pulls the run."""

    rerun = EACH_ALONE

    def __init__(self, function: Callable[[Exception], Exception], only: ErrorKinds) -> None:
        super().__init__("on_error_map")
        self._function = function
        self._only = only

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """The first error is the cause of the other one."""
        try:
            yield from unclosed(elements)
        except self._only as error:
            replacement = self._function(caught(error))
            try:
                if replacement is error:
                    raise
                if not isinstance(replacement, Exception):
                    raise TypeError(
                        f"on_error_map: the function must return an exception, "
                        f"not {shorten(replacement)}"
                    ) from error
                raise replacement from error
            finally:
                del replacement  # which leads to this frame, if only by its cause


def caught(error: Exception) -> Exception:
    """``error``, as a function of the user gets to see it."""
    return without_own_frames(with_note(error))


class SwitchIfEmpty(Stage):
    """The elements of another publisher if there are none."""

    waits = True

    def __init__(self, name: str, publisher: Publisher[Any]) -> None:
        super().__init__(name)
        self._publisher = publisher
        self.inputs = (publisher,)

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Wait for the first element; after it there is nothing to do."""
        for x in elements:
            yield x
            if x is not PENDING:
                yield from elements
                return
        yield from opened(self._publisher, run, operator=self.name)


class Resubscribe(Origin):
    """An origin, and no stage, since it opens upstream as often as it needs.

    A flow upstream that has an executor is subscribed to each time, and what follows runs on that
    executor as before.
    """

    def __init__(self, name: str, upstream: BaseFlow[Any], *, waits: bool) -> None:
        super().__init__(name)
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor
        self.waits = waits or upstream.plan.waits or self.executor is not None

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Open upstream for the first time, at once."""
        return started(self._opening(run, per_output))

    def _opening(self, run: RunContext, per_output: int) -> Elements:
        first = opened(self.upstream, run, per_output, operator=self.name)
        try:
            yield None
            yield from self._runs(first, run, per_output)
        finally:
            close(first)

    @abstractmethod
    def _runs(self, elements: Elements, run: RunContext, per_output: int) -> Elements:
        """The elements of the first run and of those that follow."""


class Repeat(Resubscribe):
    """Upstream, run again and again."""

    rerun = FROM_START

    def __init__(self, upstream: BaseFlow[Any], times: int | None) -> None:
        super().__init__("repeat", upstream, waits=True)
        self._times = times

    def _runs(self, elements: Elements, run: RunContext, per_output: int) -> Elements:
        runs = 1
        while True:
            empty = True
            try:
                for x in elements:
                    yield x
                    if x is not PENDING:
                        empty = False
                        yield from elements
                        break
            finally:
                close(elements)
            if run.over or runs == self._times:
                return
            # The end of a run is seen without demand; the next one must not work ahead of it.
            while not run.wanted and not (empty and self._times):
                yield PENDING
            runs += 1
            elements = opened(self.upstream, run, per_output, operator=self.name)


@dataclass(frozen=True)
class Retry:
    """A policy for ``retry``.

    ``times``      how often to run again; ``None`` for no limit
    ``backoff``    seconds to wait before the first new run; 0 for no waiting
    ``factor``     how many times longer each further wait is
    ``longest``    seconds that no wait exceeds
    ``jitter``     the share of a wait by which it is made longer or shorter, at random
    ``only``       the kind of error, or kinds, after which to run again
    ``predicate``  asked about each such error; whether to run again

    ``predicate`` is called on the thread of the run that has failed, and for a connection that was
    lost on the event loop of the connector.

    >>> list(Retry(times=4, backoff=1, longest=5, jitter=0).delays())
    [1.0, 2.0, 4.0, 5.0]
    """

    times: int | None = 3
    backoff: float | timedelta = 0.1
    factor: float = 2.0
    longest: float | timedelta = 30.0
    jitter: float = 0.5
    only: ErrorKinds = Exception
    predicate: Callable[[Exception], object] | None = None

    def __post_init__(self) -> None:
        if self.times is not None:
            require_int("Retry", "times", self.times, least=0)
        if self.backoff != 0:
            require_seconds("Retry", "backoff", self.backoff)
        require_within("factor", self.factor, 1, float("inf"))
        require_seconds("Retry", "longest", self.longest)
        require_within("jitter", self.jitter, 0, 1)
        require_error_kinds("Retry", self.only)
        if self.predicate is not None:
            require_callable("Retry", self.predicate)

    @property
    def waits(self) -> bool:
        """Whether it lets time pass before a new run."""
        return self.backoff != 0

    def covers(self, error: Exception) -> bool:
        """Whether ``error`` is one to run again after."""
        if not isinstance(error, self.only):
            return False
        return self.predicate is None or bool(self.predicate(error))

    def delays(self) -> Iterator[float]:
        """The seconds to wait before each new run, as many as there may be."""
        longest = seconds_of(self.longest)
        delay = min(seconds_of(self.backoff), longest)
        for _ in count() if self.times is None else range(self.times):
            share = 1 + random.uniform(-self.jitter, self.jitter)
            yield min(delay * share, longest)
            delay = min(delay * self.factor, longest)


def seconds_of(duration: float | timedelta) -> float:
    """A duration as a number."""
    return duration.total_seconds() if isinstance(duration, timedelta) else float(duration)


def require_within(name: str, value: object, least: float, most: float) -> None:
    """``value`` must be a number from ``least`` to ``most``."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise TypeError(f"Retry: {name} must be a number, not {shorten(value)}")
    if not least <= value <= most or value == float("inf"):
        bounds = f"at least {least}" if most == float("inf") else f"from {least} to {most}"
        raise ValueError(f"Retry: {name} must be {bounds}, not {value}")


def require_retry(policy: object) -> Retry:
    """``policy``, or one that runs again that often, without waiting."""
    if isinstance(policy, Retry):
        return policy
    if not isinstance(policy, int) or isinstance(policy, bool):
        raise TypeError(f"retry needs a number or a Retry, not {shorten(policy)}")
    return Retry(require_int("retry", "policy", policy, least=0), backoff=0)


class RetryOnError(Resubscribe):
    """Upstream, run again after an error, as far as a policy allows.

    Calls the policy's predicate on the thread that pulls the run.
    """

    def __init__(self, upstream: BaseFlow[Any], policy: Retry, clock: Clock | None) -> None:
        super().__init__("retry", upstream, waits=policy.waits)
        self._policy = policy
        self._clock = clock

    def _runs(self, elements: Elements, run: RunContext, per_output: int) -> Elements:
        delays = self._policy.delays()
        tries = 1
        while True:
            try:
                yield from unclosed(elements)
                return
            except Exception as error:
                again = self._policy.covers(caught(error))
                delay = next(delays, None) if again else None
                if delay is None:
                    if tries > 1:
                        note(error, f"tried {tries} times by retry, assembled at {self.site}")
                    raise
            finally:
                close(elements)
            if delay:
                yield from self._pause(delay, run)
            if run.over:
                return
            tries += 1
            elements = opened(self.upstream, run, per_output, operator=self.name)

    def _pause(self, delay: float, run: RunContext) -> Elements:
        """Wait until ``delay`` seconds have passed."""
        timer = StageTimer(self._clock, run, self.name)
        timer.start(delay)
        run.ended.add(timer)  # what comes next may be an error, or the end: they need no demand
        try:
            while not timer.is_due():
                yield PENDING
        finally:
            run.ended.discard(timer)
            timer.close()
