"""Elements that go to several subscribers at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import compress, islice, repeat
from operator import length_hint
from typing import Any, Generic, TypeAlias, TypeVar

from penstock.core import COMPLETED, require_element
from penstock.flow.engine.run_context import PENDING, Elements
from penstock.flow.multicast.broadcast_subscription import BroadcastSubscription

__all__ = ["FanOut"]

T = TypeVar("T")
Call: TypeAlias = Callable[[Any], object]


class FanOut(Generic[T]):
    """Sends elements to all subscribers of a shared run in one loop, until it is disturbed.

    It calls ``on_next`` of the subscribers on the thread that pulls the run.

    ``disturbed``  a subscriber came, or is about to leave
    ``late``       the element that came when the loop was disturbed already
    """

    __slots__ = ("_most", "_turns", "_unsent", "disturbed", "late")

    def __init__(self) -> None:
        self.disturbed: Any = False  # a bool, which other threads change
        self.late: list[T] = []
        self._most = 0
        self._turns: Iterator[bool] = repeat(True, 0)
        self._unsent = 0

    @property
    def sent(self) -> int:
        """How many elements have been sent, or are being sent."""
        return self._most - length_hint(self._turns) - self._unsent

    def send(
        self,
        elements: Elements,
        subscriptions: list[BroadcastSubscription[T]],
        most: int,
        keep: Call | None,
    ) -> object:
        """Send up to ``most`` elements, each of which is given to ``keep`` first.

        Returns ``PENDING`` if one is pending, ``COMPLETED`` if there are no more, else ``None``.
        """
        self._most = most
        # Counting is left to the iterators: this is the hot loop.
        self._turns = repeat(True, most)
        return self._send(compress(islice(elements, most), self._turns), subscriptions, keep)

    def _send(
        self, elements: Elements, subscriptions: list[BroadcastSubscription[T]], keep: Call | None
    ) -> object:
        calls = calls_of(subscriptions)
        call = calls[0]
        alone = len(calls) == 1
        try:
            for element in elements:
                if element is PENDING or element is None or self.disturbed:
                    return self._leave_out(element)
                if keep is not None:
                    keep(element)
                try:
                    if alone:
                        call(element)
                    else:
                        for call in calls:
                            call(element)
                except BaseException as error:
                    finish_row(error, element, call, calls, subscriptions)
                if self.disturbed:
                    return None
        finally:
            del calls, call  # 3.13: an error that is kept also keeps this frame
        return COMPLETED if self.sent < self._most else None

    def _leave_out(self, element: T) -> object:
        self._unsent = 1
        if element is PENDING:
            return PENDING
        require_element(element)
        self.late.append(element)
        return None


def calls_of(subscriptions: Iterable[BroadcastSubscription[Any]]) -> list[Call]:
    """``on_next`` of each subscriber: different objects, even where they share a function."""
    calls: list[Call] = [subscription.call for subscription in subscriptions]
    if len(set(map(id, calls))) < len(calls):
        return [partial(call) for call in calls]
    return calls


def finish_row(
    error: BaseException,
    element: object,
    call: Call,
    calls: list[Call],
    subscriptions: list[BroadcastSubscription[T]],
) -> None:
    """``call`` raised ``error``; those after it get the element all the same."""
    failed = next(at for at, each in enumerate(calls) if each is call)
    interrupt = blame(subscriptions[failed], error)
    for at in range(failed + 1, len(calls)):
        try:
            calls[at](element)
        except BaseException as another:
            interrupt = blame(subscriptions[at], another) or interrupt
    if interrupt is not None:
        raise interrupt


def blame(subscription: BroadcastSubscription[T], error: BaseException) -> BaseException | None:
    """End the stream of a subscriber that raised; returns the error if it must be raised on."""
    if isinstance(error, Exception):
        subscription.blame(error)
        return None
    subscription.cancel()
    return error
