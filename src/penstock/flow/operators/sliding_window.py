"""Flows of elements that overlap, or leave out some between them: ``window(size, step=)``."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from penstock.api import UNBOUNDED
from penstock.core import COMPLETED
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.run_context import RunContext, discard
from penstock.flow.operators.group_by import SplitIntoSubstreams
from penstock.flow.operators.substream_router import Substream, SubstreamRouter

__all__ = ["SlidingWindows"]


class SlidingWindows(SplitIntoSubstreams):
    """Flows of ``size`` elements, of which each begins ``step`` elements after the one before.

    What a window has in common with those after it has room besides ``ahead``: else one who reads
    a window to its end before the next would wait for ever.
    """

    def __init__(self, upstream: BaseFlow[Any], size: int, step: int, prefetch: int) -> None:
        super().__init__("window", upstream, min(prefetch + max(size - step, 0), UNBOUNDED))
        self.size = size
        self.step = step
        self.ahead = prefetch

    def router(self, run: RunContext) -> SubstreamRouter:
        """What puts each element into all windows that are open."""
        return SlidingWindowing(self, run)


class SharedElement:
    """An element that waits in several windows: in how many, and whether one has delivered it."""

    __slots__ = ("delivered", "element", "windows")

    def __init__(self, element: Any, windows: int) -> None:
        self.element = element
        self.windows = windows
        self.delivered = False


class SlidingSubstream(Substream):
    """A window whose elements may wait in others as well."""

    __slots__ = ()
    _router: SlidingWindowing

    def sweep(self) -> None:
        """Let go of what nobody will take here."""
        while self.arrived:
            try:
                shared = self.arrived.popleft()
            except IndexError:  # another thread sweeps, too
                break
            self._router.let_go(shared, self._run)

    def _take(self) -> Any:
        shared = self.arrived.popleft()
        shared.delivered = True  # before another window lets go of it, and asks
        self._router.let_go(shared, self._run)
        return shared.element


class SlidingWindowing(SubstreamRouter):
    """Puts an element into all windows that are open, and opens one at each step."""

    def __init__(self, part: SlidingWindows, run: RunContext) -> None:
        super().__init__(part, run)
        self._portion = max(part.ahead // 4, 1)
        self._size = part.size
        self._step = part.step
        self._windows: dict[int, SlidingSubstream] = {}  # by their numbers
        self._routed = 0

    def let_go(self, shared: SharedElement, run: RunContext | None) -> None:
        """A window has delivered ``shared``, or never will. May be called from any thread."""
        with self._progress_lock:
            shared.windows -= 1
            is_last = not shared.windows
        if is_last:
            if not shared.delivered:
                discard(run or self.reader, (shared.element,))
            self.make_room(1)

    def _route(self, element: Any) -> None:
        window, place = divmod(self._routed, self._step)
        opened: SlidingSubstream | None = None
        if place == 0 and not self._outer_left:
            opened = self._windows[window] = SlidingSubstream(self, window)
        if self._windows:
            shared = SharedElement(element, len(self._windows))
            for each in self._windows.values():
                each.put(shared)
        elif place < self._size:
            self._lose(element)  # those who would have got it have left
        else:
            self.make_room(1)  # it is left out
        if opened is not None:
            self.outer.put(opened)
        self._routed += 1
        self._close_full_window()

    def _close_full_window(self) -> None:
        number, rest = divmod(self._routed - self._size, self._step)
        full = None if rest else self._windows.pop(number, None)
        if full is not None:
            full.end(COMPLETED)

    def _open_substreams(self) -> Collection[Substream]:
        return self._windows.values()

    def _forget(self, substream: Substream) -> None:
        if self._windows.get(substream.key) is substream:
            del self._windows[substream.key]

    def _end(self) -> None:
        self._windows.clear()
