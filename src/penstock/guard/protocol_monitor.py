"""What a publisher did in one stream, and which rule its next signal breaks."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from penstock.api import UNBOUNDED
from penstock.core import illegal_request
from penstock.core.timeline import shorten
from penstock.guard import faults
from penstock.guard.faults import Fault
from penstock.guard.turn import Turn, is_calling_upstream

__all__ = ["ProtocolMonitor"]


@dataclass(slots=True)
class Returned:
    """A call of the subscriber that has returned, and on which thread.

    The publisher may still be about to act on it, as long as it works on other threads or further
    up the stack. It has no such excuse in a request that the same thread makes afterwards, from
    outside of all signals.
    """

    thread: int
    followed: bool = False


@dataclass(slots=True)
class IllegalRequest(Returned):
    """A ``request(n <= 0)``, and how much was requested before it."""

    n: str = ""
    requested: int = 0


class ProtocolMonitor:
    """Judges the signals of a publisher by what was asked of it, exactly and without waiting.

    Where a signal may have been on its way already, the publisher has the benefit of the doubt.
    Not thread-safe: the stream that owns it locks. It calls nobody.
    """

    def __init__(self, recursion_limit: int) -> None:
        self.turn = Turn()
        self._recursion_limit = recursion_limit
        self._subscribed = False
        self._ended_by = ""
        self._sent = 0
        self._requested = 0
        self._requested_after_cancel = 0
        self._cancelling = False
        self._cancel: Returned | None = None
        self._illegal: IllegalRequest | None = None
        self._served_after_illegal = False

    # What the publisher signals. The answer is the rule that it breaks, if any.

    def subscribes(self, subscription: object) -> Fault | None:
        """``on_subscribe`` comes."""
        if self._subscribed:
            return faults.second_on_subscribe()
        self._subscribed = True
        if self._ended_by:
            return faults.after_end("on_subscribe", self._ended_by)
        return faults.missing("on_subscribe", None) if subscription is None else None

    def sends(self, element: object) -> Fault | None:
        """``on_next`` comes."""
        fault = self._disorder("on_next") or self._missing_element(element) or self._surplus()
        fault = fault or self._recursion()
        if fault is None:
            self._sent += 1
            fault = self._neglect_of_illegal_request()
        return fault

    def fails(self, error: object) -> Fault | None:
        """``on_error`` comes."""
        fault = self._disorder("on_error")
        self._ended_by = self._ended_by or "on_error"
        if fault is None and not isinstance(error, Exception):
            fault = faults.missing("on_error", error)
        return fault

    def completes(self) -> Fault | None:
        """``on_complete`` comes."""
        fault = self._disorder("on_complete")
        self._ended_by = self._ended_by or "on_complete"
        if fault is None and self._illegal is not None and self._served_after_illegal:
            # 3.9: it has served what was requested later, and now it will never answer.
            fault = self._ignored(self._illegal)
        return fault

    # What the subscriber asks for.

    def request_begins(self, n: object) -> None:
        """``request(n)`` is about to reach the publisher, which may serve it from now on."""
        self._note_chance_to_answer()
        error = illegal_request(n)
        if isinstance(error, TypeError):
            # What a foreign publisher makes of request(2.0) cannot be counted.
            self._requested = UNBOUNDED
        elif error is None and isinstance(n, int):
            if self._cancel is None:
                self._requested += n
            else:
                self._requested_after_cancel += n

    def request_returned(self, n: object) -> None:
        """``request(n)`` has returned; an illegal one is owed an answer."""
        if self._illegal is None and isinstance(illegal_request(n), ValueError):
            self._illegal = IllegalRequest(
                threading.get_ident(), n=shorten(n), requested=self._requested
            )

    def cancel_begins(self) -> None:
        """``cancel`` is about to reach the publisher."""
        self._cancelling = True

    def cancel_returned(self) -> None:
        """The publisher knows of the ``cancel``."""
        if self._cancel is None:
            self._cancel = Returned(threading.get_ident())

    # How signals are judged.

    def _disorder(self, signal: str) -> Fault | None:
        turn = self.turn
        if turn.is_taken_by_another_thread():
            return faults.overlap(signal, turn.running)
        if self._ended_by:
            return faults.after_end(signal, self._ended_by)
        if not self._subscribed:
            return faults.too_early(signal)
        return faults.nested(signal, turn.running) if turn.is_unasked() else None

    def _missing_element(self, element: object) -> Fault | None:
        return faults.missing("on_next", None) if element is None else None

    def _surplus(self) -> Fault | None:
        if self._sent < self._requested:
            return None
        if self._sent < self._requested + self._requested_after_cancel:
            late = self._has_no_excuse_after(self._cancel)
            return faults.served_after_cancel(self._sent + 1) if late else None
        return faults.surplus(self._sent + 1, self._requested)

    def _recursion(self) -> Fault | None:
        depth = self.turn.depth
        return faults.recursion(depth) if depth > self._recursion_limit else None

    def _neglect_of_illegal_request(self) -> Fault | None:
        """3.9: an element that was requested only after an illegal request had returned."""
        illegal = self._illegal
        if illegal is None or self._sent <= illegal.requested:
            return None
        self._served_after_illegal = True
        return self._ignored(illegal) if self._has_no_excuse_after(illegal) else None

    def _ignored(self, illegal: IllegalRequest) -> Fault | None:
        return None if self._cancelling else faults.ignored_illegal_request(illegal.n)

    def _note_chance_to_answer(self) -> None:
        if not self.turn.taken and not is_calling_upstream(self):
            for call in (self._cancel, self._illegal):
                if call is not None and call.thread == threading.get_ident():
                    call.followed = True

    def _has_no_excuse_after(self, call: Returned | None) -> bool:
        if call is None or not call.followed:
            return False
        return call.thread == threading.get_ident() and is_calling_upstream(self)
