"""What a publisher signalled, as values, judged signal by signal, and the means to wait for it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.api import UNBOUNDED
from penstock.core import Timeline
from penstock.core.protocol_monitor import Fault, ProtocolMonitor
from penstock.core.signals import OnComplete, OnError, OnNext, OnSubscribe, Signal
from penstock.rules import RuleViolation
from penstock.runtime import Clock

__all__ = ["Recording"]

T = TypeVar("T")


class Recording(Generic[T]):
    """The signals to one subscriber, in order. Any thread may add to it, read it and wait.

    It is told of the requests as well, so that it can name the rule that a signal breaks.
    """

    def __init__(self, time: Clock) -> None:
        self.timeline = Timeline(now=time.now)
        self._time = time
        self._changed = threading.Condition()
        self._signals: list[Signal[T]] = []
        self._received = 0
        self._violations: list[RuleViolation] = []
        self._monitor = ProtocolMonitor()
        self._ending: OnError | OnComplete | None = None

    def add(self, signal_at: Callable[[float], Signal[T]]) -> None:
        """Append a signal that came now; ``signal_at`` makes it from the time."""
        signal = signal_at(self._time.now())
        text = str(signal)  # runs a foreign __repr__, so not under the lock
        with self._changed:
            fault = self._judge(signal)
            self._signals.append(signal)
            self._received += isinstance(signal, OnNext)
            if fault is None:
                self.timeline.note(text)
            else:
                self.timeline.note(f"{text}  <- breaks rule {fault.rule}")
                detail = f"{fault.what}: {text}"
                self._violations.append(RuleViolation(fault.rule, detail))
            self._changed.notify_all()

    def requests(self, n: int) -> None:
        """The publisher is about to be asked for ``n`` more."""
        with self._changed:
            self._monitor.requests(n)

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
    def outstanding(self) -> int:
        """How many elements were requested and have not come."""
        return self._monitor.outstanding

    @property
    def progress(self) -> str:
        """What was requested and what came, for a message."""
        requested = self._monitor.requested
        shown = "UNBOUNDED" if requested == UNBOUNDED else str(requested)
        return f"{shown} requested, {self._received} came"

    def __len__(self) -> int:
        return len(self._signals)

    def __getitem__(self, index: int) -> Signal[T]:
        return self._signals[index]

    def _judge(self, signal: Signal[T]) -> Fault | None:
        """Take note of ``signal``; what is wrong with it, if anything."""
        if isinstance(signal, OnSubscribe):
            return self._monitor.subscribes(signal)
        if isinstance(signal, OnNext):
            return self._monitor.sends(signal.element)
        self._ending = self._ending or signal
        if isinstance(signal, OnError):
            return self._monitor.fails(signal.error)
        return self._monitor.completes()
