"""From signals to a marble diagram."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from penstock.api import UNBOUNDED, Publisher
from penstock.runtime import VirtualTime
from penstock.runtime.arguments import require_int, require_seconds
from penstock.testing.manual_subscriber import ManualSubscriber
from penstock.testing.marbles import COMPLETION, FAILURE, Alphabet, draw_marbles
from penstock.testing.options import require_virtual_time
from penstock.testing.recording import OnComplete, OnError, OnNext, OnSubscribe, Signal

__all__ = ["record", "to_marble"]

T = TypeVar("T")

TOLERANCE = 1e-6
"""How far from its frame a signal may be, in frames: floating-point sums are not exact."""


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
