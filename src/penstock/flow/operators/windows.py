"""Elements in flows that follow each other."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.api import Publisher
from penstock.demand import COMPLETED
from penstock.flow.elements import Host, close
from penstock.flow.fluent import Fluent
from penstock.flow.intake import subscribe
from penstock.flow.operators.alarm import Alarm
from penstock.flow.operators.batches import any_comes
from penstock.flow.operators.branches import Branch, Router
from penstock.flow.operators.splitting import Splitting
from penstock.flow.operators.urgent import UrgentIntake
from penstock.runtime import Clock

__all__ = ["Windows"]


class Windows(Splitting):
    """A flow for each stretch of elements, which ends as a batch would."""

    def __init__(
        self,
        upstream: Fluent[Any],
        size: int,
        every: float | None,
        last: Callable[[Any], object] | None,
        signals: Publisher[Any] | None,
        clock: Clock | None,
        prefetch: int,
    ) -> None:
        super().__init__("window", upstream, prefetch)
        self.size = size
        self.every = every
        self.last = last
        self.signals = signals
        self.clock = clock

    def router(self, host: Host) -> Router:
        """Let one window follow the other."""
        return Windowing(self, host)


class Windowing(Router):
    """Puts an element into the window that is open, and opens one if none is."""

    def __init__(self, part: Windows, host: Host) -> None:
        super().__init__(part, host)
        self._size = part.size
        self._every = part.every
        self._last = part.last
        self._clock = part.clock
        self._publisher = part.signals
        self._alarm: Alarm | None = None
        self._signals: Signals | None = None
        self._window: Branch | None = None
        self._opened = 0
        self._filled = 0

    def _begin(self) -> None:
        if self._every is not None:
            self._alarm = Alarm(self._clock, self)
        if self._publisher is not None:
            self._signals = Signals(self._publisher, self)

    def _look_around(self) -> None:
        signalled = self._signals is not None and self._signals.any_came()
        rings = self._alarm is not None and self._alarm.rings()
        if self._window is not None and (signalled or rings):
            self._close_window(self._window)

    def _route(self, element: Any) -> None:
        window = self._window
        if window is not None:
            window.put(element)
        elif self._trunk_left:
            self._lose(element)  # nobody would read the window that it opens
            return
        else:
            window = self._open_window(element)
        self._filled += 1
        if self._filled >= self._size or (self._last is not None and self._last(element)):
            self._close_window(window)

    def _open_window(self, element: Any) -> Branch:
        window = self._window = Branch(self, self._opened)
        self._opened += 1
        self._filled = 0
        if self._alarm is not None and self._every is not None:
            self._alarm.set(self._every)
        window.put(element)
        self.trunk.put(window)
        return window

    def _close_window(self, window: Branch) -> None:
        self._window = None
        if self._alarm is not None:
            self._alarm.unset()
        window.end(COMPLETED)

    def _open_branches(self) -> Collection[Branch]:
        return () if self._window is None else (self._window,)

    def _end(self) -> None:
        self._window = None
        alarm, self._alarm = self._alarm, None
        signals, self._signals = self._signals, None
        close(alarm)
        close(signals)


class Signals:
    """The elements of a publisher that closes windows, whether or not anything is wanted."""

    def __init__(self, publisher: Publisher[Any], host: Host) -> None:
        self._host = host
        self._intake = UrgentIntake(host)
        self._elements = self._intake.elements()
        subscribe(self._intake, publisher)

    def any_came(self) -> bool:
        """Whether there was one since the last time."""
        self._host.ended.discard(self._intake)
        return any_comes(self._elements, self._host)

    def close(self) -> None:
        """Cancel it."""
        close(self._elements)
