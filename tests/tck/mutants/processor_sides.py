"""Processors that break the rules of publishers and of subscribers, on one of their two sides.

Most are a `Relay`, which is sound, with one thing changed. The module `composed_processors` makes
many more of broken publishers and subscribers.
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from tests.tck.mutants.processors import CANCELS, CancelsTwice, Claims, StaysSubscribed
from tests.tck.mutants.publishers import Numbers
from tests.tck.mutants.publishers_claims import RaisesWhatCloseRaises
from tests.tck.mutants.sound_processors import Eager, OnAThread, Relay, require


class SendsOneTooMany(Eager):
    """1.1: sends one element more than was requested."""

    def step(self) -> bool:
        if self.held and self.requested == self.delivered > 0:
            self.requested += 1
        return super().step()


class MixesTwoStreams(Eager):
    """1.10: sends a subscriber that comes a second time an element that it has not requested."""

    def subscribe(self, subscriber: Any) -> None:
        if subscriber is not None and subscriber is self.subscriber:
            self.requested += 1
            self.wake()
        super().subscribe(subscriber)


class WaitsInOnNext(Relay):
    """2.2: takes its time in ``on_next``."""

    def on_next(self, element: Any) -> None:
        threading.Event().wait(0.12)
        super().on_next(element)


class CancelsInOnComplete(Relay):
    """2.3: cancels the source when that completes."""

    def on_complete(self) -> None:
        upstream = self.upstream
        super().on_complete()
        upstream.cancel()


class TakesASecondSource(Relay):
    """2.5: lets a second source take the place of the first."""

    def on_subscribe(self, subscription: Any) -> None:
        self.upstream = subscription
        self.wake()


class RefusesLateElements(Relay):
    """2.8: raises when an element comes after it has cancelled."""

    claims: ClassVar[Claims] = CANCELS

    def on_next(self, element: Any) -> None:
        if self.greeted and self.subscriber is None:
            raise RuntimeError("cancelled")
        super().on_next(element)


class TakesNone(Relay):
    """2.13: takes None for an element."""

    def on_next(self, element: Any) -> None:
        self.held.append(element)
        self.wake()


class CancelsForEachThread(CancelsTwice):
    """3.5: cancels the source once for each thread that cancels at the same time."""


class CountsToFive(Relay):
    """3.8: takes a request for more than five elements as one for five."""

    def request(self, n: int) -> None:
        super().request(min(n, 5))


class WritesDemandBack(OnAThread):
    """3.8: writes the demand before an element over what was requested meanwhile."""

    def deliver(self) -> bool:
        before = self.requested
        delivered = super().deliver()
        self.requested = before
        return delivered


class TakesAnyRequest(Relay):
    """3.9: takes a request for less than one element as none."""

    def request(self, n: int) -> None:
        if n > 0:
            super().request(n)


class KeepsTheSourceOpen(StaysSubscribed):
    """3.12: says that it cancels upstream with its subscriber, and does not."""


class KeepsItsSubscriber(Relay):
    """3.13: still refers to a subscriber that has cancelled."""

    def subscribe(self, subscriber: Any) -> None:
        self.first = subscriber
        super().subscribe(subscriber)


class RequestsAfterTheEnd(Relay):
    """2.4: passes requests on to a source that has completed."""

    def on_complete(self) -> None:
        self.completed = True
        self.held.append("one more to wait for demand")
        self.wake()


class CancelsAfterTheEndInOnNext(Eager):
    """2.4: passes a cancel from within on_next on to a source that has completed."""

    former: Any = None
    sending = False

    def on_subscribe(self, subscription: Any) -> None:
        self.former = self.former or subscription
        super().on_subscribe(subscription)

    def deliver(self) -> bool:
        self.sending = True
        delivered = super().deliver()
        self.sending = False
        return delivered

    def cancel(self) -> None:
        if self.sending and self.completed:
            self.former.cancel()
        super().cancel()


class RequestsAfterTheEndInOnNext(CancelsAfterTheEndInOnNext):
    """2.4: passes a request from within on_next on to a source that has completed."""

    def cancel(self) -> None:
        Eager.cancel(self)

    def request(self, n: int) -> None:
        if self.sending and self.completed and n > 0:
            self.former.request(n)
        super().request(n)


class AsksFromBothSides(Relay):
    """2.7: asks the source in on_next and in request, on whichever thread."""

    def wanted(self) -> int:
        return 0

    def on_subscribe(self, subscription: Any) -> None:
        super().on_subscribe(subscription)
        subscription.request(8)

    def on_next(self, element: Any) -> None:
        super().on_next(element)
        self.upstream.request(1)

    def request(self, n: int) -> None:
        super().request(n)
        if self.upstream is not None:
            self.upstream.request(n)


_the_only_one = Relay()


def always_the_same() -> Relay:
    """1.10: the factory hands out one and the same processor for all streams."""
    return _the_only_one


class OverwritesItsSlot(OnAThread, Eager):
    """2.11: leaves an element in a field for its thread, whether or not the last one was taken."""

    slot: Any = None

    def on_next(self, element: Any) -> None:
        require(element)
        self.slot = element
        self.wake()

    def work(self) -> None:
        element, self.slot = self.slot, None
        if element is not None:
            self.held.append(element)
        super().work()


class Overtakes(Eager):
    """2.11: takes each element on a thread of its own, so that one may overtake another."""

    def on_next(self, element: Any) -> None:
        require(element)
        threading.Thread(target=super().on_next, args=[element], daemon=True).start()


class SendsNone(Relay):
    """2.13: sends None in place of the seventh element."""

    def deliver(self) -> bool:
        if self.delivered == 6:
            self.held[0] = None
        return super().deliver()


class CancelsForEachLateElement(CancelsTwice):
    """3.7: claims to leave a cancelled subscription alone, and cancels it for late elements."""

    claims: ClassVar[Claims] = {**CANCELS, "calls_nothing_cancelled": True}

    def on_next(self, element: Any) -> None:
        super().on_next(element)
        if self.greeted and self.subscriber is None:
            self.former.cancel()


def downstream_of_an_unclosable_source() -> Relay:
    relay = RaisesWhatItsSourceRaises()
    Numbers(3, RaisesWhatCloseRaises).subscribe(relay)
    return relay


class RaisesWhatItsSourceRaises(Relay):
    """3.15: lets what its source raises on being cancelled pass through cancel."""

    claims: ClassVar[Claims] = {"unclosable": downstream_of_an_unclosable_source}
