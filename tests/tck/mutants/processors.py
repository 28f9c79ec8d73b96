"""Processors that do not pass on what they should: rules 4.1 and 4.2.

Most are a `Relay` or a `Hub`, which are sound, with one thing changed.
"""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from tests.tck.mutants.sound_processors import (
    Branch,
    Eager,
    Hub,
    KnowsItsCaller,
    Recovering,
    Relay,
)

Claims = dict[str, Any]

CANCELS: Claims = {"cancels_upstream": True}
MULTICAST: Claims = {"multicast": True}
RECOVERS: Claims = {"recovers": True}


class LosesEveryThird(Relay):
    """4.1: loses every third element."""

    def on_next(self, element: Any) -> None:
        if element % 3 == 2:
            self.delivered += 1
        else:
            super().on_next(element)


class SwapsPairs(Relay):
    """4.1: sends the second of two elements that it holds before the first."""

    def on_next(self, element: Any) -> None:
        super().on_next(element + 1 if element % 2 == 0 else element - 1)


class AsksOnce(Relay):
    """4.1: asks the source for one element, and never again."""

    def wanted(self) -> int:
        return min(self.requested, 1) - self.asked


class ForgetsDemandFromWithinSignals(Relay):
    """4.1: loses a request that comes from within on_next."""

    sending = False

    def tell(self, signal: str, *arguments: Any) -> None:
        self.sending = signal == "on_next"
        super().tell(signal, *arguments)
        self.sending = False

    def request(self, n: int) -> None:
        if not self.sending:
            super().request(n)


class LosesWhatComesFromWithinRequest(Relay):
    """4.1: loses elements that the source sends from within request."""

    asking = False

    def ask(self) -> bool:
        self.asking = True
        asked = super().ask()
        self.asking = False
        return asked

    def on_next(self, element: Any) -> None:
        if not self.asking:
            super().on_next(element)


class SwallowsCompletion(Relay):
    """4.1: does not pass completion on."""

    def on_complete(self) -> None:
        self.upstream = None


class CompletesAheadOfElements(Eager):
    """4.1: completes at once, and drops what it still holds."""

    def on_complete(self) -> None:
        self.held.clear()
        super().on_complete()


class CompletesTheCancelled(Relay):
    """4.1: passes completion on to a subscriber that has cancelled."""

    first: Any = None

    def subscribe(self, subscriber: Any) -> None:
        self.first = self.first or subscriber
        super().subscribe(subscriber)

    def on_complete(self) -> None:
        if self.subscriber is None and self.first is not None:
            self.first.on_complete()
        super().on_complete()


class GoesToRestTooSoon(Relay):
    """4.1: does not check again for what another thread has left before it goes to rest."""

    working = False

    def wake(self) -> None:
        if not self.working:
            self.working = True
            self.work()
            self.tidy_up(10)
            self.working = False

    def tidy_up(self, times: int) -> None:
        """Take some time, in which another thread may come."""
        if times:
            self.tidy_up(times - 1)


class LosesCompletionOfAnotherThread(Relay):
    """4.1: loses completion that comes while another thread is at work."""

    worker: int | None = None

    def work(self) -> None:
        self.worker = threading.get_ident()
        super().work()
        self.worker = None

    def on_complete(self) -> None:
        self.upstream = None
        self.completed = self.worker in (None, threading.get_ident())
        self.wake()


class NeedsNewDemandOfAll(Hub):
    """4.1: asks the source only while its first subscriber has much demand left."""

    claims: ClassVar[Claims] = MULTICAST

    def ask(self) -> bool:
        if self.branches[0].demand >= 4 or self.held:
            return super().ask()
        return False


class AsksAtOnce(Eager):
    """4.1: says that it asks when it was asked, and asks at once."""

    claims: ClassVar[Claims] = {"asks_when_asked": True}


class StaysSubscribed(Relay):
    """4.1: says that it cancels upstream with its subscriber, and does not."""

    claims: ClassVar[Claims] = CANCELS

    def release(self) -> None:
        self.held.clear()


class StaysSubscribedInOnSubscribe(KnowsItsCaller):
    """4.1: does not pass on a cancel from within on_subscribe, though it says so."""

    claims: ClassVar[Claims] = CANCELS
    place = "on_subscribe"

    def release(self) -> None:
        if self.cancelled_in != self.place:
            super().release()


class StaysSubscribedInOnNext(StaysSubscribedInOnSubscribe):
    """4.1: does not pass on a cancel from within on_next, though it says so."""

    place = "on_next"


class CancelsTwice(Relay):
    """4.1: passes each cancel on, also a second one."""

    claims: ClassVar[Claims] = CANCELS
    former: Any = None

    def on_subscribe(self, subscription: Any) -> None:
        self.former = subscription
        super().on_subscribe(subscription)

    def cancel(self) -> None:
        self.subscriber = None
        self.former.cancel()


class LeavesWithTheFirst(Hub):
    """4.1: cancels upstream with the first subscriber that leaves, even if others stay."""

    claims: ClassVar[Claims] = {**CANCELS, **MULTICAST}

    def leave(self, branch: Branch) -> None:
        super().leave(branch)
        if self.upstream is not None:
            self.upstream.cancel()


class DropsTheUnasked(Relay):
    """4.1: says that it takes elements that come unasked, and drops them."""

    claims: ClassVar[Claims] = {"takes_unasked": True}

    def on_next(self, element: Any) -> None:
        if self.asked > self.delivered + len(self.held):
            super().on_next(element)


def subscribed_at_once(source: Any) -> Relay:
    relay = Relay()
    source.subscribe(relay)
    return relay


class SubscribesAtOnce(Relay):
    """4.1: says that it subscribes when it has a subscriber, and does at once."""

    claims: ClassVar[Claims] = {"from_source": subscribed_at_once}


class NeverSubscribes(Relay):
    """4.1: says that it subscribes to its source, and never does."""

    claims: ClassVar[Claims] = {"from_source": lambda source: Relay()}


class SwallowsErrors(Relay):
    """4.2: does not pass errors on."""

    def on_error(self, error: Exception) -> None:
        self.upstream = None


class CompletesInPlaceOfErrors(Recovering):
    """4.2: completes when its source fails, and does not say that it recovers."""


class PassesAnotherErrorOn(Relay):
    """4.2: passes an error on that says nothing of the one that came."""

    def on_error(self, error: Exception) -> None:
        super().on_error(RuntimeError("something went wrong"))


class ErrorsWaitForDemand(Relay):
    """4.2: passes an error on with the next request."""

    def step(self) -> bool:
        waits = self.error is not None and self.requested == self.delivered
        return False if waits and self.subscriber is not None else super().step()


class ErrorsWaitForElements(Eager):
    """4.2: passes an error on once all elements before it are taken."""

    def step(self) -> bool:
        waits = bool(self.error is not None and self.held and self.requested == self.delivered)
        return False if waits and self.subscriber is not None else super().step()


class TellsOneOfTheError(Hub):
    """4.2: passes an error on to its first subscriber only."""

    claims: ClassVar[Claims] = MULTICAST

    def end(self, branches: list[Branch]) -> None:
        super().end(branches[:1] if self.error is not None else branches)


class LosesTheErrorOfAnotherThread(LosesCompletionOfAnotherThread):
    """4.2: loses an error that comes while another thread is at work."""

    def on_error(self, error: Exception) -> None:
        self.upstream = None
        if self.worker in (None, threading.get_ident()):
            self.error = error
        self.wake()


class RecoversIntoSilence(Relay):
    """4.2: says that it recovers from errors, and then nothing comes any more."""

    claims: ClassVar[Claims] = RECOVERS

    def on_error(self, error: Exception) -> None:
        self.upstream = None


class ClaimsToRecover(Relay):
    """4.2: says that it recovers from errors, and passes them on."""

    claims: ClassVar[Claims] = RECOVERS


class CallsWhatHasFailed(Relay):
    """4.2: recovers from errors, and goes on with the subscription that has failed."""

    claims: ClassVar[Claims] = RECOVERS

    def on_error(self, error: Exception) -> None:
        self.held.append("in place of an error")
        self.wake()
