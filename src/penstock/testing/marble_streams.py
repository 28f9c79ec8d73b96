"""From a marble diagram to a publisher that does what it shows, and from signals to a diagram."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, Generic, NamedTuple, TypeVar, overload

from penstock.api import UNBOUNDED, Publisher, Subscriber
from penstock.core import COMPLETED, BaseSubscription, require_subscriber
from penstock.core.signals import OnComplete, OnError, OnNext, OnSubscribe, Signal
from penstock.runtime import Clock, SystemClock, VirtualTime
from penstock.runtime.arguments import require_clock, require_int, require_seconds
from penstock.testing.expectation import require_virtual_time
from penstock.testing.manual_subscriber import ManualSubscriber
from penstock.testing.marbles import COMPLETION, FAILURE, Alphabet, draw_marbles, read_marbles

__all__ = [
    "MarblePublisher",
    "marble",
    "record",
    "to_marble",
]

T = TypeVar("T")

TOLERANCE = 1e-6
"""How far from its frame a signal may be, in frames: floating-point sums are not exact."""


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


def record(
    publisher: Publisher[T],
    time: VirtualTime,
    *,
    request: int = UNBOUNDED,
    values: Mapping[str, T] | None = None,
    frame: float = 1.0,
    frames: int | None = None,
) -> str:
    """Subscribe, let virtual time run, and return the marble diagram of what came.

    ``time``     the virtual time that the publisher lives in
    ``request``  what to ask for at the start; everything by default
    ``values``   the element for each letter; without it, elements are letters themselves
    ``frame``    how many seconds a frame lasts
    ``frames``   stop after so many; a stream that ticks for ever needs it

    >>> from penstock.testing import VirtualTime, marble
    >>> time = VirtualTime()
    >>> record(marble("a-(bc)-|", time=time), time)
    'a-(bc)-|'

    A publisher that breaks a rule of signalling fails the test, as with ``StepVerifier``.
    """
    __tracebackhide__ = True
    alphabet = Alphabet(values)
    seconds = require_seconds("record", "frame", frame)
    last_frame = None if frames is None else require_int("record", "frames", frames) - 1
    start = require_virtual_time("record", time).now()
    subscriber: ManualSubscriber[T] = ManualSubscriber(request=request, time=time)
    publisher.subscribe(subscriber)
    if last_frame is None:
        time.run()
    else:
        time.advance(last_frame * seconds)
    subscriber.close()
    time.advance(0)
    subscriber.assert_no_rule_broken()
    passed = int((time.now() - start) / seconds + TOLERANCE) + 1
    return _draw(subscriber.signals, alphabet, seconds, start, passed)


def to_marble(
    signals: Iterable[Signal[T]],
    *,
    values: Mapping[str, T] | None = None,
    frame: float = 1.0,
    start: float = 0.0,
    frames: int = 1,
) -> str:
    """The marble diagram of recorded signals, such as ``ManualSubscriber.signals``.

    ``start``   the time of the first frame
    ``frames``  draw so many at least, unless the stream ends before

    >>> to_marble([OnNext("a", at=0.0), OnNext("b", at=2.0), OnComplete(at=2.0)])
    'a-(b|)'

    A signal between two frames is a ``ValueError``, and so is an element without a letter.
    """
    require_int("to_marble", "frames", frames)
    return _draw(
        signals, Alphabet(values), require_seconds("to_marble", "frame", frame), start, frames
    )


def _draw(
    signals: Iterable[Signal[T]],
    alphabet: Alphabet[T],
    seconds: float,
    start: float,
    at_least: int,
) -> str:
    frames: list[tuple[str, ...]] = []
    ended = False
    for signal in signals:
        if isinstance(signal, OnSubscribe):
            continue
        index = _frame_of(signal, start, seconds)
        if ended or index < len(frames) - 1:
            raise ValueError(f"{signal} at {signal.at:g} s is out of order")
        frames += [()] * (index + 1 - len(frames))
        frames[index] += (_symbol(signal, alphabet),)
        ended = not isinstance(signal, OnNext)
    if not ended:
        frames += [()] * (at_least - len(frames))
    return draw_marbles(frames)


def _frame_of(signal: Signal[T], start: float, seconds: float) -> int:
    position = (signal.at - start) / seconds
    index = round(position)
    if index < 0 or abs(position - index) > TOLERANCE:
        raise ValueError(
            f"{signal} came {signal.at - start:g} s after the start, which is no frame of"
            f" {seconds:g} s; frame= takes another length"
        )
    return index


def _symbol(signal: OnNext[T] | OnError | OnComplete, alphabet: Alphabet[T]) -> str:
    match signal:
        case OnNext(element):
            return alphabet.letter(element)
        case OnError():
            return FAILURE
        case OnComplete():
            return COMPLETION
