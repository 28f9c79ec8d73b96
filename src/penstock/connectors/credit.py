"""Demand that is told to the other end of a connection."""

from __future__ import annotations

from penstock.flow.elements import Elements, Host
from penstock.flow.intake import Intake
from penstock.flow.sources.feed import Feed, Feeding

__all__ = ["Credit", "fed_with_credit"]


class Credit(Feed):
    """A feed whose coroutine passes demand on, instead of waiting for it.

    ``requested``  how many elements were requested since the start
    ``given``      how many were given since then
    """

    @property
    def requested(self) -> int:
        return self._requested

    @property
    def given(self) -> int:
        return self._given

    async def requested_beyond(self, count: int) -> int:
        """How many elements were requested since the start, once these are more than ``count``."""
        while self._requested <= count:
            self._waiter = self._loop.create_future()
            try:
                if self._requested <= count:  # looked at again, now that others see that we wait
                    await self._waiter
            finally:
                self._waiter = None
        return self._requested


def fed_with_credit(coroutine: Feeding, connector: str, host: Host, each: int) -> Elements:
    """The elements that ``coroutine`` makes, in a task on the loop of the run."""
    intake = Intake(host, each)
    intake.on_subscribe(Credit(connector, coroutine, intake, host))
    return intake.elements()
