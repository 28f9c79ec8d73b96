"""Which rule the next signal of a publisher breaks: the one judge of guard, kit and test tools."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from penstock.api import UNBOUNDED
from penstock.runtime import shorten

__all__ = [
    "Fault",
    "ProtocolMonitor",
    "Turn",
    "calling_upstream",
    "is_calling_upstream",
]


class _Calls(threading.local):
    """The calls to publishers and subscriptions that one thread is inside of, outermost first."""

    def __init__(self) -> None:
        self.callers: list[object] = []


_calls = _Calls()


@contextmanager
def calling_upstream(caller: object) -> Iterator[None]:
    """The time of a call to a publisher or a subscription, in which it may signal (3.10, 3.11)."""
    callers = _calls.callers
    callers.append(caller)
    try:
        yield
    finally:
        callers.pop()


def is_calling_upstream(caller: object) -> bool:
    """Whether this thread is inside a call of ``caller``."""
    return any(each is caller for each in _calls.callers)


class Turn:
    """Which thread is inside a signal to one subscriber: one, perhaps several levels deep.

    A signal within a signal is in order when the subscriber made a call upstream in between; the
    calls of all streams count, since ``request`` may signal other subscribers, too (rule 3.10).

    Not thread-safe: the owner locks.
    """

    __slots__ = ("_levels", "_signals", "_thread")

    def __init__(self) -> None:
        self._thread = 0
        self._signals: list[str] = []
        self._levels: list[int] = []

    @property
    def taken(self) -> bool:
        """Whether anybody is inside."""
        return bool(self._signals)

    @property
    def depth(self) -> int:
        """How many signals are nested."""
        return len(self._signals)

    @property
    def running(self) -> str:
        """The innermost signal."""
        return self._signals[-1]

    def is_taken_by_another_thread(self) -> bool:
        """Whether a signal from this thread would overlap with one that is running."""
        return self.taken and self._thread != threading.get_ident()

    def is_unasked(self) -> bool:
        """Whether a signal from this thread would nest without a call upstream in between."""
        return self.taken and self._levels[-1] == len(_calls.callers)

    def enter(self, signal: str) -> None:
        """A signal of this thread begins."""
        self._thread = threading.get_ident()
        self._signals.append(signal)
        self._levels.append(len(_calls.callers))

    def leave(self) -> None:
        """The innermost signal returned."""
        self._signals.pop()
        self._levels.pop()


class Fault(NamedTuple):
    """A rule that a party just broke. ``what`` follows the party's name in a sentence."""

    rule: str
    what: str
    remedy: str
    harmless: bool = False
    """Whether the other side can go on as if nothing had happened."""
    cause: str = ""
    """The traceback, when the fault is an exception. As text: it holds nobody alive (3.13)."""


class ProtocolMonitor:
    """What a publisher signalled to one subscriber and what was asked of it, judged exactly.

    Rules 1.1, 1.3, 1.4, 1.7, 1.9, 2.12 and 2.13. An element that breaks one does not count as
    received. Overlaps are seen if the owner enters the ``turn`` with each signal and leaves it
    afterwards.

    Not thread-safe: the owner locks. It calls nobody.
    """

    def __init__(self) -> None:
        self.turn = Turn()
        self.subscribed = False
        self.ended_by = ""
        self.received = 0
        self.requested = 0

    def requests(self, n: int) -> None:
        """A legal ``request(n)`` is about to reach the publisher, which may serve it from now on.

        Before the call and not after it: the elements may come from within it (rule 3.10).
        """
        self.requested = min(self.requested + n, UNBOUNDED)  # 3.17

    @property
    def outstanding(self) -> int:
        """Elements that were requested and have not come."""
        unbounded = self.requested == UNBOUNDED
        return UNBOUNDED if unbounded else self.requested - self.received

    # What the publisher signals. The answer is the rule that it breaks, if any.

    def subscribes(self, subscription: object) -> Fault | None:
        """``on_subscribe`` comes."""
        again, self.subscribed = self.subscribed, True
        fault = self._disorder("on_subscribe")
        if fault is None and again:
            fault = Fault(
                "2.12",
                "called on_subscribe a second time",
                "call on_subscribe once for each call of subscribe",
            )
        return fault or _missing("on_subscribe", subscription)

    def sends(self, element: object) -> Fault | None:
        """``on_next`` comes."""
        fault = self._disorder("on_next") or _missing("on_next", element) or self._surplus()
        if fault is None:
            self.received += 1
        return fault

    def fails(self, error: object) -> Fault | None:
        """``on_error`` comes."""
        fault = self._disorder("on_error") or _missing("on_error", error)
        self.ended_by = self.ended_by or "on_error"
        if fault is None and not isinstance(error, Exception):
            fault = Fault(
                "1.4", f"called on_error({shorten(error)})", "signal an instance of Exception"
            )
        return fault

    def completes(self) -> Fault | None:
        """``on_complete`` comes."""
        fault = self._disorder("on_complete")
        self.ended_by = self.ended_by or "on_complete"
        return fault

    # How signals are judged.

    def _disorder(self, signal: str) -> Fault | None:
        if self.turn.is_taken_by_another_thread():
            return Fault(
                "1.3",
                f"called {signal} while {self.turn.running} was still running on another thread",
                "let one thread at a time signal, by a drain loop or an executor with one worker",
            )
        if self.ended_by:
            return Fault(
                "1.7",
                f"called {signal} after {self.ended_by}",
                "mark the stream as over before its terminal signal, and check the mark before"
                " each signal",
            )
        if not self.subscribed:
            return Fault(
                "1.9",
                f"called {signal} before on_subscribe",
                "call on_subscribe first, even if all that follows is on_error or on_complete",
            )
        return None

    def _surplus(self) -> Fault | None:
        if self.outstanding:
            return None
        return Fault(
            "1.1",
            f"sent element number {self.received + 1}, beyond a demand of {self.requested}",
            "count what request adds up to for each subscriber, and stop sending there",
        )


def _missing(signal: str, argument: object) -> Fault | None:
    if argument is not None:
        return None
    return Fault(
        "2.13",
        f"called {signal}(None)",
        "an element, an error and a subscription are never None",
    )
