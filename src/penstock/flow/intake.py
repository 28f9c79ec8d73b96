"""Where elements of a foreign publisher enter a flow."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from operator import length_hint
from typing import Any, Final, Protocol

from penstock.api import UNBOUNDED, Publisher, Subscriber, Subscription
from penstock.demand import COMPLETED, Inlet, require_element, require_error, shorten
from penstock.flow.driver import Driver
from penstock.flow.elements import PENDING, Elements, Host, Receiver, discard, started, taken_out
from penstock.rules import RuleViolation

__all__ = ["PREFETCH", "Intake", "subscribe"]

PREFETCH: Final = 256
"""The most elements that wait at a boundary, unless the user says otherwise."""


class Entrance(Subscriber[Any], Protocol):
    """A subscriber through which elements enter a flow."""

    def fail(self, ending: Exception) -> None:
        """The stream ends in this way, unless it has ended before."""

    def notify(self) -> None:
        """Something has come: let the host pull again."""


class Intake(Inlet, Receiver):
    """A subscriber that keeps what it receives until the stage behind it pulls.

    Asks for as much as is wanted at the end of the flow, ``each`` for one, for no more than
    ``prefetch`` at a time, and for ``most`` in all. An ``eager`` one asks for that much ahead of
    demand. Elements that have come go first, an error follows them.
    """

    __slots__ = ("_each", "_eager", "_host", "_most", "_taken", "_turns", "arrived", "waiting")

    def __init__(
        self,
        host: Host,
        each: int = 1,
        prefetch: int = PREFETCH,
        most: int = UNBOUNDED,
        *,
        eager: bool = False,
    ) -> None:
        super().__init__(prefetch)
        self._host = host
        self._each = each
        self._most = most
        self._eager = eager
        self._taken = 0
        self._turns: Iterator[int] = iter(())
        self.arrived: deque[Any] = deque()
        self.waiting = False

    @property
    def came(self) -> int:
        """How many elements have come so far, whichever way; for ``explain``."""
        return self._taken - length_hint(self._turns) + len(self.arrived)

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription; it is asked once something is wanted, or at once if eager."""
        if isinstance(subscription, Driver):
            subscription.take_part_in(self._host)
        if self.accept(subscription):
            if self._eager:
                self._ask()
            self.notify()

    def on_next(self, element: object) -> None:
        """Keep the element until it is pulled."""
        if element is not None and self._admitted < self._asked and not self._closed:
            # No lock: signals come one after the other (1.3), so nobody else counts here.
            self._admitted += 1
            self.arrived.append(element)
        else:
            require_element(element)
            if self.admit():
                self.arrived.append(element)
            else:
                discard(self._host, (element,))
        if self.waiting:
            self.notify()
        if self._closed and self._ending is None:
            self.sweep()  # 2.8: cancelled meanwhile, by another thread

    def on_error(self, error: Exception) -> None:
        """Pass the error on, behind what has come before it."""
        require_error(error)
        self._finish(error)

    def on_complete(self) -> None:
        """The last element has come."""
        self._finish(COMPLETED)

    def elements(self) -> Elements:
        """What has come, in sequence, for the stage behind."""
        return started(self._elements())

    def close(self) -> None:
        """Nobody will pull: let go of all."""
        self.cancel()
        self.sweep()

    def sweep(self) -> None:
        """Let go of what came although the stream was over."""
        discard(self._host, taken_out(self.arrived))

    def _elements(self) -> Elements:
        arrived = self.arrived
        portion = max(self.capacity // 4, 1)
        try:
            yield None
            while True:
                self.waiting = True  # before looking, so that nothing comes unseen
                ready = min(len(arrived), portion)
                if ready:
                    self.waiting = False
                    self._taken += ready
                    self._turns = iter(range(ready))  # it counts what is still to be taken
                    for _ in self._turns:
                        yield arrived.popleft()
                    self._ask()
                elif self.ending is not None and not arrived:
                    break
                elif not self._ask():
                    yield PENDING
        finally:
            self._host.ended.discard(self)
            self.close()
        if self.ending is not COMPLETED:
            raise self.hand_over_error()

    def _ask(self) -> bool:
        """Ask for what is wanted; whether something came at once."""
        wanted, taken = UNBOUNDED if self._eager else self._host.wanted, self._taken
        if wanted and (self._each == 1 or self._asked == taken):
            wanted = min(wanted * self._each, UNBOUNDED)
            self.refill(wanted=min(taken + wanted, self._most), taken=taken)
        return bool(self.arrived) or self.ending is not None

    def _finish(self, ending: Exception) -> None:
        self.end(ending)
        self._host.ended.add(self)
        self.notify()

    def notify(self) -> None:
        """Something has come: let the host pull again."""
        self.waiting = False
        self._host.wake()


def subscribe(intake: Entrance, publisher: Publisher[Any]) -> None:
    """Subscribe ``intake`` to ``publisher``; a ``subscribe`` that raises is the end of it."""
    try:
        publisher.subscribe(intake)
    except Exception as error:
        violation = RuleViolation(
            "1.9", f"subscribe of {shorten(publisher)} raised {shorten(error)}"
        )
        violation.__cause__ = error
        intake.fail(violation)
        intake.notify()
