"""The latest status for each window that is open.

A window that reads slowly skips statuses: nothing queues up for it, since each one takes what is
there when it comes back. So a page that nobody looks at costs no memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final

from penstock.observe.observer import Observer
from penstock.observe.status import Status

__all__ = ["EventStream"]

HEARTBEAT: Final = 5.0
"""The seconds without news after which a window is told that there is none."""


class EventStream:
    """The statuses of an observer, which looks on some thread, for the windows on an event loop."""

    def __init__(self, observer: Observer, *, heartbeat: float = HEARTBEAT) -> None:
        self._observer = observer
        self._heartbeat = heartbeat
        self._loop = asyncio.get_running_loop()
        self._next = asyncio.Event()
        self._open = True
        self._leave = observer.listen(self._tell)

    async def statuses(self) -> AsyncIterator[Status | None]:
        """The status of now, and each that comes; ``None`` after a while without any."""
        while self._open:
            # Taken before the status: what comes while that is sent must not be missed.
            next_view = self._next
            yield self._observer.status
            while not await self._came(next_view):
                yield None

    def close(self) -> None:
        """No more news: all windows are let go."""
        self._open = False
        self._leave()
        self._ring()

    async def _came(self, event: asyncio.Event) -> bool:
        try:
            async with asyncio.timeout(self._heartbeat):
                await event.wait()
        except TimeoutError:
            return False
        return True

    def _tell(self, _: Status) -> None:
        try:
            self._loop.call_soon_threadsafe(self._ring)
        except RuntimeError:  # the loop has ended while the observer was about to tell
            pass

    def _ring(self) -> None:
        came, self._next = self._next, asyncio.Event()
        came.set()
