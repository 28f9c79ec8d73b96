"""Subscribers that do not take care between threads: rules 2.7 and 2.11."""

from __future__ import annotations

import threading
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.api import UNBOUNDED, Subscription
from tests.tck.mutants.sound_subscribers import InParallel, Manual, OneByOne, require
from tests.tck.mutants.subscribers import ITSELF, SEEN, mutant


@mutant()
class AsksOnTwoThreads(InParallel):
    """2.7: two workers ask whenever they are done, without a lock."""

    def _ask(self, n: int) -> None:
        assert self._subscription is not None
        self._subscription.request(n)


@mutant()
class LocksTheDecisionOnly(InParallel):
    """2.7: takes the lock to read the subscription, and calls it when the lock is released."""

    def _ask(self, n: int) -> None:
        with self._calls:
            subscription = self._subscription
        assert subscription is not None
        subscription.request(n)


@mutant(stops_after=3)
class CancelsWhileItAsks(OneByOne):
    """2.7: a thread cancels while another one asks."""

    def process(self, element: Any) -> None:
        super().process(element)
        if len(self.elements) == 3:
            threading.Thread(target=super().cancel, daemon=True).start()


@mutant()
class BeginsOnAnotherThread(OneByOne):
    """2.7: asks in ``on_subscribe`` first, where it may take long, and on its own thread later."""

    def go_on(self) -> None:
        threading.Thread(target=self.request, args=[1], daemon=True).start()


@mutant(puppet_of_many_threads=True, **ITSELF)
class PassesCallsOfItsUsersOn(Manual):
    """2.7: claims that its users may call from any thread, and passes each call on as it comes."""


class Waiting:
    """A thread processes what ``on_next`` leaves for it."""

    def __init__(self) -> None:
        self.elements: list[Any] = []
        self.subscription: Subscription | None = None
        self.over = False
        self.start()

    def start(self) -> None:
        """Start the thread."""
        self.arrived = threading.Event()
        threading.Thread(target=self.work, daemon=True).start()

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self.subscription is not None:
            subscription.cancel()
            return
        self.subscription = subscription
        subscription.request(UNBOUNDED)

    def on_next(self, element: Any) -> None:
        require(element)
        self.leave(element)
        self.arrived.set()

    def on_error(self, error: Exception) -> None:
        require(error)
        self.on_complete()

    def on_complete(self) -> None:
        self.over = True
        self.arrived.set()

    def work(self) -> None:
        """Process elements until the end."""
        while not self.over:
            self.arrived.wait()
            self.take()

    def leave(self, element: Any) -> None:
        """Put the element where the thread finds it."""

    def take(self) -> None:
        """Process what is there."""


@mutant(**SEEN)
class OverwritesItsSlot(Waiting):
    """2.11: leaves an element in a field, whether or not the last one was taken."""

    slot: Any = None

    def leave(self, element: Any) -> None:
        self.slot = element

    def take(self) -> None:
        self.arrived.clear()
        element, self.slot = self.slot, None
        if element is not None:
            self.elements.append(element)


@mutant(**SEEN)
class ForgetsToWakeUp(Waiting):
    """2.11: clears the flag after it has checked, so that an element in between is not seen."""

    def start(self) -> None:
        self.store: deque[Any] = deque()
        super().start()

    def leave(self, element: Any) -> None:
        self.store.append(element)

    def take(self) -> None:
        while self.store:
            self.elements.append(self.store.popleft())
        self.arrived.clear()


@mutant(**SEEN)
class EmptiesItsStore(Waiting):
    """2.11: copies its store and empties it in two steps."""

    def start(self) -> None:
        self.store: list[Any] = []
        super().start()

    def leave(self, element: Any) -> None:
        self.store.append(element)

    def take(self) -> None:
        self.arrived.clear()
        self.elements.extend(self.store)
        self.store.clear()


@mutant(**SEEN)
class DrainsWithoutALock(OneByOne):
    """2.11: a thread that finds none at work works, and an element that comes last is left over."""

    working = False

    def __init__(self) -> None:
        super().__init__()
        self.store: deque[Any] = deque()
        self.pool = ThreadPoolExecutor(1)

    def begin(self) -> None:
        self.request(UNBOUNDED)

    def process(self, element: Any) -> None:
        self.store.append(element)
        if not self.working:
            self.working = True
            self.pool.submit(self.work)

    def work(self) -> None:
        """Process what is in store."""
        while len(self.store):
            self.elements.append(self.store.popleft())
        self.working = False

    def go_on(self) -> None:
        pass


@mutant(in_order=True, **SEEN)
class Overtakes(InParallel):
    """2.11: claims to keep the order, and processes on several threads."""
