"""Subscribers of which each breaks one rule."""

from __future__ import annotations

import threading

from penstock.api import Subscription
from tests.guard.unit.conformant import Recorder


class CallsInTerminal(Recorder[int]):
    """Breaks rule 2.3: calls its subscription from within the terminal signals."""

    def __init__(self, call: str) -> None:
        super().__init__(asks_for=1)
        self._call = call

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        self._call_back()

    def on_complete(self) -> None:
        super().on_complete()
        self._call_back()

    def _call_back(self) -> None:
        if self._call == "request":
            self.request(1)
        else:
            self.cancel()


class KeepsSecondSubscription(Recorder[int]):
    """Breaks rule 2.5: takes every subscription that comes, without using the second one."""

    def on_subscribe(self, subscription: Subscription) -> None:
        if self.subscription is None:
            super().on_subscribe(subscription)


class UsesSecondSubscription(Recorder[int]):
    """Breaks rule 2.5: requests from every subscription that comes."""


class CallsFromTwoThreads(Recorder[int]):
    """Breaks rule 2.7: one thread calls the subscription while another is inside of it."""

    def call_from_another_thread(self, call: str) -> None:
        assert self.subscription is not None
        calls = {"request": lambda: self.request(1), "cancel": self.cancel}
        thread = threading.Thread(target=calls[call])
        thread.start()
        thread.join()


class Raises(Recorder[int]):
    """Breaks rule 2.13: raises in one of its signals."""

    def __init__(self, signal: str) -> None:
        super().__init__(asks_for=2)
        self._signal = signal

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        self._raise_in("on_subscribe")

    def on_next(self, element: int) -> None:
        super().on_next(element)
        self._raise_in("on_next")

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        self._raise_in("on_error")

    def on_complete(self) -> None:
        super().on_complete()
        self._raise_in("on_complete")

    def _raise_in(self, signal: str) -> None:
        if signal == self._signal:
            raise LookupError(f"in {signal}")


class RaisesForSecondSubscription(Recorder[int]):
    """Breaks rule 2.13: raises in ``on_subscribe`` where rule 2.5 wants a cancel."""

    def on_subscribe(self, subscription: Subscription) -> None:
        if self.subscription is not None:
            raise LookupError("subscribed already")
        super().on_subscribe(subscription)


class TakesNone:
    """Breaks rule 2.13: takes ``None`` for an argument like any other."""

    def on_subscribe(self, subscription: Subscription) -> None:
        pass

    def on_next(self, element: int) -> None:
        pass

    def on_error(self, error: Exception) -> None:
        pass

    def on_complete(self) -> None:
        pass


class TripsOverNone(TakesNone):
    """Breaks rule 2.13: raises for ``None``, but not ``TypeError``."""

    def on_next(self, element: int) -> None:
        raise LookupError(element)


class RequestsNothing(Recorder[int]):
    """Breaks rule 3.9: calculates how much to request, and arrives at nothing."""

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        subscription.request(len(self.signals) - 1)
