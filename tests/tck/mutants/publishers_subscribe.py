"""Publishers that do not receive their subscribers as they should."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any, ClassVar

from tests.tck.mutants.publishers import END, Claims, Failing, FailingStream, Numbers, Stream


class Accepting(Numbers):
    claims: ClassVar[Claims] = {}


class TakesNone(Accepting):
    """1.9: ignores that there is no subscriber."""

    def subscribe(self, subscriber: Any) -> None:
        if subscriber is not None:
            super().subscribe(subscriber)


class StumblesOverNone(Accepting):
    """1.9: finds out by an AttributeError that there is no subscriber."""

    def subscribe(self, subscriber: Any) -> None:
        subscriber.on_subscribe  # noqa: B018  # this is how it finds out
        super().subscribe(subscriber)


class NeverSubscribes(Stream):
    """1.9: never calls on_subscribe."""

    def start(self) -> None:
        pass


class SendsBeforeOnSubscribe(Stream):
    """1.9: sends the first element before on_subscribe."""

    def start(self) -> None:
        self.tell("on_next", self.next_element())
        super().start()


class CompletesBeforeOnSubscribe(Stream):
    """1.9: completes an empty stream without on_subscribe."""

    def start(self) -> None:
        if self.publisher.n:
            super().start()
        else:
            self.end("on_complete")


class FailsBeforeOnSubscribe(Stream):
    """1.9: signals on_error without on_subscribe when the source breaks at once."""

    claims: ClassVar[Claims] = {"failed": True}

    def start(self) -> None:
        if isinstance(self.publisher, Failing):
            self.end("on_error", LookupError("the source is broken"))
        else:
            super().start()


class RaisesInSubscribe(Stream):
    """1.9: raises in subscribe when the source breaks at once."""

    claims: ClassVar[Claims] = {"failed": True}

    def start(self) -> None:
        if isinstance(self.publisher, Failing):
            raise LookupError("the source is broken")
        super().start()


class LetsOnSubscribeRaise(Stream):
    """1.9: lets what on_subscribe raises pass through subscribe."""

    def start(self) -> None:
        self.subscriber.on_subscribe(self)
        super().work()


class LooksUpBySubscriber(Accepting):
    """1.10: looks up the demand by subscriber, so that one request feeds both streams of it."""

    def __init__(self, n: int) -> None:
        super().__init__(n, FeedsAll)
        self.streams: dict[int, list[FeedsAll]] = {}


class FeedsAll(Stream):
    publisher: LooksUpBySubscriber

    def start(self) -> None:
        self.key = id(self.subscriber)
        self.publisher.streams.setdefault(self.key, []).append(self)
        super().start()

    def add(self, n: int) -> None:
        for stream in self.publisher.streams[self.key]:
            if stream is not self:
                stream.subscriber = self.subscriber  # cancelled or not
                stream.demand += n
                stream.work()
        super().add(n)

    def cancel(self) -> None:
        super().cancel()
        if len(self.publisher.streams[self.key]) == 1:
            del self.publisher.streams[self.key]

    def end(self, signal: str, *arguments: object) -> None:
        self.publisher.streams[self.key] = []
        super().end(signal, *arguments)


class ServesTheSameAgain(Accepting):
    """1.10: says that it refuses a subscriber that is subscribed, and serves it again."""

    claims: ClassVar[Claims] = {"refuses_same_subscriber": True}


class RefusesTheSameByAnotherError(Accepting):
    """1.10: refuses a subscriber that is subscribed by an error that says nothing."""

    claims: ClassVar[Claims] = {"refuses_same_subscriber": True}

    def __init__(self, n: int) -> None:
        super().__init__(n)
        self.known: list[Any] = []

    def subscribe(self, subscriber: Any) -> None:
        if subscriber in self.known:
            subscriber.on_error(KeyError(0))
        else:
            self.known.append(subscriber)
            super().subscribe(subscriber)


class ForgetsTheSecond(Accepting):
    """1.11: calls on_subscribe of a second subscriber, and then does nothing for it."""

    taken = False

    def subscribe(self, subscriber: Any) -> None:
        if self.taken:
            subscriber.on_subscribe(Idle())
        else:
            super().subscribe(subscriber)
            self.taken = True


class Idle:
    def request(self, n: int) -> None:
        pass

    def cancel(self) -> None:
        pass


class Hub:
    """A sound publisher for many subscribers, each of which gets what it has requested."""

    claims: ClassVar[Claims] = {"multicast": True}

    def __init__(self, n: int) -> None:
        self.n = n
        self.elements: Iterator[object] = iter(range(n))
        self.kept: list[object] = []
        self.streams: list[Branch] = []
        self.lock = threading.RLock()

    def subscribe(self, subscriber: Any) -> None:
        if subscriber is None:
            raise TypeError("there is no subscriber")
        branch = Branch(self, subscriber)
        self.join(branch)
        branch.start()

    def join(self, branch: Branch) -> None:
        self.streams.append(branch)

    def read(self, branch: Branch) -> object:
        if len(self.kept) == branch.position:
            self.kept.append(next(self.elements, END))
        branch.position += 1
        return self.kept[branch.position - 1]

    def left(self, branch: Branch) -> None:
        if branch in self.streams:
            self.streams.remove(branch)


class Branch(FailingStream):
    def __init__(self, hub: Hub, subscriber: Any) -> None:
        super().__init__(Numbers(hub.n), subscriber)
        self.hub = hub
        self.lock = hub.lock
        self.position = 0
        self.source = iter(partial(hub.read, self), END)

    def work(self) -> None:
        with self.lock:
            super().work()

    def cancel(self) -> None:
        super().cancel()
        self.hub.left(self)


class SendsOthersToOthers(Hub):
    """1.11: sends each subscriber elements of its own."""

    def read(self, branch: Branch) -> object:
        branch.position += 1
        return random.random()


class LosesForTheSlow(Hub):
    """1.11: lets a slow subscriber go on with the newest element."""

    def read(self, branch: Branch) -> object:
        element = super().read(branch)
        if branch.position > 1 and len(self.kept) > branch.position:
            branch.position = len(self.kept)
        return element


class LeavesTogether(Hub):
    """1.11: ends all streams when one is cancelled."""

    def left(self, branch: Branch) -> None:
        super().left(branch)
        for other in self.streams[:]:
            self.streams.remove(other)
            other.end("on_complete")


class SharesWithoutALock(Hub):
    """1.11: reads and writes what all subscribers share without a lock."""

    def read(self, branch: Branch) -> object:
        position = branch.position
        branch.position = position + 1
        if len(self.kept) > position:
            return self.kept[position]
        element = next(self.elements, END)
        self.kept.append(element)
        return element

    def join(self, branch: Branch) -> None:
        super().join(branch)
        branch.lock = threading.RLock()


class StartsNewcomersAtTheNewest(Hub):
    """1.11: says that newcomers get what is kept, and starts them with the newest element."""

    claims: ClassVar[Claims] = {"multicast": True, "keeps_for_newcomers": True}

    def join(self, branch: Branch) -> None:
        super().join(branch)
        branch.position = len(self.kept)
