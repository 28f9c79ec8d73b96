"""The kit's subscription: counts the demand, and watches who calls it, when, and out of what."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Final

from penstock.core import illegal_request
from penstock.runtime import shorten
from penstock.tck.check_environment import CheckEnvironment

__all__ = ["SignalCall", "Spy", "current_signal"]


@dataclass(eq=False)
class SignalCall:
    """One call of a subscriber's method."""

    name: str
    subscriber: object
    thread: int
    moment: float
    running: bool = True

    @property
    def is_terminal(self) -> bool:
        """Whether it ends the stream."""
        return self.name in ("on_complete", "on_error")

    @property
    def is_here(self) -> bool:
        """Whether it runs further up on this very stack."""
        return self.running and self.thread == threading.get_ident()

    def leads_to(self, moment: float) -> bool:
        """Whether a call now has come out of it, if the subject was at rest before."""
        return self.running or current_signal.get() is self or self.moment == moment


current_signal: Final[ContextVar[SignalCall | None]] = ContextVar("current_signal", default=None)
"""The signal that runs on this thread, or the one out of which a task of asyncio has come."""


class Spy:
    """Ends the run at once when a call breaks a rule that always holds: 2.3, 2.7, 3.1 or 3.9.

    Once the stream has ended while the subject was at rest, each call breaks rule 2.3 or 2.4. A
    ``surplus`` subscription, the second one, may be cancelled and nothing else (rule 2.5). Where
    somebody else may be to blame, a subclass takes a call more lightly: `object_to_overlap`,
    `object_to_stranger` and `object_to_number` are there to be overridden. It is called on any
    thread of the subject, and calls ``on_request`` on that one.
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        subscriber: object,
        note: Callable[..., None],
        *,
        surplus: bool = False,
        lingers: bool = False,
    ) -> None:
        self._environment = environment
        self._subscriber = subscriber
        self._note = note
        self._surplus = surplus
        self._lingers = lingers
        self._inside: list[int] = []
        self._moved = threading.Event() if lingers else None
        self.final: SignalCall | None = None
        """The terminal signal, if the subject was at rest when it was sent."""
        self.on_request: Callable[[], None] = _do_nothing
        self.callers: set[int] = set()
        self.requests = 0
        self.requested = 0
        self.cancels = 0
        self.late_requests = 0
        """Calls of request that came after the first cancel."""
        self.called_within: dict[str, None] = {}
        """The signals from within which it was called."""

    @property
    def calls(self) -> int:
        """How often it was called."""
        return self.requests + self.cancels

    @property
    def cancelled(self) -> bool:
        """Whether the subject has cancelled."""
        return self.cancels > 0

    def wait(self, seconds: float) -> None:
        """Wait for the next call of the subject, which need not have returned by then."""
        assert self._moved is not None
        self._moved.wait(seconds)
        self._moved.clear()

    # What the subject calls.

    def request(self, n: int) -> None:
        if self._environment.is_over:
            return
        with self._called("request", n):
            if self._surplus:
                shown = f"request({shorten(n)})"
                self._environment.fail("2.5", f"{shown} was called on the second subscription")
            self.requests += 1
            if self.cancelled:
                self.late_requests += 1  # 3.6: it does nothing
            else:
                self._count(n)
                self.on_request()

    def cancel(self) -> None:
        if self._environment.is_over:
            return
        with self._called("cancel"):
            self.cancels += 1

    # What it takes amiss.

    def object_to_overlap(self, call: str) -> None:
        """The call came while another thread was within one."""
        self._environment.fail("2.7", f"{call} was called while another thread was within a call")

    def object_to_stranger(self, call: str, signal: SignalCall) -> None:
        """The call came from within a signal to another subscriber."""
        whose = f"{signal.name} to another subscriber"
        self._environment.fail("3.1", f"{call} was called from within {whose}")

    def object_to_number(self, n: object, error: Exception) -> None:
        """The call was for something that cannot be requested."""
        self._environment.fail("3.9", f"request({shorten(n)}) was called: {error}")

    def _count(self, n: int) -> None:
        error = illegal_request(n)
        if error is None:
            self.requested += n
        else:
            self.object_to_number(n, error)
        self._stir()

    @contextmanager
    def _called(self, call: str, *arguments: Any) -> Iterator[None]:
        me = threading.get_ident()
        self._environment.noticed()
        self._note(call, *arguments)
        self.callers.add(threading.get_native_id())
        if any(thread != me for thread in self._inside):
            self.object_to_overlap(call)
        self._find_its_cause(call)
        self._inside.append(me)
        try:
            self._linger()
            yield
            self._stir()
            self._linger()
        finally:
            self._inside.remove(me)

    def _linger(self) -> None:
        if self._lingers:
            self._environment.pause()

    def _stir(self) -> None:
        if self._moved is not None:
            self._moved.set()

    def _find_its_cause(self, call: str) -> None:
        signal = current_signal.get()
        if signal is not None and signal.is_here:
            if signal.subscriber is not self._subscriber:
                self.object_to_stranger(call, signal)
            elif signal.is_terminal:
                self._environment.fail("2.3", f"{call} was called from within {signal.name}")
            self.called_within[signal.name] = None
        if self.final is not None:
            self._environment.fail(*self._blame(self.final, call))

    def _blame(self, final: SignalCall, call: str) -> tuple[str, str]:
        if final.leads_to(self._environment.now()):
            return "2.3", f"{call} was called as the outcome of {final.name}"
        return "2.4", f"{call} was called after {final.name}"


def _do_nothing() -> None:
    pass
