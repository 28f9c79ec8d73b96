"""Demand that is told to the other end of a connection."""

from __future__ import annotations

from penstock.flow.engine.prefetch_subscriber import PrefetchSubscriber
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.sources.from_coroutine import CoroutineSubscription, Feeding

__all__ = ["CreditSubscription", "from_coroutine_with_credit"]


class CreditSubscription(CoroutineSubscription):
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
                if self._requested <= count:  # checked again, now that others see that we wait
                    await self._waiter
            finally:
                self._waiter = None
        return self._requested


def from_coroutine_with_credit(
    coroutine: Feeding, connector: str, run: RunContext, per_output: int
) -> Elements:
    """The elements that ``coroutine`` makes, in a task on the loop of the run."""
    subscriber = PrefetchSubscriber(run, per_output)
    subscriber.on_subscribe(CreditSubscription(connector, coroutine, subscriber, run))
    return subscriber.elements()
