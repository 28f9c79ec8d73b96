"""What the broken publishers are made of, and the list of all of them.

A mutant is a class whose docstring opens with the rule that it breaks. It is a publisher, or a
stream, which `Numbers` then publishes. ``claims`` are what it says of itself.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from functools import partial
from time import thread_time
from typing import Any, ClassVar, Final

from penstock.tck import publisher_fixture
from tests.tck.mutants.gate import Mutant, broken_in, rule_of

Claims = dict[str, Any]

CHAPTERS: Final = (
    *("demand", "signals", "ends", "subscribe", "request", "cancel", "claims", "within", "placed"),
)
END: Final = object()


class Numbers:
    """A sound publisher, as long as its streams are."""

    def __init__(self, n: int, stream: type[Stream] | None = None) -> None:
        self.n = n
        self.stream = stream or FailingStream

    def subscribe(self, subscriber: Any) -> None:
        if subscriber is None:
            raise TypeError("there is no subscriber")
        self.stream(self, subscriber).start()

    def source(self) -> Iterator[object]:
        return iter(range(self.n))


class Stream:
    """A sound stream on the calling thread."""

    claims: ClassVar[Claims] = {}

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        self.publisher = publisher
        self.subscriber = subscriber
        self.source = publisher.source()
        self.demand = 0
        self.error: Exception | None = None
        self.busy = False

    def start(self) -> None:
        self.busy = True
        self.tell("on_subscribe", self)
        self.busy = False
        self.work()

    def request(self, n: int) -> None:
        if self.subscriber is not None:
            if n > 0:
                self.add(n)
            else:
                self.refuse(n)
            self.work()

    def add(self, n: int) -> None:
        self.demand += n

    def refuse(self, n: int) -> None:
        self.error = ValueError(f"{n} elements cannot be requested")

    def cancel(self) -> None:
        self.subscriber = None

    def work(self) -> None:
        if not self.busy:
            self.busy = True
            while self.subscriber is not None and self.step():
                pass
            self.busy = False

    def step(self) -> bool:
        """Send one signal, if there is one to send."""
        if self.error is not None:
            self.end("on_error", self.error)
        elif self.demand:
            element = self.next_element()
            if element is END:
                self.end("on_complete")
            else:
                self.demand -= 1
                self.tell("on_next", element)
            return True
        return False

    def next_element(self) -> object:
        return next(self.source, END)

    def end(self, signal: str, *arguments: object) -> None:
        subscriber, self.subscriber = self.subscriber, None
        self.call(subscriber, signal, *arguments)

    def tell(self, signal: str, *arguments: object) -> None:
        self.call(self.subscriber, signal, *arguments)

    def call(self, subscriber: Any, signal: str, *arguments: object) -> None:
        if subscriber is not None:
            try:
                getattr(subscriber, signal)(*arguments)
            except Exception as error:
                self.raised(subscriber, error)

    def raised(self, subscriber: Any, error: Exception) -> None:
        self.subscriber = None


class ThreadStream(Stream):
    """A sound stream on a thread of its own."""

    def __init__(self, publisher: Numbers, subscriber: Any) -> None:
        super().__init__(publisher, subscriber)
        self.changed = threading.Condition()

    def start(self) -> None:
        threading.Thread(target=self.live, daemon=True).start()

    def live(self) -> None:
        self.tell("on_subscribe", self)
        while self.subscriber is not None:
            with self.changed:
                self.changed.wait_for(self.has_work)
            self.step()

    def has_work(self) -> bool:
        return self.demand > 0 or self.error is not None or self.subscriber is None

    def work(self) -> None:
        with self.changed:
            self.changed.notify()

    def add(self, n: int) -> None:
        with self.changed:
            self.demand += n

    def step(self) -> bool:
        with self.changed:
            subscriber, error, demand = self.subscriber, self.error, self.demand
            self.demand -= demand > 0
        if error is not None:
            self.end("on_error", error)
        elif demand:
            element = self.next_element()
            if element is END:
                self.end("on_complete")
            else:
                self.call(subscriber, "on_next", element)
        return True

    def cancel(self) -> None:
        super().cancel()
        self.work()


class Failing(Numbers):
    """A publisher whose source breaks after the first element."""

    def source(self) -> Iterator[object]:
        yield 0
        raise LookupError("the source is broken")


class FailingStream(Stream):
    """A sound stream whose source may break."""

    def next_element(self) -> object:
        try:
            return super().next_element()
        except LookupError as error:
            self.fail(error)
            return END

    def fail(self, error: Exception) -> None:
        self.end("on_error", error.with_traceback(None))


def compute() -> None:
    """Compute for longer than a call that returns quickly may."""
    end = thread_time() + 1.2 * publisher_fixture.QUICK_COMPUTATION
    while thread_time() < end:
        sum(range(10_000))


def mutants() -> list[Mutant]:
    """All of them."""
    return [
        Mutant(name, rule_of(broken), factory_of(broken), claims_of(broken))
        for name, broken in broken_publishers().items()
    ]


def broken_publishers() -> dict[str, type[Any]]:
    """The classes by name: publishers, and streams."""
    chapters = [broken_in(f"tests.tck.mutants.publishers_{chapter}") for chapter in CHAPTERS]
    return {name: broken for chapter in chapters for name, broken in chapter.items()}


def factory_of(mutant: type[Any]) -> Callable[[int], Any]:
    """Makes the publisher to verify."""
    return partial(Numbers, stream=mutant) if issubclass(mutant, Stream) else mutant


def claims_of(mutant: type[Any]) -> Claims:
    """What it says of itself; ``failed`` is true where it publishes sources that break."""
    claims = dict(mutant.claims)
    if claims.get("failed") is True:
        claims["failed"] = partial(Failing, 2, mutant)
    return claims
