"""A publisher that does what a marble diagram shows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, overload

from penstock.api import Subscriber
from penstock.core import COMPLETED, BaseSubscription, require_subscriber
from penstock.runtime import Clock, SystemClock
from penstock.runtime.arguments import require_clock, require_seconds
from penstock.testing.marbles import COMPLETION, FAILURE, Alphabet, read_marbles

__all__ = ["MarblePublisher", "marble"]

T = TypeVar("T")


class Moment(NamedTuple, Generic[T]):
    """What falls due so many seconds after the start."""

    seconds: float
    elements: tuple[T, ...]
    ending: Exception | None


class MarblePublisher(Generic[T]):
    """Plays a marble diagram to each subscriber, from the moment in which it subscribes.

    An element that falls due without demand waits, and so does what comes after it; that is no
    more than the diagram holds.
    """

    def __init__(self, moments: Iterable[Moment[T]], time: Clock) -> None:
        self._moments = tuple(moments)
        self._time = time

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        require_subscriber(subscriber)  # 1.9
        Play(self._moments, self._time, subscriber).wake()


class Play(BaseSubscription[T]):
    """One subscriber's way through the diagram.

    Signals come on the thread of the clock, or on one that requests elements which are due.
    """

    __slots__ = ("_due", "_ending", "_timers")

    def __init__(
        self, moments: Iterable[Moment[T]], time: Clock, subscriber: Subscriber[T]
    ) -> None:
        super().__init__(subscriber)
        self._due: deque[T] = deque()
        self._ending: Exception | None = None
        self._timers = [
            time.call_later(moment.seconds, partial(self._fall_due, moment)) for moment in moments
        ]

    def _fall_due(self, moment: Moment[T]) -> None:
        self._due.extend(moment.elements)
        self._ending = moment.ending
        self.wake()

    def _serve(self) -> None:
        count = min(len(self._due), self.demand.outstanding)
        self._emit([self._due.popleft() for _ in range(count)])
        if self._due or self._ending is None:
            return
        if self._ending is COMPLETED:
            self._complete()
        else:
            self._fail(self._ending)

    def _release(self) -> None:
        for timer in self._timers:
            timer.cancel()


@overload
def marble(
    diagram: str, *, time: Clock, frame: float = ..., error: Exception | None = ...
) -> MarblePublisher[str]: ...


@overload
def marble(
    diagram: str,
    values: Mapping[str, T],
    *,
    time: Clock,
    frame: float = ...,
    error: Exception | None = ...,
) -> MarblePublisher[T]: ...


def marble(
    diagram: str,
    values: Mapping[str, Any] | None = None,
    *,
    time: Clock,
    frame: float = 1.0,
    error: Exception | None = None,
) -> MarblePublisher[Any]:
    """A publisher that does what ``diagram`` shows, such as ``"a-b-(cd)|"``.

    ``-``      a frame, the unit of time, in which nothing happens
    ``a``      an element, in a frame of its own; any letter or digit
    ``|``      the stream completes
    ``#``      the stream fails
    ``(ab|)``  several signals in one frame

    Spaces mean nothing, not even a frame.

    ``values``  the element for each letter; without it, the letter itself
    ``time``    the clock, mostly a ``VirtualTime``
    ``frame``   how many seconds a frame lasts
    ``error``   what ``#`` fails with; a ``RuntimeError`` unless given

    A mistake in the diagram is a ``ValueError`` that points at it.
    """
    alphabet: Alphabet[Any] = Alphabet(values)
    failure = error or RuntimeError("the marble diagram fails here")
    endings = {COMPLETION: COMPLETED, FAILURE: failure}
    seconds = require_seconds("marble", "frame", frame)
    frames = read_marbles(diagram, alphabet)
    moments = [
        Moment(
            index * seconds,
            tuple(alphabet.element(symbol) for symbol in symbols if symbol not in endings),
            endings.get(symbols[-1]) if symbols else None,
        )
        for index, symbols in enumerate(frames)
    ]
    return MarblePublisher(moments, require_clock("marble", time) or SystemClock())
