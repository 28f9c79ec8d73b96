"""Subscribers that cancel too late, too much or not at all: rules 2.5, 2.6, 2.8, 3.6 and 3.7."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

from penstock.api import UNBOUNDED, Subscription
from tests.tck.mutants.sound_subscribers import (
    POISON,
    Manual,
    OnAThread,
    OneByOne,
    TakesThree,
    require,
)
from tests.tck.mutants.subscribers import ITSELF, mutant

TAKES_THREE: dict[str, Any] = {"stops_after": 3}
FAILS: dict[str, Any] = {"poison": lambda: POISON}
QUIET: dict[str, Any] = {"calls_nothing_cancelled": True}


@mutant()
class TakesAll(OneByOne):
    """2.5: asks on each subscription that it gets."""

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        self.subscription = subscription
        subscription.request(1)


@mutant()
class IgnoresTheSecond(OneByOne):
    """2.5: leaves a second subscription alone, so that it stays open."""

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self.subscription is None:
            super().on_subscribe(subscription)


@mutant()
class PrefersTheSecond(OneByOne):
    """2.5: cancels the first subscription and goes on with the second."""

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        self.cancel()
        super().on_subscribe(subscription)


@mutant()
class CancelsBoth(OneByOne):
    """2.5: takes a second subscription for a mistake and cancels everything."""

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        if self.subscription is not subscription:
            self.cancel()


@mutant()
class RaisesAtTheSecond(OneByOne):
    """2.5: raises when a second subscription comes."""

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self.subscription is not None:
            raise RuntimeError("already subscribed")
        super().on_subscribe(subscription)


@mutant()
class LosesTheFirst(OneByOne):
    """2.5: cancels the second subscription, and has forgotten the first by then."""

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        self.subscription = subscription


@mutant()
class StopsAtTheSecond(OneByOne):
    """2.5: cancels the second subscription and asks no more on the first."""

    stopped = False

    def on_subscribe(self, subscription: Subscription) -> None:
        self.stopped = self.subscription is not None
        super().on_subscribe(subscription)

    def go_on(self) -> None:
        if not self.stopped:
            super().go_on()


@mutant()
class LooksTooEarly(OnAThread):
    """2.5: checks for a first subscription at once, and keeps it only later, on its thread."""

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self._subscription is not None:
            self._inbox.put(subscription.cancel)
        else:
            self._inbox.put(lambda: self._begin(subscription))

    def _begin(self, subscription: Subscription) -> None:
        self._subscription = subscription
        subscription.request(2)


@mutant(**TAKES_THREE)
class StopsInSilence(TakesThree):
    """2.6: has enough, and drops the subscription without a word."""

    def cancel(self) -> None:
        self.subscription = None


@mutant(**TAKES_THREE)
class StopsLate(TakesThree):
    """2.6: cancels when an element comes that it does not want any more."""

    def process(self, element: Any) -> None:
        if len(self.elements) == 3:
            self.cancel()
        else:
            self.elements.append(element)


@mutant(**ITSELF)
class StopsForItsUserOnly(Manual):
    """2.6: takes a cancel of its user as its own affair, and does not pass it on."""

    def cancel(self) -> None:
        self.subscription = None


@mutant(**FAILS)
class FailsInSilence(OneByOne):
    """2.6: its own code fails, it does nothing any more, and does not cancel."""

    broken = False

    def process(self, element: Any) -> None:
        self.broken = self.broken or element == POISON

    def go_on(self) -> None:
        if not self.broken:
            super().go_on()


@mutant(**FAILS)
class LosesItsThread(OnAThread):
    """2.6: its thread ends by an exception, and nobody is left to cancel."""

    def _process(self, element: Any) -> None:
        if element == POISON:
            raise ValueError(element)
        super()._process(element)


@mutant(**FAILS)
class RaisesItsOwnFailure(OneByOne):
    """2.13: what its own code raises leaves ``on_next``."""

    def process(self, element: Any) -> None:
        super().process(element + 0)


@mutant(**TAKES_THREE)
class RaisesAfterCancel(TakesThree):
    """2.8: takes an element after its cancel for a mistake of the publisher."""

    def on_next(self, element: Any) -> None:
        require(element)
        if self.subscription is None:
            raise RuntimeError("cancelled")
        super().on_next(element)


@mutant(**ITSELF)
class RaisesAfterCancelOfItsUser(Manual):
    """2.8: its user cancels, and the next element finds it unprepared."""

    def on_next(self, element: Any) -> None:
        require(element)
        assert self.subscription is not None
        super().on_next(element)


@mutant(**TAKES_THREE)
class ThrowsItsStoreAway(TakesThree):
    """2.8: drops its fields when it cancels, and needs them for the next element."""

    def on_next(self, element: Any) -> None:
        require(element)
        self.process(element)

    def cancel(self) -> None:
        super().cancel()
        del self.elements


@mutant(**TAKES_THREE)
class WaitsForADeadThread:
    """2.8: its thread ends with the cancel, and ``on_next`` waits for room in the inbox."""

    def __init__(self) -> None:
        self._inbox: queue.Queue[Any] = queue.Queue(1)
        self._subscription: Subscription | None = None
        threading.Thread(target=self._work, daemon=True).start()

    def on_subscribe(self, subscription: Subscription) -> None:
        require(subscription)
        if self._subscription is not None:
            subscription.cancel()
        self._subscription = subscription
        self._inbox.put(self._begin)

    def _begin(self) -> None:
        assert self._subscription is not None
        self._subscription.request(UNBOUNDED)

    def on_next(self, element: Any) -> None:
        require(element)
        self._inbox.put(str)

    def on_error(self, error: Exception) -> None:
        require(error)

    def on_complete(self) -> None:
        pass

    def _work(self) -> None:
        for _ in range(4):
            task: Callable[[], object] = self._inbox.get()
            task()
        assert self._subscription is not None
        self._subscription.cancel()


@mutant(**TAKES_THREE)
class NotReadyForLateCompletion(TakesThree):
    """2.9: ``on_complete`` needs the subscription, which is gone after its cancel."""

    def on_complete(self) -> None:
        assert self.subscription is not None
        super().on_complete()


@mutant(**TAKES_THREE)
class NotReadyForLateFailure(TakesThree):
    """2.10: ``on_error`` needs the subscription, which is gone after its cancel."""

    def on_error(self, error: Exception) -> None:
        require(error)
        assert self.subscription is not None
        super().on_error(error)


@mutant(**TAKES_THREE, **QUIET)
class AsksWhatItHasCancelled(TakesThree):
    """3.6: claims to leave a cancelled subscription alone, and asks it for more."""

    def cancel(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()

    def go_on(self) -> None:
        self.request(1)


@mutant(**TAKES_THREE, **QUIET)
class CancelsTwice(TakesThree):
    """3.7: claims to leave a cancelled subscription alone, and cancels it again and again."""

    def process(self, element: Any) -> None:
        self.elements.append(element)
        if len(self.elements) >= 3 and self.subscription is not None:
            self.subscription.cancel()
