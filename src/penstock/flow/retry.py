"""When and how often a flow that failed is run again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import count

from penstock.flow.checks import require_callable
from penstock.runtime import shorten
from penstock.runtime.arguments import ErrorKinds, require_error_kinds, require_int, require_seconds

__all__ = ["Retry"]


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
