"""Flows that are run more than once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.flow.elements import PENDING, Elements, Host, close, started, unclosed
from penstock.flow.fluent import Fluent, opened
from penstock.flow.operators.alarm import Alarm
from penstock.flow.operators.recovery import caught
from penstock.flow.retry import Retry
from penstock.flow.site import note
from penstock.flow.stage import FROM_START, Origin
from penstock.runtime import Clock

__all__ = ["Repeat", "RetryAfterErrors"]


class Restart(Origin):
    """An origin, and no stage, since it opens what stands in front of it as often as it needs.

    A flow in front that has an executor is subscribed to each time, and what follows runs on that
    executor as before.
    """

    def __init__(self, name: str, upstream: Fluent[Any], *, waits: bool) -> None:
        super().__init__(name)
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor
        self.waits = waits or upstream.plan.waits or self.executor is not None

    def open(self, host: Host, each: int) -> Elements:
        """Open what stands in front for the first time, at once."""
        return started(self._opening(host, each))

    def _opening(self, host: Host, each: int) -> Elements:
        first = opened(self.upstream, host, each)
        try:
            yield None
            yield from self._runs(first, host, each)
        finally:
            close(first)

    @abstractmethod
    def _runs(self, elements: Elements, host: Host, each: int) -> Elements:
        """The elements of the first run and of those that follow."""


class Repeat(Restart):
    """The flow in front, again and again."""

    rerun = FROM_START

    def __init__(self, upstream: Fluent[Any], times: int | None) -> None:
        super().__init__("repeat", upstream, waits=True)
        self._times = times

    def _runs(self, elements: Elements, host: Host, each: int) -> Elements:
        run = 1
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
            if host.over or run == self._times:
                return
            # The end of a run is seen without demand; the next one must not work ahead of it.
            while not host.wanted and not (empty and self._times):
                yield PENDING
            run += 1
            elements = opened(self.upstream, host, each)


class RetryAfterErrors(Restart):
    """The flow in front, anew after an error, as far as a policy allows."""

    def __init__(self, upstream: Fluent[Any], policy: Retry, clock: Clock | None) -> None:
        super().__init__("retry", upstream, waits=policy.waits)
        self._policy = policy
        self._clock = clock

    def _runs(self, elements: Elements, host: Host, each: int) -> Elements:
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
                yield from self._pause(delay, host)
            if host.over:
                return
            tries += 1
            elements = opened(self.upstream, host, each)

    def _pause(self, delay: float, host: Host) -> Elements:
        """Give way until ``delay`` seconds have passed."""
        alarm = Alarm(self._clock, host)
        alarm.set(delay)
        host.ended.add(alarm)  # what comes next may be an error, or the end: they need no demand
        try:
            while not alarm.rings():
                yield PENDING
        finally:
            host.ended.discard(alarm)
            alarm.close()
