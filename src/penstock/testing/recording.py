"""What a publisher signalled, judged signal by signal, and the means to wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.api import UNBOUNDED
from penstock.core import Demand, Timeline
from penstock.rules import RuleViolation
from penstock.runtime import Clock
from penstock.testing.signals import OnComplete, OnError, OnNext, OnSubscribe, Signal

__all__ = ["Recording"]

T = TypeVar("T")


class Recording(Generic[T]):
    """The signals to one subscriber, in order. Any thread may add to it, read it and wait.

    It counts the demand as well, so that it can name the rule that a signal breaks: 1.1, 1.7, 1.9
    or 2.12.
    """

    def __init__(self, time: Clock) -> None:
        self.timeline = Timeline(now=time.now)
        self.demand = Demand()
        self._time = time
        self._changed = threading.Condition()
        self._signals: list[Signal[T]] = []
        self._received = 0
        self._violations: list[RuleViolation] = []
        self._subscribed = False
        self._ending: OnError | OnComplete | None = None

    def add(self, signal_at: Callable[[float], Signal[T]]) -> None:
        """Append a signal that came now; ``signal_at`` makes it from the time."""
        signal = signal_at(self._time.now())
        text = str(signal)  # runs a foreign __repr__, so not under the lock
        with self._changed:
            violation = self._judge(signal)
            self._signals.append(signal)
            self._received += isinstance(signal, OnNext)
            if violation is None:
                self.timeline.note(text)
            else:
                self.timeline.note(f"{text}  <- breaks rule {violation.rule.number}")
                self._violations.append(violation)
            self._changed.notify_all()

    def blame(self, rule: str, detail: str) -> None:
        """The publisher broke a rule otherwise than by the order or the number of its signals."""
        self.timeline.note(f"{detail}  <- breaks rule {rule}")
        with self._changed:
            self._violations.append(RuleViolation(rule, detail))

    def wait_for(self, happened: Callable[[], bool], seconds: float) -> bool:
        """Wait until ``happened``, at most so long; whether it did."""
        with self._changed:
            return self._changed.wait_for(happened, seconds)

    @property
    def signals(self) -> tuple[Signal[T], ...]:
        """All signals so far."""
        with self._changed:
            return tuple(self._signals)

    @property
    def violations(self) -> tuple[RuleViolation, ...]:
        """The rules that the publisher has broken so far."""
        with self._changed:
            return tuple(self._violations)

    @property
    def verdict(self) -> str:
        """The first violation, as the headline of a failure."""
        first = self._violations[0]
        return f"the publisher broke rule {first.rule.number}: {first.detail}"

    @property
    def ending(self) -> OnError | OnComplete | None:
        """The first terminal signal, if one came."""
        return self._ending

    @property
    def received(self) -> int:
        """How many elements have come."""
        return self._received

    @property
    def progress(self) -> str:
        """What was requested and what came, for a message."""
        requested = self.demand.requested
        shown = "UNBOUNDED" if requested == UNBOUNDED else str(requested)
        return f"{shown} requested, {self._received} came"

    def __len__(self) -> int:
        return len(self._signals)

    def __getitem__(self, index: int) -> Signal[T]:
        return self._signals[index]

    def _judge(self, signal: Signal[T]) -> RuleViolation | None:
        """Take note of ``signal``; what is wrong with it, if anything."""
        subscribed, ending = self._subscribed, self._ending
        if isinstance(signal, OnSubscribe):
            self._subscribed = True
        elif isinstance(signal, OnError | OnComplete):
            self._ending = ending or signal

        if ending is not None:
            return RuleViolation("1.7", f"{signal} came after {ending}")
        if isinstance(signal, OnSubscribe):
            return RuleViolation("2.12", "on_subscribe came again") if subscribed else None
        if not subscribed:
            return RuleViolation("1.9", f"{signal} came before on_subscribe")
        return self._judge_by_demand(signal) if isinstance(signal, OnNext) else None

    def _judge_by_demand(self, signal: OnNext[T]) -> RuleViolation | None:
        if self.demand.outstanding:
            self.demand.consume(1)
            return None
        return RuleViolation("1.1", f"{signal} came without demand: {self.progress}")
