"""Publishers that send too much or too little, or cannot count."""

from __future__ import annotations

import sys
import threading
from typing import Any, ClassVar

from tests.tck.mutants.publishers import Claims, Numbers, Stream, ThreadStream

LARGEST = 2**63 - 1


class NeverSends(Stream):
    """1.1: takes all requests and never sends an element."""

    def step(self) -> bool:
        return False


class SendsOneTooMany(Stream):
    """1.1: sends one element more than was requested."""

    def add(self, n: int) -> None:
        self.demand += n if self.demand else n + 1


class SendsOneTooManyFromAThread(ThreadStream):
    """1.1: sends one element more than was requested, later and from another thread."""

    def has_work(self) -> bool:
        return super().has_work() or self.sent_last

    sent_last = False

    def step(self) -> bool:
        self.sent_last = self.demand == 1
        if not self.demand and self.error is None:
            self.tell("on_next", self.next_element())
            return True
        return super().step()


class CountsPerPublisher(Numbers):
    """1.1: serves a newcomer with the demand that another one has left."""

    claims: ClassVar[Claims] = {}

    def __init__(self, n: int) -> None:
        super().__init__(n, SharedDemand)
        self.demand = 0


class SharedDemand(Stream):
    publisher: CountsPerPublisher

    def start(self) -> None:
        self.demand = self.publisher.demand
        super().start()

    def step(self) -> bool:
        before = super().step()
        self.publisher.demand = self.demand
        return before


class FillsUp(Stream):
    """1.2: repeats the last element until all demand is served."""

    last: object = 0

    def step(self) -> bool:
        if self.demand and self.error is None:
            self.last = next(self.source, self.last)
            self.demand -= 1
            self.tell("on_next", self.last)
            return True
        if self.error is None and self.last == self.publisher.n - 1:
            self.end("on_complete")
        return super().step()


class NeverSendsFewer(Stream):
    """1.2: waits until it can serve a request as a whole, so it never sends fewer elements."""

    def add(self, n: int) -> None:
        if n <= self.publisher.n:
            super().add(n)


class FailsForWantOfElements(Stream):
    """1.2: takes demand that is left over for an error."""

    def end(self, signal: str, *arguments: object) -> None:
        if signal == "on_complete" and self.demand:
            super().end("on_error", LookupError("too few elements"))
        else:
            super().end(signal, *arguments)


class FailsOnEveryRequest(Stream):
    """3.2: takes a request within a signal for an error."""

    def add(self, n: int) -> None:
        super().add(n)
        if self.busy:
            self.error = RuntimeError("not from within a signal")


class ForgetsRequestsInOnSubscribe(Stream):
    """3.2: loses what is requested within on_subscribe."""

    def start(self) -> None:
        self.busy = True
        self.tell("on_subscribe", self)
        self.busy = False
        self.demand = 0


class Recurses(Stream):
    """3.3: calls on_next in request and request in on_next, without end."""

    def work(self) -> None:
        while self.subscriber is not None and self.step():
            pass


class RecursesInside(Stream):
    """3.3: calls itself for the next element instead of going round a loop."""

    def step(self) -> bool:
        return super().step() and self.subscriber is not None and self.step()


class ReplacesDemand(Stream):
    """3.8: takes a request for the new demand instead of adding it."""

    def add(self, n: int) -> None:
        self.demand = n


class ReplacesDemandOnItsThread(ThreadStream):
    """3.8: takes a request for the new demand, while another thread serves it."""

    def add(self, n: int) -> None:
        with self.changed:
            self.demand = n


class KeepsTwoRequestsInMind(Stream):
    """3.8: drops requests that come while two others wait for the end of a signal."""

    waiting = 0

    def add(self, n: int) -> None:
        self.waiting = self.waiting + 1 if self.busy else 0
        if self.waiting <= 2:
            super().add(n)

    def step(self) -> bool:
        self.waiting = 0
        return super().step()


class LosesRequestsInOnNext(Stream):
    """3.8: subtracts an element from the demand as it was before on_next."""

    def step(self) -> bool:
        before = self.demand
        went_on = super().step()
        self.demand = max(before - 1, 0)
        return went_on


class LosesARequestWhileItSends(ThreadStream):
    """3.8: reads the demand, sends an element and writes the demand, without a lock."""

    def step(self) -> bool:
        if self.error is None and self.demand:
            before = self.demand
            element = self.next_element()
            if isinstance(element, int):
                self.call(self.subscriber, "on_next", element)
                self.demand = before - 1
                return True
            self.end("on_complete")
        return super().step()


class SleepsOverARequest(ThreadStream):
    """3.8: reads the demand, and then waits for the next request, without a lock around both."""

    def live(self) -> None:
        self.tell("on_subscribe", self)
        while self.subscriber is not None:
            if not self.has_work():
                with self.changed:
                    self.changed.wait()
            self.step()


class LosesARequestOfTwoThreads(Stream):
    """3.8: loses a request when two threads make one at the same time."""

    claims: ClassVar[Claims] = {"concurrent_requests": True}

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.lock = threading.RLock()
        self.requested = self.sent = 0

    def add(self, n: int) -> None:
        self.requested = min(self.requested + n, LARGEST)

    def work(self) -> None:
        with self.lock:
            super().work()

    def step(self) -> bool:
        self.demand = self.requested - self.sent
        self.sent += self.demand > 0
        return super().step()


class Overflows(Stream):
    """3.17: counts demand in 64 bits, so that it turns negative."""

    def add(self, n: int) -> None:
        self.demand = (self.demand + n + 2**63) % 2**64 - 2**63

    def step(self) -> bool:
        return self.demand >= 0 and super().step()


class OverflowsBetweenThreads(ThreadStream):
    """3.17: counts demand in 64 bits when it is not its own thread that requests."""

    sender = 0

    def live(self) -> None:
        self.sender = threading.get_ident()
        super().live()

    def add(self, n: int) -> None:
        with self.changed:
            if threading.get_ident() == self.sender:
                self.demand = min(self.demand + n, LARGEST)
            else:
                self.demand = (self.demand + n + 2**63) % 2**64 - 2**63


class FailsWhenDemandOverflows(Stream):
    """3.17: takes a demand beyond 2**63 - 1 for an error."""

    def add(self, n: int) -> None:
        super().add(n)
        if self.demand > LARGEST:
            self.error = OverflowError("too much demand")


class FailsAtTheLargestDemand(Stream):
    """3.17: takes a demand of exactly 2**63 - 1 for an error."""

    def add(self, n: int) -> None:
        super().add(n)
        if self.demand == LARGEST:
            self.error = OverflowError("too much demand")


class TakesOnlyIndices(Stream):
    """3.17: takes no number beyond what a list can have elements."""

    def add(self, n: int) -> None:
        if n > sys.maxsize:
            self.error = OverflowError("cannot fit into an index")
        super().add(n)
