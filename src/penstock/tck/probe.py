"""The subscriber of the kit: does what a check says, and watches what is done to it."""

from __future__ import annotations

import threading
from _thread import allocate_lock
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from penstock.api import Subscription
from penstock.core.protocol_monitor import Fault, ProtocolMonitor
from penstock.core.timeline import Timeline
from penstock.runtime import shorten
from penstock.tck.check_environment import CheckEnvironment

__all__ = ["LEAVING", "OUTSIDE", "WITHIN", "Place", "Probe", "Provoked", "elements_before"]

Place = Literal["outside", "on_subscribe", "on_next"]
"""From where a subscriber calls its subscription: within one of its signals, or from outside."""
OUTSIDE: Final[Place] = "outside"
WITHIN: Final[tuple[Place, ...]] = ("on_subscribe", "on_next")


def elements_before(place: Place) -> int:
    """How many elements must have come before a subscriber can call from there."""
    return int(place == "on_next")


class Provoked(Exception):
    """What a probe raises, to see how the publisher takes it."""


class Probe:
    """Records all signals, and ends the run at once when one breaks a rule that always holds.

    These rules are 1.1, 1.3, 1.4, 1.7, 1.9, 2.12, 2.13, 3.15 and 3.16. So a fault is named by the
    rule that it breaks, whichever check it turns up in.

    ``request``     asked for in ``on_subscribe``
    ``on_start``    called in ``on_subscribe``, after that
    ``each``        asked for in each ``on_next``
    ``on_element``  called in each ``on_next``, before that
    ``cancel_at``   the element in whose ``on_next`` it cancels; from then on it asks for no more
    ``lingers``     gives other threads their turn in the middle of each signal
    ``raises_in``   the signal that raises `Provoked`
    ``raises``      what it raises instead
    ``overlaps``    leaves its calls as they come, where other probes make one at a time (2.7)
    ``takes_two``   may be subscribed twice, and cancels the second subscription (2.5)
    ``blame``       the rule to name instead of one that always holds, where it says more
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        timeline: Timeline,
        *,
        request: int = 0,
        on_start: Callable[[Probe], object] | None = None,
        each: int = 0,
        on_element: Callable[[Probe], object] | None = None,
        cancel_at: int = 0,
        lingers: bool = False,
        raises_in: str = "",
        raises: type[BaseException] = Provoked,
        overlaps: bool = False,
        takes_two: bool = False,
        blame: Mapping[str, str] | None = None,
        name: str = "",
    ) -> None:
        self._environment = environment
        self._timeline = timeline
        self._first = request
        self._on_start = on_start
        self._each = each
        self._on_element = on_element
        self._cancel_at = cancel_at
        self._lingers = lingers
        self._raises_in = raises_in
        self._raises = raises
        self._overlaps = overlaps
        self._allowed = {"2.12"} if takes_two else set()
        self._prefix = f"{name}: " if name else ""
        self._monitor = ProtocolMonitor()
        self._calls: deque[int] = deque()
        self._calling: int | None = None
        # Real locks, which are no switch points: what the kit does is not to be explored.
        self._turn_to_call = allocate_lock()
        self._counting = allocate_lock()
        self.blame = dict(blame or {})
        self.callers: set[int] = set()
        self.subscription: Subscription | None = None
        self.elements: list[Any] = []
        self.error: Exception | None = None
        self.completed = False
        self.signals = 0
        self.cancelled_after: int | None = None
        """How many elements had come when a cancel was back for the first time."""

    @property
    def ended(self) -> bool:
        """Whether a terminal signal has come."""
        return self.completed or self.error is not None

    @property
    def requested(self) -> int:
        """How many elements it has asked for."""
        return self._monitor.requested

    # What a check does with it.

    def request(self, n: Any) -> None:
        """Ask the publisher for ``n`` more."""
        if type(n) is int and n > 0:
            with self._counting:
                self._monitor.requests(n)
        me = threading.get_ident()
        if self._overlaps or self._calling == me:
            self._call_request(n)
            return
        # 2.7: one thread at a time makes the calls, and the others leave theirs to it.
        self._calls.append(n)
        while self._calls and self._turn_to_call.acquire(blocking=False):
            self._calling = me
            try:
                if self._calls:
                    self._call_request(self._calls.popleft())
            finally:
                self._calling = None
                self._turn_to_call.release()

    def cancel(self) -> None:
        """Cancel the subscription."""
        assert self.subscription is not None
        self._note("cancel")
        with self._environment.expecting("cancel()", self._named("3.15")):
            self.subscription.cancel()
        if self.cancelled_after is None:
            self.cancelled_after = len(self.elements)

    def _call_request(self, n: Any) -> None:
        assert self.subscription is not None
        self._note("request", n)
        with self._environment.expecting(f"request({shorten(n)})", self._named("3.16")):
            self.subscription.request(n)

    # What the publisher does to it.

    def on_subscribe(self, subscription: Subscription) -> None:
        self._enter("on_subscribe", self._monitor.subscribes, subscription)
        if self.subscription is None:
            self.subscription = subscription
            if self._first:
                self.request(self._first)
            if self._on_start is not None:
                self._on_start(self)
        else:
            with self._environment.expecting("cancel()", self._named("3.15")):
                subscription.cancel()
        self._leave("on_subscribe")

    def on_next(self, element: Any) -> None:
        self._enter("on_next", self._monitor.sends, element)
        self.elements.append(element)
        if self._on_element is not None:
            self._on_element(self)
        self._go_on()
        self._leave("on_next")

    def _go_on(self) -> None:
        if len(self.elements) == self._cancel_at:
            self.cancel()
        elif self._each and not 0 < self._cancel_at < len(self.elements):
            self.request(self._each)

    def on_error(self, error: Exception) -> None:
        self._enter("on_error", self._monitor.fails, error)
        self.error = error
        self._leave("on_error")

    def on_complete(self) -> None:
        self._enter("on_complete", self._monitor.completes)
        self.completed = True
        self._leave("on_complete")

    def _enter(self, signal: str, judge: Callable[..., Fault | None], *arguments: Any) -> None:
        self._note(signal, *arguments)
        self.signals += 1
        self.callers.add(threading.get_native_id())
        self._environment.noticed()
        fault = judge(*arguments)
        if fault is not None and fault.rule not in self._allowed:
            self._environment.fail(self._named(fault.rule), f"the publisher {fault.what}")
        self._monitor.turn.enter(signal)
        if self._lingers:
            self._environment.pause()

    def _leave(self, signal: str) -> None:
        if self._lingers:
            self._environment.pause()
        self._monitor.turn.leave()
        if signal == self._raises_in:
            raise self._raises(f"{signal} of the probe raises")

    def _named(self, rule: str) -> str:
        return self.blame.get(rule, rule)

    def _note(self, signal: str, *arguments: Any) -> None:
        self._timeline.record(self._prefix + signal, *arguments)


LEAVING: Final[tuple[dict[str, Any], ...]] = ({"on_start": Probe.cancel}, {"cancel_at": 1})
"""How probes behave that cancel within a signal: in ``on_subscribe``, or with the first element."""
