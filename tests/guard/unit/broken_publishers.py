"""Publishers of which each breaks one rule."""

from __future__ import annotations

import threading
from collections.abc import Callable

from penstock.api import Subscriber, Subscription


class Scripted:
    """Signals as its script says, from within ``subscribe``; the subscription does nothing."""

    def __init__(self) -> None:
        self.cancels = 0
        self.demand = 0

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self.script(subscriber)

    def script(self, subscriber: Subscriber[int]) -> None:
        raise NotImplementedError

    def request(self, n: int) -> None:
        self.demand += n

    def cancel(self) -> None:
        self.cancels += 1


class OneTooMany(Scripted):
    """Breaks rule 1.1: sends one element more than was requested."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        for number in range(self.demand + 1):
            subscriber.on_next(number)


class Flood(Scripted):
    """Breaks rule 1.1: sends a great many elements, whatever was requested."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        for number in range(50_000):
            subscriber.on_next(number)
        subscriber.on_complete()


class TwoThreads(Scripted):
    """Breaks rule 1.3: another thread signals while the first is inside a signal."""

    def script(self, subscriber: Subscriber[int]) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)
        subscriber.on_next(1)

    def on_another_thread(self, signal: Callable[..., None], *arguments: int) -> None:
        """To be called by the subscriber, from within a signal."""
        thread = threading.Thread(target=signal, args=arguments)
        thread.start()
        thread.join()


class Echo(Scripted):
    """Breaks rule 1.3: what the subscriber pushes into it is sent at once, inside ``on_next``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def push(self, number: int) -> None:
        self.subscriber.on_next(number)


class CompletesTwice(Scripted):
    """Breaks rule 1.7: a second ``on_complete``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        subscriber.on_complete()
        subscriber.on_complete()


class GoesOnAfterError(Scripted):
    """Breaks rule 1.7: elements and completion after ``on_error``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        subscriber.on_error(OSError("gone"))
        subscriber.on_next(1)
        subscriber.on_complete()


class SendsTooEarly(Scripted):
    """Breaks rule 1.9: ``on_next`` before ``on_subscribe``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_next(1)
        subscriber.on_subscribe(self)


class FailsTooEarly(Scripted):
    """Breaks rule 1.9: ``on_error`` without ``on_subscribe``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_error(OSError("gone"))


class CompletesTooEarly(Scripted):
    """Breaks rule 1.9: ``on_complete`` without ``on_subscribe``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_complete()


class RaisesInSubscribe(Scripted):
    """Breaks rule 1.9: ``subscribe`` raises."""

    def script(self, subscriber: Subscriber[int]) -> None:
        raise OSError("no source")


class RaisesAfterOnSubscribe(Scripted):
    """Breaks rule 1.9: ``subscribe`` raises when the stream has begun."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        raise OSError("no source")


class TakesNobody(Scripted):
    """Breaks rule 1.9: ``subscribe(None)`` returns."""

    def script(self, subscriber: Subscriber[int]) -> None:
        pass


class TripsOverNobody(Scripted):
    """Breaks rule 1.9: ``subscribe(None)`` raises, but not ``TypeError``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)


class SubscribesTwice(Scripted):
    """Breaks rule 2.12: ``on_subscribe`` twice, with two subscriptions."""

    def __init__(self) -> None:
        super().__init__()
        self.second = OneTooMany()

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        subscriber.on_subscribe(self.second)


class NoSubscription(Scripted):
    """Breaks rule 2.13: ``on_subscribe(None)``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        nothing: Subscription = None  # type: ignore[assignment]
        subscriber.on_subscribe(nothing)


class NoElement(Scripted):
    """Breaks rule 2.13: ``on_next(None)``."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        subscriber.on_next(None)  # type: ignore[arg-type]


class NoError(Scripted):
    """Breaks rule 2.13: ``on_error`` with ``None``, or with something else that is no error."""

    def __init__(self, error: object) -> None:
        super().__init__()
        self._error = error

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)
        subscriber.on_error(self._error)  # type: ignore[arg-type]


class Recursive(Scripted):
    """Breaks rule 3.3: each ``request`` sends at once, one level deeper."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self._left = elements

    def script(self, subscriber: Subscriber[int]) -> None:
        self._subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        for _ in range(n):
            if self._left and not self.cancels:
                self._left -= 1
                self._subscriber.on_next(self._left)


class ServesAfterCancel(Scripted):
    """Breaks rule 3.6: a request after ``cancel`` is served."""

    def script(self, subscriber: Subscriber[int]) -> None:
        self._subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        for number in range(n):
            self._subscriber.on_next(number)


class IgnoresIllegalRequests(Scripted):
    """Breaks rule 3.9: ``request(0)`` does nothing."""

    def __init__(self, elements: int) -> None:
        super().__init__()
        self._left = elements

    def script(self, subscriber: Subscriber[int]) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        for _ in range(n):
            self.send_one()

    def send_one(self) -> None:
        self._left -= 1
        self.subscriber.on_next(self._left)
        if not self._left:
            self.subscriber.on_complete()


class IgnoresIllegalRequestsSlowly(IgnoresIllegalRequests):
    """Breaks rule 3.9 as well, but sends only when the test says so."""

    def request(self, n: int) -> None:
        pass


class RaisesInCancel(Scripted):
    """Breaks rule 3.15: ``cancel`` raises."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)

    def cancel(self) -> None:
        super().cancel()
        raise OSError("cannot close")


class RaisesInRequest(Scripted):
    """Breaks rule 3.16: ``request`` raises."""

    def script(self, subscriber: Subscriber[int]) -> None:
        subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        raise OSError("cannot read")
