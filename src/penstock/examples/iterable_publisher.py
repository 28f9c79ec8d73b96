"""A publisher over an iterable, on the calling thread or on an executor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from operator import length_hint
from typing import Generic, TypeVar

from penstock.api import UNBOUNDED, Subscriber
from penstock.core import BaseSubscription, require_subscriber
from penstock.runtime import Executor, NewLock
from penstock.runtime.arguments import require_executor, require_int
from penstock.runtime.executor import ReentrantLock

__all__ = ["ExecutorPublisher", "IterablePublisher"]

T = TypeVar("T")


class IterablePublisher(Generic[T]):
    """Sends the elements of an iterable, on the thread that requests them.

    Each subscriber gets its own iterator, which is advanced only as far as was requested. A
    one-shot iterator, such as a generator, can be given but not restarted: its elements are shared
    out among the subscribers.
    """

    def __init__(self, iterable: Iterable[T], *, new_lock: NewLock = ReentrantLock) -> None:
        self._iterable = require_iterable(iterable)
        self._new_lock = new_lock

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Start an iteration for ``subscriber``."""
        require_subscriber(subscriber)  # 1.9
        iteration = IterableSubscription(
            self._iterable, subscriber, None, UNBOUNDED, self._new_lock
        )
        del subscriber  # 3.13: an error that somebody keeps also keeps this frame
        iteration.wake()


class ExecutorPublisher(Generic[T]):
    """Sends the elements of an iterable from an executor, which also advances the iterator.

    After ``batch`` elements a stream lets other tasks of the executor have their turn. A one-shot
    iterator is for one subscriber only, unless the executor runs one task at a time.
    """

    def __init__(
        self,
        iterable: Iterable[T],
        executor: Executor,
        *,
        batch: int = 256,
        new_lock: NewLock = ReentrantLock,
    ) -> None:
        self._iterable = require_iterable(iterable)
        self._executor = require_executor("IterablePublisher", executor)
        self._batch = require_int("IterablePublisher", "batch", batch)
        self._new_lock = new_lock

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Start an iteration for ``subscriber`` on the executor."""
        require_subscriber(subscriber)  # 1.9
        iteration = IterableSubscription(
            self._iterable, subscriber, self._executor, self._batch, self._new_lock
        )
        del subscriber  # 3.13
        iteration.wake()


class IterableSubscription(BaseSubscription[T]):
    """One subscriber's iteration over the iterable."""

    __slots__ = ("_batch", "_iterable", "_iterator", "_opened")

    def __init__(
        self,
        iterable: Iterable[T],
        subscriber: Subscriber[T],
        executor: Executor | None,
        batch: int,
        new_lock: NewLock,
    ) -> None:
        super().__init__(subscriber, executor, new_lock)
        self._iterable = iterable
        self._iterator: Iterator[T] | None = None
        self._opened: Iterator[T] | None = None
        self._batch = batch

    def _serve(self) -> None:
        try:
            if self._iterator is None:
                self._iterator = self._opened = iter(self._iterable)
            self._advance(self._iterator)
        except Exception as error:
            self._fail(error)  # 1.4

    def _advance(self, iterator: Iterator[T]) -> None:
        limit = min(self.demand.outstanding, self._batch)
        if self._emit(islice(iterator, limit)) < limit or self._at_end(iterator):
            self._complete()  # 1.2, 1.5
        elif self.demand.outstanding:
            self.wake()  # the batch is full: another round for the rest

    def _at_end(self, iterator: Iterator[T]) -> bool:
        """Whether the iterator knows that it has no more, as that of a list does.

        Then the stream completes without waiting for another request. An iterator that does not
        know is left alone: an element taken without demand would be lost on cancel.
        """
        if self._over or length_hint(iterator, 1) > 0:
            return False
        for element in iterator:  # the hint was wrong; an error that it hid is raised here
            self._iterator = chain((element,), iterator)
            return False
        return True

    def _release(self) -> None:
        opened, self._opened = self._opened, None
        iterable, self._iterable = self._iterable, ()
        self._iterator = None
        close = getattr(opened, "close", None)
        # An iterator that was handed in belongs to the caller who made it.
        if close is not None and opened is not iterable:
            close()


def require_iterable(iterable: Iterable[T]) -> Iterable[T]:
    """``iterable``, when it is one, by ``__iter__`` or by ``__getitem__``."""
    kind = type(iterable)
    if hasattr(kind, "__iter__") or hasattr(kind, "__getitem__"):
        return iterable
    raise TypeError(f"an iterable is needed, not {kind.__name__}")
