"""The subscriber of one connection: keeps elements until the connection takes them."""

from __future__ import annotations

from asyncio import Future, get_running_loop, sleep
from collections import deque
from typing import Any, Final

from penstock.api import UNBOUNDED, Subscription
from penstock.core import COMPLETED, BaseSubscriber, require_element, require_error
from penstock.flow.engine.event_loop import call_on

__all__ = ["ConnectionSubscriber"]

TURN: Final = 4
"""So many elements are given in a row before others, and the end of the connection, get a turn."""


class ConnectionSubscriber:
    """Elements on their way to a connection, for ``async for`` in the task that sends them.

    ``request`` says how many the other end has room for. No more than ``capacity`` elements are
    asked for and not yet sent. Signals may come on any thread; all else is called on the loop.
    """

    def __init__(self, capacity: int) -> None:
        self._base_subscriber = BaseSubscriber(capacity)
        self._loop = get_running_loop()
        self._arrived: deque[Any] = deque()
        self._waiter: Future[None] | None = None
        self._changed = False
        self._wanted = 0
        self._sent = 0
        self._sending = False
        self.stopped = False

    def on_subscribe(self, subscription: Subscription) -> None:
        """Take the subscription; it is asked on the loop."""
        if self._base_subscriber.accept(subscription):
            self._wake()

    def on_next(self, element: object) -> None:
        """Keep the element until it can be sent."""
        require_element(element)
        if self._base_subscriber.admit():
            self._arrived.append(element)
        self._wake()

    def on_error(self, error: Exception) -> None:
        """Raise the error in the task that sends, once the elements before it are sent."""
        require_error(error)
        self._base_subscriber.end(error)
        self._wake()

    def on_complete(self) -> None:
        """The last element has come."""
        self._base_subscriber.end(COMPLETED)
        self._wake()

    def request(self, n: int) -> None:
        """The other end has room for ``n`` more."""
        self._wanted = min(self._wanted + n, UNBOUNDED)
        self._wake()

    def stop(self) -> None:
        """There will be no more elements."""
        self.stopped = True
        self.cancel()
        self._wake()

    def cancel(self) -> None:
        """The connection is gone."""
        self._base_subscriber.cancel()
        self._arrived.clear()

    def __aiter__(self) -> ConnectionSubscriber:
        return self

    async def __anext__(self) -> Any:
        self._sent += self._sending
        self._sending = False
        if self._sent % TURN == 0:
            # Sending does not wait while the socket has room, nor once the other end is gone.
            await sleep(0)
        while True:
            self._base_subscriber.refill(wanted=self._wanted, taken=self._sent)
            ending = (
                self._base_subscriber.ending
            )  # read first: then all elements before it are there
            if self._arrived:
                self._sending = True
                return self._arrived.popleft()
            if ending is COMPLETED or self.stopped:
                raise StopAsyncIteration
            if ending is not None:
                self._base_subscriber.cancel()  # a publisher that broke a rule may still be sending
                raise ending
            await self._woken()

    async def _woken(self) -> None:
        """Wait until something has changed since the last time."""
        if not self._changed:
            self._waiter = self._loop.create_future()
            try:
                if not self._changed:  # checked again, now that other threads see that we wait
                    await self._waiter
            finally:
                self._waiter = None
        self._changed = False

    def _wake(self) -> None:
        self._changed = True
        if self._waiter is not None:
            try:
                call_on(self._loop, self._release)
            except RuntimeError:
                pass  # the loop is closed, and nobody waits any more

    def _release(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
