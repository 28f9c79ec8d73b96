"""One reading of a query: where it stands, when it asks again, and when it is over."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from threading import Event
from time import monotonic
from typing import Any, Final, TypeVar

from penstock.connectors.shared.pulled_source import PulledSource
from penstock.connectors.shared.sql_query import SqlQuery
from penstock.runtime.arguments import require_seconds

__all__ = ["Busy", "QueryReading", "require_poll"]

T = TypeVar("T")
R = TypeVar("R")

PAUSE: Final = 0.05
"""The seconds between two attempts to get at what another program keeps locked."""


class Busy(Exception):
    """Another program has locked what is to be read; it may let go."""


class QueryReading(PulledSource[T]):
    """Reads a query after a position; each kind of database has its hooks. On its own thread.

    ``interrupted``  set when nobody waits any more; whatever waits here should wait for it
    """

    def __init__(self, query: SqlQuery, position: Any, poll: float | None) -> None:
        self.interrupted = Event()
        self.given = 0
        self._query = query
        self._position = position
        self._poll = poll
        self._is_asked = False
        self._is_over = False

    # The hooks. All but the last one are called within ``explained``, on the thread of the reading.

    @abstractmethod
    def ask(self, statement: str, parameters: Any) -> Sequence[str]:
        """Begin the query, which gives rows when it is told to; the names of its columns."""

    @abstractmethod
    def read(self, most: int) -> Sequence[T]:
        """The next elements; fewer than ``most`` are the last ones."""

    @abstractmethod
    def let_go(self) -> None:
        """The query is over, for now: free what it holds."""

    @abstractmethod
    def explained(self) -> AbstractContextManager[None]:
        """What makes one line of an error."""

    def begin(self) -> None:
        """Ask for the rows after the last one; for ``connect``."""
        self._is_over = False
        with self.explained():
            self._ask()

    def fetch(self, most: int) -> Sequence[T] | None:
        """Read so many; fewer are the last ones, for now."""
        if self._is_over:
            if self._poll is None:
                return None
            self.interrupted.wait(self._poll)
        with self.explained():
            if not self._is_asked:
                self._ask()
            elements = self.read(most)
            self._is_over = len(elements) < most
            if self._is_over:
                self.forget()
        if elements and self._query.key:
            self._query.require_order(elements, self._position)
            self._position = self._query.position_of(elements[-1])
        self.given += len(elements)
        return elements or (None if self._poll is None else elements)

    def forget(self) -> None:
        """The next elements are asked for anew."""
        self._is_asked = False
        self.let_go()

    def patiently(self, attempt: Callable[[], R], seconds: float) -> R:
        """What it returns, tried again while it raises ``Busy``, for so many seconds at most."""
        until = monotonic() + seconds
        while True:
            try:
                return attempt()
            except Busy:
                if monotonic() >= until or self.interrupted.wait(PAUSE):
                    raise

    def _ask(self) -> None:
        self._is_asked = True
        self._query.require_columns(self.ask(*self._query.after(self._position)))


def require_poll(connector: str, query: SqlQuery, poll: float | None) -> float | None:
    """``poll``, when there is a key to go on after."""
    if poll is None:
        return None
    if not query.key:
        raise ValueError(f"{connector}: poll asks for rows after the last key, so it needs key=")
    return require_seconds(connector, "poll", poll)
