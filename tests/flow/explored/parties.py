"""The parties of explored scenarios, which notice overlap, excess and late signals."""

from __future__ import annotations

from penstock.api import Subscriber, Subscription
from penstock.runtime import Task
from penstock.tck import Environment

__all__ = ["Foreign", "SerialSubscriber", "ThreadForEachTask", "Upstream"]


class SerialSubscriber:
    """Writes down the signals, and notices those that overlap or exceed the demand."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._switch = env.lock()
        self._inside = False
        self._requested = 0
        self.signals: list[object] = []
        self.subscription: Subscription | None = None

    @property
    def elements(self) -> list[int]:
        return [signal for signal in self.signals if isinstance(signal, int)]

    @property
    def endings(self) -> list[object]:
        return [each for each in self.signals if each == "on_complete" or isinstance(each, type)]

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self._record("on_subscribe")

    def on_next(self, element: int) -> None:
        self._record(element)
        if len(self.elements) > self._requested:
            self._env.fail("1.1", f"{element} came without demand")

    def on_error(self, error: Exception) -> None:
        self._record(type(error))

    def on_complete(self) -> None:
        self._record("on_complete")

    def request(self, n: int) -> None:
        self._requested += n
        assert self.subscription is not None
        self.subscription.request(n)

    def cancel(self) -> None:
        assert self.subscription is not None
        self.subscription.cancel()

    def _record(self, signal: object) -> None:
        if self._inside:
            self._env.fail("1.3", f"{signal} came while another signal was running")
        if self.endings:
            self._env.fail("1.7", f"{signal} came after the end")
        self._inside = True
        self.signals.append(signal)
        with self._switch:
            pass  # another thread may get in between
        self._inside = False


class Upstream:
    """The subscription of a subscriber, and the publisher that sends what was requested of it."""

    def __init__(self, env: Environment) -> None:
        self._env = env
        self._switch = env.lock()
        self._inside = False
        self.requested = 0
        self.sent = 0
        self.cancels = 0

    def request(self, n: int) -> None:
        self._call()
        self.requested += n

    def cancel(self) -> None:
        self._call()
        self.cancels += 1

    def send_to(self, subscriber: Subscriber[int]) -> None:
        """Send all that has been asked for by now."""
        while self.sent < self.requested and not self.cancels:
            self.send_one_to(subscriber)

    def send_one_to(self, subscriber: Subscriber[int]) -> None:
        """Send the next element."""
        self.sent += 1
        subscriber.on_next(self.sent - 1)

    def _call(self) -> None:
        if self._inside:
            self._env.fail("2.7", "two calls of the subscription overlap")
        self._inside = True
        with self._switch:
            pass
        self._inside = False


class Foreign(Upstream):
    """A publisher of one stream, which sends when the scenario says so."""

    def __init__(self, env: Environment, first: int = 0) -> None:
        super().__init__(env)
        self.first = first

    def subscribe(self, subscriber: Subscriber[int]) -> None:
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def send(self) -> None:
        """Send all that has been asked for by now."""
        self.send_to(self.subscriber)

    def push(self, elements: int) -> None:
        """Send so many, or fewer if fewer have been asked for."""
        for _ in range(elements):
            if self.sent < self.requested and not self.cancels:
                self.send_one_to(self.subscriber)

    def complete(self) -> None:
        self.subscriber.on_complete()

    def fail(self) -> None:
        self.subscriber.on_error(ValueError("as announced"))

    def push_and_complete(self, elements: int) -> None:
        """Send so many, and end the stream unless that was cancelled."""
        self.push(elements)
        if not self.cancels:
            self.complete()

    def send_one_to(self, subscriber: Subscriber[int]) -> None:
        """Send the next number, from ``first`` on."""
        self.sent += 1
        subscriber.on_next(self.first + self.sent - 1)

    @property
    def all_sent(self) -> list[int]:
        """What has been sent so far."""
        return list(range(self.first, self.first + self.sent))


class ThreadForEachTask:
    """An executor with as much concurrency as there can be."""

    def __init__(self, env: Environment) -> None:
        self._env = env

    def execute(self, task: Task) -> None:
        self._env.thread(task).start()
