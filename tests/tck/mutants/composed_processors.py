"""Processors of which one side is a broken publisher or subscriber, and the other one is sound.

A broken publisher gets its elements from an `Inlet`. What a broken subscriber has processed goes
out through an `Outlet`. Such a processor breaks the rule that its broken side breaks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from penstock.tck.checks.all_checks import LENT_TO_PROCESSORS, PUBLISHER, SUBSCRIBER
from tests.tck.mutants.gate import Mutant, rule_of
from tests.tck.mutants.publishers import FailingStream, Numbers, Stream, broken_publishers
from tests.tck.mutants.sound_processors import Relay, require
from tests.tck.mutants.sound_subscribers import Manual, OneByOne
from tests.tck.mutants.subscribers import mutants as subscriber_mutants

Claims = dict[str, Any]

END: Final = object()
UNKNOWN: Final = 0
"""In place of the number of elements, which nobody knows downstream of a source."""

DOWNSTREAM: Final = {check.name for check in PUBLISHER if check.name in LENT_TO_PROCESSORS}
"""The names of the checks of the downstream side of a processor."""
UPSTREAM: Final = {check.name for check in SUBSCRIBER if check.name in LENT_TO_PROCESSORS}
"""The names of the checks of its upstream side."""

NOT_DOWNSTREAM: Final = {
    # They know beforehand how many elements there are, or that there is a failure to come.
    *("CompletesAfterAnotherRequest", "CompletesBeforeOnSubscribe", "CompletesFromAnotherThread"),
    *("CompletesOnlyForOneRequest", "FailsBeforeOnSubscribe", "FillsUp", "NeverCompletesWhenEmpty"),
    *("NeverSendsFewer", "RaisesInSubscribe", "SendsNone"),
    # It reads before anybody asks.
    "SendsBeforeOnSubscribe",
    # It loses a request in too few of the schedules that a processor makes possible.
    "SleepsOverARequest",
    # It sends so many elements on its thread that a busy machine cuts its stream off.
    "SendsFromTwoThreadsAfterCancel",
    # They close a source that they have opened themselves.
    *("ClosesEachTime", "ClosesTwice", "LeavesItsSourceOpen", "RaisesWhatCloseRaises"),
    *("ClosesEachTimeInOnSubscribe", "ClosesEachTimeInOnNext", "LeavesItsSourceOpenInOnNext"),
}
"""Broken publishers that cannot be the downstream side of a processor."""

NOT_UPSTREAM: Final = {
    # They are broken only in what they show of themselves, or in what their signals return.
    *("IsAGenerator", "IsAsynchronous", "NeverLetsItselfBeSteered", "OverwritesItsState"),
    # They break the rule with what they do on their own account, or for a user of theirs.
    *("CancelsTwice", "ObeysItsUserAfterTheEnd", "StopsLate"),
    # They break it only with more elements than go through a processor, or in few schedules.
    *("DrainsWithoutALock", "WorksByRecursion"),
    # They take so long that a busy machine cuts their streams off.
    *("ComputesInOnNext", "WaitsForItsThread", "WaitsInOnNext"),
    # It calls what it remembers of another run.
    "AsksForAll",
}
"""Broken subscribers that, as a side of a processor, do not break their rule, or break too much."""

KEPT: Final = {"poison", "calls_nothing_cancelled"}
"""What a subscriber claims, and a processor with it."""
SUPPLIED: Final = {"completed", "failed", "in_order", "puppet", "received", "stops_after"}
"""What it claims, and the kit sees for itself downstream of a processor."""


class Inlet:
    """The upstream side of a publisher, which reads from it: each time it asks for one element.

    The publisher upstream must send from within ``request``, as that of the kit does.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.elements = self
        self.upstream: Any = None
        self.arrived: deque[Any] = deque()
        self.reading = threading.Lock()

    def source(self) -> Iterator[object]:
        return self

    def __iter__(self) -> Iterator[object]:
        return self

    def __next__(self) -> object:
        with self.reading:
            if not self.arrived:
                self.upstream.request(1)
            element = self.arrived[0] if self.arrived else END  # a run that is over answers nothing
            if element is END:
                raise StopIteration
            if isinstance(element, Exception):
                raise LookupError("the source is broken") from element
            return self.arrived.popleft()

    def on_subscribe(self, subscription: Any) -> None:
        require(subscription)
        if self.upstream is None:
            self.upstream = subscription
        else:
            subscription.cancel()

    def on_next(self, element: Any) -> None:
        require(element)
        self.arrived.append(element)

    def on_error(self, error: Exception) -> None:
        require(error)
        self.arrived.append(error)

    def on_complete(self) -> None:
        self.arrived.append(END)


class ReadsFromUpstream(Inlet, Numbers):
    """A sound processor, as long as its streams are."""


class Outlet(list[Any]):
    """The elements that a subscriber has processed; a relay sends them on."""

    def __init__(self, relay: Relay) -> None:
        super().__init__()
        self.relay = relay

    def append(self, element: Any) -> None:
        super().append(element)
        self.relay.on_next(element)


class SendsDownstream(OneByOne):
    """Makes a processor of a subscriber, for which the relay at its outlet is its user."""

    def __init__(self) -> None:
        super().__init__()
        self.relay = Relay()
        self.elements = Outlet(self.relay)

    def subscribe(self, subscriber: Any) -> None:
        self.relay.subscribe(subscriber)

    def on_subscribe(self, subscription: Any) -> None:
        super().on_subscribe(subscription)
        if not self.relay.connected:
            self.relay.on_subscribe(self if isinstance(self, Manual) else CancelOf(self))

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        if self.error is not None:
            self.relay.on_error(self.error)

    def on_complete(self) -> None:
        super().on_complete()
        if self.done:
            self.relay.on_complete()


class CancelOf:
    """What the user can do with a subscriber that asks on its own."""

    def __init__(self, subscriber: OneByOne) -> None:
        self.subscriber = subscriber

    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        self.subscriber.cancel()


def mutants() -> Iterator[Mutant]:
    """All of them."""
    for name, broken in broken_publishers().items():
        if name not in NOT_DOWNSTREAM:
            claims = {claim: broken.claims[claim] for claim in broken.claims if claim != "failed"}
            yield Mutant(
                f"{name}Downstream", rule_of(broken), with_inlet(broken), claims, DOWNSTREAM
            )
    for mutant in subscriber_mutants():
        if can_be_upstream(mutant):
            claims = {claim: mutant.claims[claim] for claim in mutant.claims.keys() & KEPT}
            claims["cancels_upstream"] = True
            name, factory = f"{mutant.name}Upstream", with_outlet(mutant.factory)
            yield Mutant(name, mutant.rule, factory, claims, UPSTREAM)


def can_be_upstream(mutant: Mutant) -> bool:
    """Whether a broken subscriber is broken as one side of a processor, too."""
    has_outlet = isinstance(mutant.factory, type) and issubclass(mutant.factory, OneByOne)
    return (
        has_outlet and mutant.claims.keys() <= KEPT | SUPPLIED and mutant.name not in NOT_UPSTREAM
    )


def with_inlet(publisher: type[Any]) -> Callable[[], Any]:
    """Makes a processor of a publisher, or of a stream."""
    if not issubclass(publisher, Stream):
        return partial(type(publisher.__name__, (Inlet, publisher), {}), UNKNOWN)
    if not issubclass(publisher, FailingStream):
        publisher = type(publisher.__name__, (publisher, FailingStream), {})
    return partial(ReadsFromUpstream, UNKNOWN, publisher)


def with_outlet(subscriber: Any) -> Callable[[], Any]:
    """Makes a processor of a subscriber."""
    return type(subscriber.__name__, (SendsDownstream, subscriber), {})
