"""Sources that send by themselves, and no more than they were granted: protocols with credit.

Demand goes there as it is, as a grant; what comes without one is an error of the other end.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from asyncio import FIRST_COMPLETED, CancelledError, create_task, gather, sleep, wait
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, Final, Generic, TypeVar

from penstock.api import UNBOUNDED
from penstock.connectors.shared.loop_thread import where_a_loop_is
from penstock.connectors.shared.readings import Readings
from penstock.connectors.shared.reconnecting import (
    FOREVER,
    Reconnecting,
    Tell,
    require_reconnect,
    require_tell,
)
from penstock.flow import Flow, Retry
from penstock.flow.engine.prefetch_subscriber import PREFETCH, PrefetchSubscriber
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin
from penstock.flow.sources.from_async import CoroutineSubscription, Feeding, close_iterator
from penstock.rules import cite
from penstock.runtime.arguments import require_int, require_text

__all__ = [
    "CreditSubscription",
    "GrantedSource",
    "Overrun",
    "from_coroutine_with_credit",
    "from_granted",
    "take_granted",
]

T = TypeVar("T")

TURN: Final = 256
"""How many elements are taken before others get a turn on the loop."""


class Overrun(ValueError):
    """The other end has sent more than it was granted."""


class GrantedSource(ABC, Generic[T]):
    """One reading of another system, which sends as many elements as it was granted.

    Each run has its own. All methods are called on one event loop, ``grant`` also while
    ``receive`` waits::

        connect (grant* receive disconnect connect)* grant* receive disconnect

    They raise ``ConnectionLost`` where another attempt may help. Then ``disconnect`` and, after a
    pause, ``connect`` follow. A new connection is granted what is still wanted, and ``receive``
    goes on after the last element that it gave: the reading remembers which one that was.
    """

    @abstractmethod
    async def connect(self) -> None:
        """Connect; called when the first element is wanted, and again after ``ConnectionLost``."""

    @abstractmethod
    async def grant(self, n: int) -> None:
        """Let the other end send ``n`` more elements, beside those of grants before."""

    @abstractmethod
    def receive(self) -> AsyncIterator[T]:
        """The elements of this connection as they come; it ends after the last one of all.

        An asynchronous generator, as a rule.
        """

    async def cancel(self) -> None:
        """Tell the other end that nobody wants anything more; ``disconnect`` follows."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Close what is open, also if ``connect`` has failed."""


def from_granted(
    connector: str,
    source_factory: Callable[[Any], GrantedSource[T]],
    *,
    address: str,
    after: object = None,
    position_of: Callable[[T], object] | None = None,
    window: int = PREFETCH,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[T]:
    """The elements of a system that sends as many as it was granted, as a cold flow.

    ``source_factory`` makes the reading of one run, which begins after a position, at first
    ``after``. With ``position_of``, which tells the position of an element, a pipeline goes on
    after a restart where it was. ``connector`` and ``address`` are what messages call it; no
    secrets there. It runs on the event loop of the subscriber; where there is none, on one that all
    connectors share.

    Emits when: an element comes.
    Backpressures when: nothing is wanted; nothing is granted.
    Completes when: ``receive`` ends.
    Cancels when: the subscriber does; the reading is cancelled and disconnected.

    Demand: exact. At most ``window`` elements are granted ahead of those that came, and held.

    Replay: position with ``position_of``; else none.

    Errors: what the reading raises; ``ConnectionError`` when ``reconnect`` gives up; ``ValueError``
    if more comes than was granted. At once: ``TypeError`` and ``ValueError`` for arguments that
    cannot be used.

    Example:
        >>> import asyncio
        >>> from penstock.connectors import GrantedSource, from_granted
        >>> class Countdown(GrantedSource[int]):
        ...     def __init__(self, after):
        ...         self.number = after
        ...     async def connect(self):
        ...         self.granted = asyncio.Semaphore(0)
        ...     async def grant(self, n):
        ...         for _ in range(n):
        ...             self.granted.release()
        ...     async def receive(self):
        ...         while self.number > 1:
        ...             await self.granted.acquire()
        ...             self.number -= 1
        ...             yield self.number
        ...     async def disconnect(self): pass
        >>> numbers = from_granted("countdown", Countdown, address="here", after=4)
        >>> numbers.to_list().run_sync()
        [3, 2, 1]
    """
    grants: Grants[T] = Grants(
        GrantedSource,
        require_text("from_granted", "connector", connector),
        address,
        source_factory,
        require_int(connector, "window", window),
        require_reconnect(connector, reconnect),
        require_tell(connector, on_state),
    )
    return grants.flow(FromGranted, after, position_of)


class Grants(Readings[GrantedSource[T]]):
    """The readings of one flow. Their factory is called on the event loop."""

    async def feed(self, after: object, credit: Any) -> None:
        """Give all elements after a position, whatever becomes of a connection."""
        source, reconnecting = self.after(after), self.reconnecting()
        await reconnecting.keep(partial(self._attempt, source, credit, reconnecting))

    async def _attempt(
        self, source: GrantedSource[T], credit: CreditSubscription, reconnecting: Reconnecting
    ) -> None:
        try:
            await source.connect()
            reconnecting.connected()
            await take_granted(
                credit, watched(source.receive(), reconnecting), source.grant, source.cancel
            )
        except Overrun as error:
            raise Overrun(f"{self.connector}: {self.address}: {error}") from None
        finally:
            await source.disconnect()


async def watched(elements: AsyncIterator[T], reconnecting: Reconnecting) -> AsyncIterator[T]:
    """The same; whatever comes shows that the connection is good for something."""
    try:
        async for element in elements:
            reconnecting.progressed()
            yield element
    finally:
        await close_iterator(elements)


class FromGranted(Origin):
    """The elements of a reading, which is made for each run, on an event loop."""

    checked = True

    def __init__(self, grants: Grants[Any], after: object) -> None:
        super().__init__(grants.connector)
        self._grants = grants
        self._after = after

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Nothing is connected before the first request."""
        return self.open_at_most(run, per_output, UNBOUNDED)

    def open_at_most(self, run: RunContext, per_output: int, most: int) -> Elements:
        """The same, and grant no more than ``most`` in all."""
        feeding = partial(self._grants.feed, self._after)
        return where_a_loop_is(
            self.name,
            lambda: from_coroutine_with_credit(
                feeding, self.name, run, per_output, self._grants.ahead, most
            ),
        )


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
    coroutine: Feeding,
    connector: str,
    run: RunContext,
    per_output: int,
    window: int = PREFETCH,
    most: int = UNBOUNDED,
) -> Elements:
    """The elements that ``coroutine`` makes, in a task on the loop of the run."""
    subscriber = PrefetchSubscriber(run, per_output, window, most)
    subscriber.on_subscribe(CreditSubscription(connector, coroutine, subscriber, run))
    return subscriber.elements()


async def take_granted(
    credit: CreditSubscription,
    elements: AsyncIterator[Any],
    grant: Callable[[int], Awaitable[None]],
    cancel: Callable[[], Awaitable[None]],
) -> None:
    """Give what comes over one connection to its end, and pass on what is wanted meanwhile.

    All of it is called on the event loop. What ``grant`` raises ends the connection.
    """
    receiving = create_task(receive_all(credit, elements))
    granting = create_task(pass_demand_on(credit, grant))
    try:
        await wait((receiving, granting), return_when=FIRST_COMPLETED)
        await (receiving if receiving.done() else granting)
    except CancelledError:
        with suppress(Exception):  # nobody waits for it any more
            await cancel()
        raise
    finally:
        for task in (receiving, granting):
            task.cancel()
        await gather(receiving, granting, return_exceptions=True)


async def receive_all(credit: CreditSubscription, elements: AsyncIterator[Any]) -> None:
    """Give all elements of a connection; more than were granted on it are an error."""
    try:
        async for element in elements:
            if credit.given >= credit.requested:
                raise Overrun(cite("1.1", "the other end sent more than was requested"))
            credit.give(element)
            if credit.given % TURN == 0:
                await sleep(0)
    finally:
        await close_iterator(elements)


async def pass_demand_on(
    credit: CreditSubscription, grant: Callable[[int], Awaitable[None]]
) -> None:
    """Grant what is wanted; at first, what was requested before and has not come, too."""
    granted = credit.given
    while True:
        requested = await credit.requested_beyond(granted)
        await grant(requested - granted)
        granted = requested
