"""Publishers whose signals overlap, repeat, or do not survive a subscriber that raises."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from tests.tck.mutants.publishers import END, Claims, Numbers, Stream, ThreadStream


class SendsFromTenThreads(Stream):
    """1.3: sends each element from a new thread, without order among them."""

    def tell(self, signal: str, *arguments: object) -> None:
        if signal == "on_next":
            arguments = (self.subscriber, signal, *arguments)
            threading.Thread(target=self.call, args=arguments, daemon=True).start()
        else:
            super().tell(signal, *arguments)


class SendsWhileOnSubscribeRuns(ThreadStream):
    """1.3: starts the sending thread before on_subscribe is back."""

    def start(self) -> None:
        super().start()
        self.call(self.subscriber, "on_subscribe", self)

    def live(self) -> None:
        while self.subscriber is not None:
            with self.changed:
                self.changed.wait_for(self.has_work)
            self.step()


class CompletesFromAnotherThread(Stream):
    """1.3: completes on a new thread as soon as a request finds the source empty."""

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.left = publisher.n

    def add(self, n: int) -> None:
        super().add(n)
        if not self.left:
            subscriber, self.subscriber = self.subscriber, None
            threading.Thread(target=subscriber.on_complete, daemon=True).start()

    def tell(self, signal: str, *arguments: object) -> None:
        self.left -= signal == "on_next"
        super().tell(signal, *arguments)


class FailsOnTheCallersThread(ThreadStream):
    """1.3: signals the error for an illegal request at once, whatever its own thread is doing."""

    def refuse(self, n: int) -> None:
        self.end("on_error", ValueError(n))


class SendsOnEachCallersThread(Stream):
    """1.3: lets each thread that requests send, without order among them."""

    claims: ClassVar[Claims] = {"concurrent_requests": True}

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.sending = threading.local()

    def work(self) -> None:
        if not self.busy and not hasattr(self.sending, "now"):
            self.sending.now = True
            while self.subscriber is not None and self.step():
                pass
            del self.sending.now


class Overtakes(Stream):
    """1.3: hands each element to a new thread; they take turns to send, in any order."""

    claims: ClassVar[Claims] = {"repeatable": True}

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.turn = threading.Lock()

    def tell(self, signal: str, *arguments: object) -> None:
        if signal == "on_next":
            threading.Thread(target=self.send, args=arguments, daemon=True).start()
        else:
            super().tell(signal, *arguments)

    def send(self, element: object) -> None:
        with self.turn:
            self.call(self.subscriber, "on_next", element)


class SubscribesAtTheFirstRequest(Stream):
    """2.12: calls on_subscribe again when the first request comes."""

    started = False

    def add(self, n: int) -> None:
        super().add(n)
        if not self.started:
            self.started = True
            self.tell("on_subscribe", self)


class SubscribesAgainAtTheEnd(Stream):
    """2.12: starts over when the source is empty, instead of completing."""

    def end(self, signal: str, *arguments: object) -> None:
        if signal == "on_complete":
            self.source = self.publisher.source()
            self.tell("on_subscribe", self)
        else:
            super().end(signal, *arguments)


class SendsNone(Stream):
    """2.13: sends None for an element that is missing."""

    def next_element(self) -> object:
        element = super().next_element()
        return None if element == 0 and self.publisher.n > 5 else element


class FailsWhenOnSubscribeRaises(Stream):
    """2.13: tells a subscriber by on_error that its on_subscribe raised."""

    def start(self) -> None:
        try:
            self.subscriber.on_subscribe(self)
        except Exception as error:
            self.end("on_error", error)


class GoesOnWhenOnSubscribeRaises(Stream):
    """2.13: ignores that on_subscribe raised, and serves the next request."""

    def start(self) -> None:
        try:
            self.subscriber.on_subscribe(self)
        except Exception:
            pass
        self.work()


class GoesOnWhenOnNextRaises(Stream):
    """2.13: ignores that on_next raised, and sends the next element."""

    def raised(self, subscriber: Any, error: Exception) -> None:
        pass


class FailsWhenOnNextRaises(Stream):
    """2.13: takes what on_next raises for a failure of the source."""

    def raised(self, subscriber: Any, error: Exception) -> None:
        if self.subscriber is not None:
            self.end("on_error", error)


class FailsWhenOnCompleteRaises(Stream):
    """2.13: signals on_error when on_complete raised."""

    def raised(self, subscriber: Any, error: Exception) -> None:
        if self.subscriber is None and self.next_element() is END:
            subscriber.on_error(error)
        self.subscriber = None


class FailsTwiceWhenOnErrorRaises(Stream):
    """2.13: tries once more when on_error raised."""

    def raised(self, subscriber: Any, error: Exception) -> None:
        if self.error is not None:
            try:
                subscriber.on_error(error)
            except Exception:
                pass
        self.subscriber = None


class SwallowsInterrupts(Stream):
    """2.13: catches whatever a subscriber raises, a KeyboardInterrupt, too."""

    def call(self, subscriber: Any, signal: str, *arguments: object) -> None:
        try:
            super().call(subscriber, signal, *arguments)
        except BaseException:
            self.subscriber = None
