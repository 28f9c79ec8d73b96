"""Publishers that do not stop, or not as they should."""

from __future__ import annotations

import threading
from time import sleep as pause
from typing import Any

from tests.tck.mutants.publishers import Numbers, Stream, ThreadStream, compute


class LooksUpBetweenRequests(Stream):
    """1.8: checks the cancelled mark in request, and not in the loop that sends."""

    cancelled = False

    def cancel(self) -> None:
        self.cancelled = True

    def request(self, n: int) -> None:
        if not self.cancelled:
            super().request(n)


class OverwritesItsState(ThreadStream):
    """1.8: writes "idle" into the state when a request is served, over "cancelled"."""

    state = "idle"

    def request(self, n: int) -> None:
        if self.state != "cancelled":
            self.state = "busy"
            super().request(n)
            self.state = "idle"

    def cancel(self) -> None:
        self.state = "cancelled"

    def step(self) -> bool:
        return super().step() if self.state != "cancelled" else self.drop()

    def drop(self) -> bool:
        self.demand = 0
        return False


class SleepsInCancel(Stream):
    """3.5: takes 60 milliseconds to cancel."""

    def cancel(self) -> None:
        pause(0.06)
        super().cancel()


class ComputesInCancel(Stream):
    """3.5: computes for long to cancel."""

    def cancel(self) -> None:
        compute()
        super().cancel()


class WaitsForTheEndOfItsThread(ThreadStream):
    """3.5: waits in cancel until its thread, which takes its time, has ended."""

    def start(self) -> None:
        self.thread = threading.Thread(target=self.live, daemon=True)
        self.thread.start()

    def live(self) -> None:
        super().live()
        pause(0.05)

    def cancel(self) -> None:
        super().cancel()
        if threading.current_thread() is not self.thread:
            self.thread.join()


class HoldsItsLockWhileItSignals(Stream):
    """3.5: lets cancel wait until the subscriber has finished an element."""

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.lock = threading.RLock()

    def work(self) -> None:
        with self.lock:
            super().work()

    def cancel(self) -> None:
        with self.lock:
            super().cancel()


class CancelsTwiceAtOnce(Stream):
    """3.5: raises when two threads cancel at the same time."""

    def start(self) -> None:
        self.open = {self}
        super().start()

    def cancel(self) -> None:
        if self in self.open:
            super().cancel()
            self.open.remove(self)


class PullsTheRug(Stream):
    """3.5: closes the source in cancel, so that a request on another thread stumbles over it."""

    def cancel(self) -> None:
        super().cancel()
        del self.source

    def request(self, n: int) -> None:
        if self.subscriber is not None:
            iter(self.source)
            super().request(n)


class RequestRevives(Stream):
    """3.6: takes a request after cancel for a new beginning."""

    cancelled: Any = None

    def cancel(self) -> None:
        self.cancelled = self.cancelled or self.subscriber
        super().cancel()

    def request(self, n: int) -> None:
        if self.cancelled is not None and n > 0:
            self.subscriber, self.cancelled = self.cancelled, None
        super().request(n)


class AnswersAfterCancel(Stream):
    """3.6: answers an illegal request by on_error, though the stream was cancelled."""

    cancelled: Any = None

    def cancel(self) -> None:
        self.cancelled = self.cancelled or self.subscriber
        super().cancel()

    def request(self, n: int) -> None:
        if self.cancelled is not None and n <= 0:
            self.subscriber, self.cancelled = self.cancelled, None
        super().request(n)


class SecondCancelFails(Stream):
    """3.7: signals on_error when it is cancelled again."""

    cancelled: Any = None

    def cancel(self) -> None:
        if self.cancelled is not None:
            self.call(self.cancelled, "on_error", RuntimeError("cancelled already"))
        self.cancelled = self.subscriber
        super().cancel()


class SecondCancelRaises(Stream):
    """3.7: raises when it is cancelled again."""

    def cancel(self) -> None:
        if self.subscriber is None and self.error is None:
            raise RuntimeError("cancelled already")
        super().cancel()


class SecondCancelRevives(Stream):
    """3.7: takes a second cancel for the opposite of the first."""

    other: Any = None

    def cancel(self) -> None:
        self.subscriber, self.other = self.other, self.subscriber


class IgnoresCancel(Stream):
    """3.12: ignores cancel."""

    def cancel(self) -> None:
        pass


class IgnoresCancelOfOthers(Stream):
    """3.12: sees cancel only when it comes from within on_next."""

    def cancel(self) -> None:
        if threading.get_ident() == self.sender:
            super().cancel()

    sender = 0

    def step(self) -> bool:
        self.sender = threading.get_ident()
        return super().step()


class SendsFromTwoThreadsAfterCancel(ThreadStream):
    """3.12: sends on from its thread when it is cancelled, until all demand is served."""

    def cancel(self) -> None:
        if not self.demand:
            super().cancel()


class KeepsItInAField(Stream):
    """3.13: remembers the last subscriber in a field of the publisher."""

    def start(self) -> None:
        vars(self.publisher)["last"] = self.subscriber
        super().start()


class KeepsItInAClosure(Stream):
    """3.13: keeps a function that refers to the subscriber."""

    def start(self) -> None:
        subscriber = self.subscriber
        vars(self.publisher)["describe"] = lambda: repr(subscriber)
        super().start()


class KeepsItForAnotherTime(Stream):
    """3.13: keeps a subscriber that cancels, in case that it comes back."""

    def cancel(self) -> None:
        vars(self.publisher).setdefault("gone", []).append(self.subscriber)
        super().cancel()


class KeepsItInATraceback(Stream):
    """3.13: keeps the exception by which it left its loop."""

    def work(self) -> None:
        subscriber = self.subscriber
        super().work()
        try:
            if self.subscriber is None:
                raise InterruptedError(f"cancelled: {subscriber!r}")
        except InterruptedError as error:
            vars(self.publisher)["last_words"] = error


class KeepsItOnAThread(ThreadStream):
    """3.13: leaves its thread waiting for a request that cannot come any more."""

    def has_work(self) -> bool:
        return bool(self.demand and self.subscriber) or self.error is not None

    def live(self) -> None:
        subscriber = self.subscriber
        super().live()
        del subscriber


class RaisesInCancel(Stream):
    """3.15: raises when it is cancelled before it was asked for anything."""

    asked = False

    def add(self, n: int) -> None:
        self.asked = True
        super().add(n)

    def cancel(self) -> None:
        if not self.asked:
            raise RuntimeError("there is nothing to cancel")
        super().cancel()


class RaisesInCancelWhenItIsOver(Stream):
    """3.15: raises when a stream is cancelled that has ended."""

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.open = True

    def end(self, signal: str, *arguments: object) -> None:
        self.open = False
        super().end(signal, *arguments)

    def cancel(self) -> None:
        if not self.open:
            raise RuntimeError("the stream has ended")
        super().cancel()
