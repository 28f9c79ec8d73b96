"""A connection that is made again when it is lost, and listeners that are told of it.

Code that assembles sources, as a pipeline does, may listen to all of them; no source needs to know.
"""

from __future__ import annotations

import logging
import time
from asyncio import sleep
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar

from penstock.flow import Retry
from penstock.flow.checks import require_callable
from penstock.runtime import shorten

__all__ = [
    "FOREVER",
    "ConnectionLost",
    "Reconnecting",
    "SourceListener",
    "Tell",
    "announced",
    "current_listener",
    "listening",
    "require_reconnect",
    "require_tell",
]


T = TypeVar("T")


class SourceListener(Protocol):
    """Is told by a source what happens to it; called on any thread."""

    def connects_to(self, url: str) -> object:
        """The source was assembled, and will connect there when it runs. The url has no secrets."""

    def has_advice(self, words: str) -> object:
        """The source works as it was assembled, but should be changed. No secrets in ``words``."""

    def has_trouble(self, words: str) -> object:
        """Something keeps it from its work; an empty text says that all is well again."""

    def has_lost(self, elements: int | None, words: str) -> object:
        """Elements can never be read any more: so many, or ``None`` if it is not known how many."""


_listener: ContextVar[SourceListener | None] = ContextVar("listener of sources", default=None)


@contextmanager
def listening(listener: SourceListener) -> Iterator[None]:
    """Have ``listener`` told by all sources that are assembled meanwhile, whenever they run."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def current_listener() -> SourceListener | None:
    """The listener of a source that is assembled now."""
    return _listener.get()


def announced(url: str) -> SourceListener | None:
    """Say where a source connects to; returns the listener to tell what keeps it from that."""
    listener = current_listener()
    if listener is not None:
        listener.connects_to(url)
    return listener


FOREVER: Final = Retry(times=None, backoff=0.2, longest=10)
"""How sources come back unless the user says otherwise."""

Tell = Callable[[str], object]
"""Gets a sentence about the connection whenever its state changes."""

logger = logging.getLogger(__name__)


class ConnectionLost(Exception):
    """A connection ended, or was not made, in a way that another attempt may fix."""


class Reconnecting:
    """The attempts to stay connected to one address.

    They count from the last one that brought anything, so ``policy`` bounds how often connecting
    fails in a row, not how long a connection lasts in all. ``tell`` is called on the event loop.
    """

    def __init__(
        self,
        name: str,
        address: str,
        policy: Retry,
        tell: Tell | None,
        listener: SourceListener | None = None,
    ) -> None:
        self._name = name
        self._address = address
        self._policy = policy
        self._tell = tell
        self._listener = listener
        self._delays: Iterator[float] = policy.delays()
        self._failures = 0
        self.retry_after: float | None = None
        """The wait that the other end has asked for, in seconds."""

    def connected(self) -> None:
        """The other end has answered."""
        self._say(f"connected to {self._address}", logging.INFO)

    def progressed(self) -> None:
        """Something came: the next failure is the first one again."""
        if self._failures:
            self._failures = 0
            self._delays = self._policy.delays()

    async def keep(self, session: Callable[[], Awaitable[None]]) -> None:
        """Run ``session`` again each time that it is lost, until it returns."""
        while True:
            try:
                return await session()
            except ConnectionLost as loss:
                await sleep(self.next_delay(loss))

    def persist(self, step: Callable[[], T], disconnect: Callable[[], object]) -> T:
        """Take ``step`` again, after a pause, each time that the connection was lost. Blocks."""
        while True:
            try:
                done = step()
            except ConnectionLost as loss:
                disconnect()
                time.sleep(self.next_delay(loss))
            else:
                self.progressed()
                return done

    def next_delay(self, loss: ConnectionLost) -> float:
        """The seconds until the next attempt; ``ConnectionError`` if there is none."""
        cause = loss.__cause__
        error = cause if isinstance(cause, Exception) else loss
        delay = next(self._delays, None) if self._policy.covers(error) else None
        self._failures += 1
        if delay is None:
            attempts = "1 attempt" if self._failures == 1 else f"{self._failures} attempts"
            raise ConnectionError(
                f"{self._name} gave up on {self._address} after {attempts}: {loss}"
            ) from error
        if self.retry_after is not None:
            delay = max(delay, self.retry_after)
        self._say(f"{self._address}: {loss}; next attempt in {delay:.1f} s", logging.WARNING)
        return delay

    def _say(self, text: str, level: int) -> None:
        logger.log(level, "%s: %s", self._name, text)
        if self._tell is not None:
            self._tell(text)
        if self._listener is not None:
            self._listener.has_trouble(text if level > logging.INFO else "")


def require_reconnect(connector: str, policy: Retry) -> Retry:
    """``policy``, when it is one that waits: a server that is down must not be hammered."""
    if not isinstance(policy, Retry):
        raise TypeError(f"{connector}: reconnect must be a Retry, not {shorten(policy)}")
    if not policy.waits and policy.times != 0:
        raise ValueError(f"{connector}: reconnect must wait, so its backoff must be above 0")
    return policy


def require_tell(connector: str, tell: Tell | None) -> Tell | None:
    """``tell``, when it is a function or none."""
    return None if tell is None else require_callable(connector, tell)
