"""Publishers that are not ready for calls from within on_subscribe, or from within on_next."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from tests.tck.mutants.publishers import Claims, Numbers, Stream, ThreadStream
from tests.tck.mutants.publishers_claims import Closing
from tests.tck.mutants.publishers_demand import LARGEST, Recurses
from tests.tck.mutants.publishers_subscribe import Branch, Hub


class KeepsEarlyDemand(Numbers):
    """1.1: leaves to a newcomer what another one requested in on_subscribe before it cancelled."""

    claims: ClassVar[Claims] = {}

    def __init__(self, n: int) -> None:
        super().__init__(n, EarlyDemand)
        self.early = 0


class EarlyDemand(Stream):
    publisher: KeepsEarlyDemand
    opened = False

    def add(self, n: int) -> None:
        if self.opened:
            super().add(n)
        else:
            self.publisher.early += n

    def work(self) -> None:
        if not self.busy and self.subscriber is not None:
            self.opened = True
            self.demand, self.publisher.early = self.demand + self.publisher.early, 0
        super().work()


class FailsWhileOnSubscribeRuns(ThreadStream):
    """1.3: signals the error for an illegal request at once, unless on_subscribe is back."""

    opened = False

    def tell(self, signal: str, *arguments: object) -> None:
        super().tell(signal, *arguments)
        self.opened = True

    def refuse(self, n: int) -> None:
        if self.opened:
            super().refuse(n)
        else:
            self.end("on_error", ValueError(n))


class ForgetsACancelInOnSubscribe(Stream):
    """1.8: clears the cancelled mark once on_subscribe is back."""

    cancelled: Any = None

    def cancel(self) -> None:
        self.cancelled = self.subscriber
        super().cancel()

    def tell(self, signal: str, *arguments: object) -> None:
        super().tell(signal, *arguments)
        if signal == "on_subscribe":
            self.subscriber = self.subscriber or self.cancelled


class LeavesTogetherInOnSubscribe(Hub):
    """1.11: ends all streams when one is cancelled before it has begun."""

    def left(self, branch: Branch) -> None:
        super().left(branch)
        for other in [] if branch.position else self.streams[:]:
            self.streams.remove(other)
            other.end("on_complete")


class ServesEarlyRequestsWhenOnSubscribeRaises(Stream):
    """2.13: serves what was requested in on_subscribe, though that has raised."""

    opened = False

    def step(self) -> bool:
        self.opened = True
        return super().step()

    def raised(self, subscriber: Any, error: Exception) -> None:
        if self.opened or not self.demand:
            super().raised(subscriber, error)


class RecursesInOnSubscribe(Recurses):
    """3.3: serves each request in on_next at once, if the first one came in on_subscribe."""

    early = False

    def start(self) -> None:
        self.busy = True
        self.tell("on_subscribe", self)
        self.busy, self.early = False, True
        self.work()
        self.early = False

    def work(self) -> None:
        if self.early:
            super().work()
        else:
            Stream.work(self)


class HoldsItsLockWhileItSubscribes(Stream):
    """3.5: lets cancel wait until on_subscribe is back."""

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.lock = threading.RLock()

    def tell(self, signal: str, *arguments: object) -> None:
        if signal == "on_subscribe":
            with self.lock:
                super().tell(signal, *arguments)
        else:
            super().tell(signal, *arguments)

    def cancel(self) -> None:
        with self.lock:
            super().cancel()


class ShutsDownOnceItHasSent(Hub):
    """3.14: shuts down with its last subscriber, unless that leaves in on_subscribe."""

    claims: ClassVar[Claims] = {"shuts_down_when_idle": True}
    shut_down = False

    def is_last(self, branch: Branch) -> bool:
        return bool(not self.streams and branch.position)

    def left(self, branch: Branch) -> None:
        super().left(branch)
        self.shut_down |= self.is_last(branch)

    def join(self, branch: Branch) -> None:
        super().join(branch)
        if self.shut_down:
            branch.error = RuntimeError("shut down")


class ShutsDownWhenItRests(ShutsDownOnceItHasSent):
    """3.14: shuts down with its last subscriber, unless that leaves in on_next."""

    def is_last(self, branch: Branch) -> bool:
        return not self.streams and not (branch.busy and branch.position)


class RaisesInCancelInOnSubscribe(Stream):
    """3.15: stumbles in cancel over what is made once on_subscribe is back."""

    def tell(self, signal: str, *arguments: object) -> None:
        super().tell(signal, *arguments)
        self.cancels = 0

    def cancel(self) -> None:
        super().cancel()
        self.cancels += 1


class Unclosable(Numbers):
    """A publisher whose source raises on being closed."""


class RaisesWhatCloseRaisesInOnSubscribe(Closing):
    """3.15: lets what its source raises on being closed pass through a cancel in on_subscribe."""

    claims: ClassVar[Claims] = {
        "unclosable": lambda: Unclosable(3, RaisesWhatCloseRaisesInOnSubscribe)
    }
    opened = False

    def step(self) -> bool:
        self.opened = True
        return super().step()

    def close(self) -> None:
        if self.busy and not self.opened and isinstance(self.publisher, Unclosable):
            raise OSError("the source cannot be closed")


class RaisesWhatCloseRaisesInOnNext(Closing):
    """3.15: lets what its source raises on being closed pass through a cancel in on_next."""

    claims: ClassVar[Claims] = {"unclosable": lambda: Unclosable(3, RaisesWhatCloseRaisesInOnNext)}
    opened = False

    def step(self) -> bool:
        self.opened = True
        return super().step()

    def close(self) -> None:
        if self.busy and self.opened and isinstance(self.publisher, Unclosable):
            raise OSError("the source cannot be closed")


class OverflowsInOnSubscribe(Stream):
    """3.17: adds up in 64 bits what is requested within on_subscribe."""

    early = 0
    opened = False

    def add(self, n: int) -> None:
        if self.is_early():
            self.early = (self.early + n + 2**63) % 2**64 - 2**63
        else:
            self.demand = min(self.demand + n, LARGEST)

    def is_early(self) -> bool:
        return self.busy and not self.opened

    def step(self) -> bool:
        self.opened = True
        if self.early > 0:
            self.demand = min(self.demand + self.early, LARGEST)
        self.early = 0
        return super().step()


class OverflowsInOnNext(OverflowsInOnSubscribe):
    """3.17: adds up in 64 bits what is requested within on_next."""

    def is_early(self) -> bool:
        return self.busy and self.opened
