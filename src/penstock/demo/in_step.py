"""Streams of one world, none of which runs ahead of the others."""

from __future__ import annotations

from asyncio import Condition
from collections.abc import AsyncGenerator, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeVar

__all__ = ["InStep"]

T = TypeVar("T")

NOT_BEGUN: Final = datetime.min.replace(tzinfo=UTC)
ENDED: Final = datetime.max.replace(tzinfo=UTC)


class InStep:
    """Streams that go through their time together, each at most ``lead`` ahead of the others.

    So they also end together, whichever reader is slow, and whenever one comes back. None
    begins before all have a reader; one whose reader is gone keeps its place, and the others wait;
    one that has ended holds nobody back.

    All readers are on one asyncio loop.
    """

    def __init__(self, names: Iterable[str], lead: timedelta) -> None:
        self._times = dict.fromkeys(names, NOT_BEGUN)
        self._lead = lead
        self._moved = Condition()

    async def stream(
        self, name: str, rows: Iterable[T], time_of: Callable[[T], datetime]
    ) -> AsyncGenerator[T, None]:
        """``rows`` as the stream ``name``, which they take over, wherever it was."""
        for row in rows:
            await self._be_at(name, time_of(row))
            yield row
        await self._be_at(name, ENDED)

    async def _be_at(self, name: str, time: datetime) -> None:
        """Move on to ``time``, and wait until the others are near."""
        async with self._moved:
            self._times[name] = time
            self._moved.notify_all()
            if time is not ENDED:
                await self._moved.wait_for(lambda: time - min(self._times.values()) <= self._lead)
