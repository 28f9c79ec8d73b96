"""Publishers whose request is slow, raises, or does not mind what it is asked for."""

from __future__ import annotations

import threading
from time import sleep as pause
from typing import Any, ClassVar

from tests.tck.mutants.publishers import Claims, FailingStream, Stream, ThreadStream, compute


class SleepsInRequest(Stream):
    """3.4: takes 20 milliseconds for each request."""

    def add(self, n: int) -> None:
        pause(0.02)
        super().add(n)


class ComputesInRequest(Stream):
    """3.4: computes for long in each request."""

    def add(self, n: int) -> None:
        compute()
        super().add(n)


class WaitsForItsThread(ThreadStream):
    """3.4: waits in request until its thread, which takes its time, has sent the element."""

    def add(self, n: int) -> None:
        super().add(n)
        done = threading.Event()
        threading.Timer(0.12, done.set).start()
        self.work()
        done.wait()


class IgnoresZero(Stream):
    """3.9: ignores request(0)."""

    def refuse(self, n: int) -> None:
        if n:
            super().refuse(n)


class IgnoresNegative(Stream):
    """3.9: ignores a request for less than nothing."""

    def refuse(self, n: int) -> None:
        if not n:
            super().refuse(n)


class RefusesByAnotherError(Stream):
    """3.9: answers an illegal request by an error that is no ValueError."""

    def refuse(self, n: int) -> None:
        self.error = RuntimeError(f"{n} is too little")


class CompletesForZero(Stream):
    """3.9: takes request(0) for the wish to end the stream."""

    def refuse(self, n: int) -> None:
        self.end("on_complete")


class IgnoresAnIllegalFirstRequest(Stream):
    """3.9: ignores an illegal request as long as no element was sent."""

    started = False

    def tell(self, signal: str, *arguments: object) -> None:
        self.started |= signal == "on_next"
        super().tell(signal, *arguments)

    def refuse(self, n: int) -> None:
        if self.started:
            super().refuse(n)


class IgnoresAnIllegalRequestWhileItSends(Stream):
    """3.9: reads requests within on_next only to add them up."""

    def refuse(self, n: int) -> None:
        if not self.busy:
            super().refuse(n)


class Explaining(Stream):
    """A sound stream that says why it refuses a request."""

    claims: ClassVar[Claims] = {"explains_illegal_requests": True}

    def refuse(self, n: int) -> None:
        self.error = ValueError(f"{n} elements cannot be requested, by rule 3.9")


class RefusesWithoutAWord(Explaining):
    """3.9: says that its errors name the rule, and sends an empty one."""

    def refuse(self, n: int) -> None:
        self.error = ValueError()


class Strict(Stream):
    """A sound stream that is strict about types."""

    claims: ClassVar[Claims] = {"strict_types": True}

    def request(self, n: Any) -> None:
        if self.is_number(n):
            super().request(n)
        else:
            self.error = TypeError(n)
            self.work()

    def is_number(self, n: object) -> bool:
        return type(n) is int


class TakesABool(Strict):
    """3.9: says that it is strict about types, and takes True for 1."""

    def is_number(self, n: object) -> bool:
        return isinstance(n, int)


class RaisesForATypeError(Strict):
    """3.9: says that it is strict about types, and raises instead of signalling."""

    def is_number(self, n: object) -> bool:
        if type(n) is not int:
            raise TypeError(n)
        return True


class RaisesForZero(Stream):
    """3.16: raises for an illegal request instead of signalling."""

    def refuse(self, n: int) -> None:
        raise ValueError(n)


class RaisesWhenItIsOver(Stream):
    """3.16: raises for a request to a stream that is over."""

    def request(self, n: int) -> None:
        if self.subscriber is None:
            raise RuntimeError("the stream is over")
        super().request(n)


class LetsOnNextRaise(Stream):
    """3.16: lets what on_next raises pass through request."""

    def raised(self, subscriber: Any, error: Exception) -> None:
        super().raised(subscriber, error)
        raise error


class LetsItsSourceRaise(FailingStream):
    """3.16: lets what the source raises pass through request."""

    claims: ClassVar[Claims] = {"failed": True}

    def fail(self, error: Exception) -> None:
        super().fail(error)
        raise error
