"""Subscribers whose signals do not do as calls should: rules 2.2, 2.13, 3.10 and 3.11."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator
from typing import Any

from penstock.api import Subscription
from tests.tck.mutants.sound_subscribers import OneByOne, require
from tests.tck.mutants.subscribers import SEEN, mutant

A_WHILE = 0.25


@mutant()
class WaitsInOnNext(OneByOne):
    """2.2: takes its time in ``on_next``."""

    def process(self, element: Any) -> None:
        threading.Event().wait(A_WHILE)


@mutant()
class ComputesInOnNext(OneByOne):
    """2.2: computes for long in ``on_next``."""

    def process(self, element: Any) -> None:
        end = time.thread_time() + 0.12
        while time.thread_time() < end:
            pass


@mutant()
class WaitsForItsThread(OneByOne):
    """2.2: hands the work over and waits for it."""

    def __init__(self) -> None:
        super().__init__()
        self.inbox: queue.Queue[Any] = queue.Queue()

    def process(self, element: Any) -> None:
        self.inbox.put(element)
        threading.Thread(target=self.work, daemon=True).start()
        self.inbox.join()

    def work(self) -> None:
        """Process one element."""
        self.inbox.get()
        threading.Event().wait(A_WHILE)
        self.inbox.task_done()


@mutant()
class WaitsInOnSubscribe(OneByOne):
    """2.2: takes its time to begin."""

    def begin(self) -> None:
        threading.Event().wait(A_WHILE)
        super().begin()


@mutant()
class WaitsInOnError(OneByOne):
    """2.2: takes its time when the stream fails."""

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        threading.Event().wait(A_WHILE)


@mutant(only_hands_over=True)
class AsksFromWithinItsSignals(OneByOne):
    """2.2: claims that its signals only hand over, and asks for more in ``on_next``."""


@mutant()
class TakesNoneForASubscription(OneByOne):
    """2.13: takes None for a subscription."""

    def on_subscribe(self, subscription: Subscription) -> None:
        if subscription is not None:
            super().on_subscribe(subscription)


@mutant()
class TakesNoneForAnElement(OneByOne):
    """2.13: takes None for an element."""

    def on_next(self, element: Any) -> None:
        super().on_next("nothing" if element is None else element)


@mutant()
class TakesNoneForAnError(OneByOne):
    """2.13: takes None for an error."""

    def on_error(self, error: Exception | None) -> None:
        super().on_error(RuntimeError("unknown") if error is None else error)


@mutant()
class RaisesSomethingElse(OneByOne):
    """2.13: answers None by another error than ``TypeError``."""

    def on_subscribe(self, subscription: Subscription) -> None:
        if subscription is None:
            raise ValueError("no subscription")
        super().on_subscribe(subscription)


@mutant()
class TakesZeroForNone(OneByOne):
    """2.13: asks whether the element is true, and so refuses 0."""

    def on_next(self, element: Any) -> None:
        if not element:
            raise TypeError("no element")
        super().on_next(element)


@mutant()
class RaisesInOnSubscribe(OneByOne):
    """2.13: fails in ``on_subscribe``, after it has asked."""

    def begin(self) -> None:
        super().begin()
        raise RuntimeError("not ready")


@mutant()
class RaisesInOnNext(OneByOne):
    """2.13: fails at its third element."""

    def process(self, element: Any) -> None:
        super().process(element)
        if len(self.elements) == 3:
            raise RuntimeError("too many")


@mutant()
class RaisesInOnComplete(OneByOne):
    """2.13: fails when all is done."""

    def on_complete(self) -> None:
        if self.elements:
            raise RuntimeError("cannot write the result")


@mutant()
class RaisesInOnError(OneByOne):
    """2.13: fails when the stream has failed."""

    def on_error(self, error: Exception) -> None:
        require(error)
        if self.elements:
            raise RuntimeError("cannot write the error") from error


@mutant()
class IsAsynchronous(OneByOne):
    """2.13: ``on_complete`` is a coroutine function, which nobody awaits."""

    async def on_complete(self) -> None:  # type: ignore[override]  # that is the fault
        self.done = True


@mutant()
class IsAGenerator(OneByOne):
    """2.13: ``on_error`` is a generator function, which nobody iterates."""

    def on_error(self, error: Exception) -> Iterator[None]:  # type: ignore[override]  # as above
        if error is None:
            raise TypeError
        yield


@mutant()
class KeepsItsSubscriptionTooLate(OneByOne):
    """3.10: asks first and keeps the subscription then."""

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self.subscription is not None:
            subscription.cancel()
            return
        subscription.request(1)
        self.subscription = subscription

    def on_next(self, element: Any) -> None:
        require(element)
        self.process(element)
        assert self.subscription is not None
        self.subscription.request(1)


@mutant()
class CountsTooLate(OneByOne):
    """3.10: asks first and notes then how many are to come."""

    coming = 0

    def begin(self) -> None:
        self.request(4)
        self.coming = 4

    def go_on(self) -> None:
        self.coming -= 1
        if self.coming == 0:
            self.begin()


@mutant()
class HoldsItsLockWhileItAsks(OneByOne):
    """3.10: asks under a lock that ``on_next`` needs as well."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def process(self, element: Any) -> None:
        with self.lock:
            super().process(element)

    def request(self, n: int) -> None:
        with self.lock:
            super().request(n)


@mutant(**SEEN)
class KeepsItsElementInAField(OneByOne):
    """3.10: asks for the next element while the last one lies in a field."""

    current: Any = None

    def process(self, element: Any) -> None:
        self.current = element
        self.request(1)
        self.elements.append(self.current)

    def go_on(self) -> None:
        pass


@mutant(in_order=True, **SEEN)
class TurnsElementsRound(OneByOne):
    """3.10: asks before it processes, so that the next element overtakes, and claims otherwise."""

    def process(self, element: Any) -> None:
        self.request(1)
        self.elements.append(element)

    def go_on(self) -> None:
        pass


@mutant()
class WorksByRecursion(OneByOne):
    """3.10: works off what it has collected by a function that calls itself."""

    def process(self, element: Any) -> None:
        super().process(element)
        if len(self.elements) == 2_000:
            self.work(0)

    def work(self, number: int) -> None:
        """Work on this element and those after it."""
        if number < len(self.elements):
            self.work(number + 1)


@mutant()
class AsksOnAfterTheEnd(OneByOne):
    """3.11: the first of two requests may end the stream, and it does not check."""

    def begin(self) -> None:
        assert self.subscription is not None
        self.subscription.request(1)
        self.subscription.request(1)


@mutant(completed=lambda subscriber: subscriber.state == "done")
class OverwritesItsState(OneByOne):
    """3.11: notes that it is running when it has asked, even if all is done by then."""

    state = "new"

    def begin(self) -> None:
        super().begin()
        self.state = "running"

    def on_complete(self) -> None:
        super().on_complete()
        self.state = "done"


@mutant()
class NeedsItsStoreAfterTheEnd(OneByOne):
    """3.11: drops its store in ``on_error`` and uses it when the request returns."""

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        del self.elements

    def begin(self) -> None:
        super().begin()
        self.elements.reverse()
