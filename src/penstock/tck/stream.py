"""The publisher's side of a stream to a subscriber under test."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from threading import Lock
from typing import Any, NamedTuple

from penstock.api import Subscriber
from penstock.core.timeline import Timeline
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.report import FACTORY
from penstock.tck.spy import SignalCall, Spy, current_signal

__all__ = ["Cost", "EagerStream", "Failed", "Stream"]

BREATH = 100
"""Elements after which a stream that sends without a break shows that it is alive."""


class Failed(Exception):
    """The error that the kit sends."""


class Cost(NamedTuple):
    """The seconds that a signal took."""

    passed: float
    """On the clock, virtual where time is owned."""
    computed: float
    """Of the processor."""


class Stream:
    """Sends signals, one at a time, and no more elements than were requested.

    A signal that raises breaks ``rule``. Signals run on the thread of the check that sends them.
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        timeline: Timeline,
        subscriber: Subscriber[Any],
        *,
        subject: Any = None,
        element: Callable[[int], Any] = int,
        rule: str = "2.13",
        name: str = "",
        silent: bool = False,
        surplus: bool = False,
        lingers: bool = False,
    ) -> None:
        self.environment = environment
        self.subscriber = subscriber
        self.subject: Any = subscriber if subject is None else subject
        """What the factory made; it may have subscribed another object in its place."""
        self.spy = Spy(environment, subscriber, self._note, surplus=surplus, lingers=lingers)
        self.sent: list[Any] = []
        self.over = False
        self.cost = Cost(0.0, 0.0)
        """What the last signal took."""
        self.rule = rule
        self._timeline = None if silent else timeline
        self._prefix = f"{name}: " if name else ""
        self._element = element

    @property
    def demand(self) -> int:
        """How many elements may be sent; after a cancel, too, as it takes effect later."""
        return self.spy.requested - len(self.sent)

    # The signals.

    def open(self) -> None:
        """Send ``on_subscribe``."""
        self._send(self._signal("on_subscribe"), self.spy)

    def next(self) -> None:
        """Send the next element, for which there must be demand."""
        assert self.demand > 0
        number = len(self.sent)
        element = self.environment.call(
            f"element({number})", FACTORY, lambda: self._element(number)
        )
        self.send(element)

    def send(self, element: Any) -> None:
        """Send this element."""
        self.sent.append(element)
        self._send(self._signal("on_next"), element)

    def complete(self, *, at_rest: bool = False) -> None:
        """Send ``on_complete``; ``at_rest`` if the subject has nothing left to do."""
        self._end(self._signal("on_complete"), at_rest)

    def fail(self, error: Exception | None = None, *, at_rest: bool = False) -> None:
        """Send ``on_error``; ``at_rest`` if the subject has nothing left to do."""
        self._end(self._signal("on_error"), at_rest, error or Failed("sent by the kit"))

    def end(self, signal: str, *, at_rest: bool = False) -> None:
        """Send the terminal signal of this name."""
        if signal == "on_complete":
            self.complete(at_rest=at_rest)
        else:
            self.fail(at_rest=at_rest)

    def close(self) -> None:
        """End the stream if it is still open, so that the threads of the subject end, too."""
        if not self.over and not self.spy.cancelled:
            self.complete()

    def call(self, signal: str, method: Callable[[], Any]) -> Any:
        """Call the subscriber; to be overridden by streams that forgive what it raises."""
        return self.environment.call(signal, self.rule, method)

    def _end(self, signal: SignalCall, at_rest: bool, *arguments: Any) -> None:
        self.over = True
        if at_rest:
            self.spy.final = signal
        self._send(signal, *arguments)

    def _signal(self, name: str) -> SignalCall:
        return SignalCall(name, self.subscriber, threading.get_ident(), self.environment.now())

    def _send(self, signal: SignalCall, *arguments: Any) -> None:
        name = signal.name
        self._note(name, *arguments)
        method = getattr(self.subscriber, name)
        outer = current_signal.set(signal)
        start = time.thread_time()
        try:
            unused = self.call(name, lambda: _closed(method(*arguments)))
        finally:
            signal.running = False
            current_signal.reset(outer)
        self.cost = Cost(self.environment.now() - signal.moment, time.thread_time() - start)
        if unused is not None:
            self.environment.fail("2.13", f"{name} returned a {unused}, which nobody will run")

    def _note(self, signal: str, *arguments: Any) -> None:
        if self._timeline is not None:
            shown = () if signal == "on_subscribe" else arguments
            self._timeline.record(self._prefix + signal, *shown)


def _closed(result: object) -> str | None:
    """The kind of a result that waits to be run, which is closed before anything can stop that."""
    if not inspect.iscoroutine(result) and not inspect.isgenerator(result):
        return None
    result.close()
    return type(result).__name__


class EagerStream(Stream):
    """Sends from within ``request``, as rules 3.10 and 3.11 allow, up to ``limit`` elements.

    Signals are nested up to a depth of ``nesting``: rule 3.3 bounds it, and 1 is best. With an
    ``ending`` that signal follows the last element.
    """

    def __init__(
        self,
        *arguments: Any,
        limit: int,
        nesting: int = 1,
        ending: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self.limit = limit
        self._nesting = nesting
        self._ending = ending
        self._depth = 0
        self._owner: int | None = None
        self._opened = False
        # A real one, for it is never held while another thread could get its turn.
        self._turn = Lock()
        self.spy.on_request = self._serve

    def open(self) -> None:
        """Send ``on_subscribe``, and then what other threads have requested meanwhile."""
        self._owner = threading.get_ident()
        super().open()
        with self._turn:
            self._opened = True
            self._owner = None
        self._serve()

    @property
    def is_exhausted(self) -> bool:
        """Whether all elements were sent, or no more are wanted."""
        return self.spy.cancelled or len(self.sent) >= self.limit

    @property
    def is_due(self) -> bool:
        """Whether there is something to send."""
        if self.over or self.spy.cancelled or not self.spy.requested:
            return False  # 1.8: after a cancel it stops at once
        return self._is_last or (self.demand > 0 and not self.is_exhausted)

    @property
    def _is_last(self) -> bool:
        return self._ending is not None and len(self.sent) >= self.limit

    def _serve(self) -> None:
        while self._take_turn():
            try:
                while self.is_due:
                    self._send_next()
                    if len(self.sent) % BREATH == 0:
                        self.environment.pause()
            finally:
                self._give_turn_back()

    def _send_next(self) -> None:
        if self._is_last and self._ending is not None:
            self.end(self._ending)
        else:
            self.next()

    def _take_turn(self) -> bool:
        """1.3: one thread sends at a time; it also sends what others request meanwhile."""
        me = threading.get_ident()
        with self._turn:
            if self._owner not in (None, me) or self._depth >= self._nesting or not self.is_due:
                return False
            self._owner = me
            self._depth += 1
            return True

    def _give_turn_back(self) -> None:
        with self._turn:
            self._depth -= 1
            if self._depth == 0 and self._opened:
                self._owner = None
