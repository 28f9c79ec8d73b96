"""What a publisher did in one stream, judged also by who called whom, and from where."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from penstock.api import UNBOUNDED
from penstock.core import illegal_request
from penstock.core.protocol_monitor import Fault, ProtocolMonitor, is_calling_upstream
from penstock.guard import faults
from penstock.runtime import shorten

__all__ = ["StrictMonitor"]


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


class StrictMonitor(ProtocolMonitor):
    """Judges by rules 3.3, 3.6 and 3.9 as well, and names nested signals (1.3).

    Where a signal may have been on its way already, the publisher has the benefit of the doubt.
    Not thread-safe: the stream that owns it locks. It calls nobody.
    """

    def __init__(self, recursion_limit: int) -> None:
        super().__init__()
        self._recursion_limit = recursion_limit
        self._requested_after_cancel = 0
        self._cancelling = False
        self._cancel: Returned | None = None
        self._illegal: IllegalRequest | None = None
        self._served_after_illegal = False

    def sends(self, element: object) -> Fault | None:
        """``on_next`` comes."""
        return self._recursion() or super().sends(element) or self._neglect_of_illegal_request()

    def completes(self) -> Fault | None:
        """``on_complete`` comes."""
        fault = super().completes()
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
            self.requested = UNBOUNDED
        elif error is None and isinstance(n, int):
            if self._cancel is None:
                self.requests(n)
            else:
                self._requested_after_cancel += n

    def request_returned(self, n: object) -> None:
        """``request(n)`` has returned; an illegal one is owed an answer."""
        if self._illegal is None and isinstance(illegal_request(n), ValueError):
            self._illegal = IllegalRequest(
                threading.get_ident(), n=shorten(n), requested=self.requested
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
        fault = super()._disorder(signal)
        if fault is None and self.turn.is_unasked():
            fault = faults.nested(signal, self.turn.running)
        return fault

    def _surplus(self) -> Fault | None:
        if self.requested <= self.received < self.requested + self._requested_after_cancel:
            late = self._has_no_excuse_after(self._cancel)
            return faults.served_after_cancel(self.received + 1) if late else None
        return super()._surplus()

    def _recursion(self) -> Fault | None:
        depth = self.turn.depth
        return faults.recursion(depth) if depth > self._recursion_limit else None

    def _neglect_of_illegal_request(self) -> Fault | None:
        """3.9: an element that was requested only after an illegal request had returned."""
        illegal = self._illegal
        if illegal is None or self.received <= illegal.requested:
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
