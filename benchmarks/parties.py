"""Subscribers that do next to nothing, so that what is upstream of them is measured."""

from __future__ import annotations

from penstock import UNBOUNDED, Subscription

__all__ = ["Adder", "BatchAdder", "OneByOneAdder"]


class Adder:
    """Sums up; asks once."""

    __slots__ = ("_first", "_subscription", "total")

    def __init__(self, first: int = UNBOUNDED) -> None:
        self._first = first
        self.total = 0

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        subscription.request(self._first)

    def on_next(self, element: int) -> None:
        self.total += element

    def on_error(self, error: Exception) -> None:
        raise error

    def on_complete(self) -> None:
        pass


class OneByOneAdder(Adder):
    """Asks for one more with each element."""

    __slots__ = ()

    def on_next(self, element: int) -> None:
        self.total += element
        self._subscription.request(1)


class BatchAdder(Adder):
    """Asks for as many again when all have come."""

    __slots__ = ("_left",)

    def __init__(self, first: int) -> None:
        super().__init__(first)
        self._left = first

    def on_next(self, element: int) -> None:
        self.total += element
        self._left -= 1
        if not self._left:
            self._left = self._first
            self._subscription.request(self._first)
