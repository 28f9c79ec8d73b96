"""An asyncio event loop as executor and clock."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING

from penstock.runtime.arguments import require_delay
from penstock.runtime.executor import Task, Timer, run_reporting

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, TimerHandle

__all__ = ["AsyncioLoop"]


class AsyncioLoop:
    """Runs tasks as callbacks of an asyncio loop; may be used from any thread.

    Without an argument it takes the loop that is running where it is made.
    """

    def __init__(self, loop: AbstractEventLoop | None = None) -> None:
        # Imported here: programs without a loop need not wait for asyncio.
        from asyncio import _get_running_loop

        running = _get_running_loop() if loop is None else loop
        if running is None:
            raise RuntimeError("no asyncio loop is running here; give one, or make this inside one")
        if not hasattr(running, "call_soon_threadsafe"):
            raise TypeError(f"AsyncioLoop needs an asyncio loop, not {loop!r}")
        if running.is_closed():
            raise RuntimeError(f"AsyncioLoop needs an asyncio loop that is open, not {loop!r}")
        self._loop = running
        self._running_loop = _get_running_loop

    def execute(self, task: Task) -> None:
        """Run ``task`` on the loop. ``RuntimeError`` once the loop is closed."""
        try:
            if self._running_loop() is self._loop:
                self._loop.call_soon(run_reporting, task)
            else:
                self._loop.call_soon_threadsafe(run_reporting, task)
        except RuntimeError as error:
            raise RuntimeError(f"the asyncio loop takes no more tasks: {error}") from error

    def now(self) -> float:
        """The loop's own time."""
        return self._loop.time()

    def unix_time(self) -> float:
        """The system's time of day, in seconds since 1970."""
        return time()

    def call_later(self, seconds: float, task: Task) -> Timer:
        """Run ``task`` on the loop once ``seconds`` have passed."""
        delay = require_delay(seconds)
        timer = _LoopTimer(self._loop, task)
        self.execute(lambda: timer.start(delay))
        return timer


class _LoopTimer:
    """A timer that is set, and stopped, on the loop's thread, whichever thread asks for it."""

    def __init__(self, loop: AbstractEventLoop, task: Task) -> None:
        self._loop = loop
        self._task = task
        self._cancelled = False
        self._due = loop.time()
        self._handle: TimerHandle | None = None

    def start(self, seconds: float) -> None:
        if not self._cancelled:
            self._handle = self._loop.call_at(self._due + seconds, self._fire)

    def cancel(self) -> None:
        self._cancelled = True
        if self._handle is not None:
            try:
                self._loop.call_soon_threadsafe(self._handle.cancel)
            except RuntimeError:
                pass  # the loop is closed, so nothing will run any more

    def _fire(self) -> None:
        if not self._cancelled:
            run_reporting(self._task)
