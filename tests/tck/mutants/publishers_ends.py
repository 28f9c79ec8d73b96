"""Publishers that do not end as they should, or whose end is none."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from tests.tck.mutants.publishers import END, Claims, FailingStream, Numbers, Stream, ThreadStream


class SwallowsItsFailure(FailingStream):
    """1.4: falls silent when the source breaks."""

    claims: ClassVar[Claims] = {"failed": True}

    def fail(self, error: Exception) -> None:
        self.subscriber = None


class CompletesWhenItFails(FailingStream):
    """1.4: completes when the source breaks."""

    claims: ClassVar[Claims] = {"failed": True}

    def fail(self, error: Exception) -> None:
        self.end("on_complete")


class FailsWithText(FailingStream):
    """1.4: hands a text to on_error."""

    claims: ClassVar[Claims] = {"failed": True}

    def fail(self, error: Exception) -> None:
        self.end("on_error", str(error))


class FailsWithAnExit(FailingStream):
    """1.4: hands something to on_error that is meant to end the program."""

    claims: ClassVar[Claims] = {"failed": True}

    def fail(self, error: Exception) -> None:
        self.end("on_error", SystemExit(str(error)))


class NeverCompletes(Stream):
    """1.5: falls silent when the source is empty."""

    def end(self, signal: str, *arguments: object) -> None:
        if signal == "on_complete":
            self.subscriber = None
        else:
            super().end(signal, *arguments)


class NeverCompletesWhenEmpty(Stream):
    """1.5: never checks a source that has no element."""

    def step(self) -> bool:
        return bool(self.publisher.n or self.error) and super().step()


class CompletesAfterAnotherRequest(Stream):
    """1.5: completes only when request is called once more."""

    def step(self) -> bool:
        if self.demand and not self.sent_in_this_call < self.publisher.n and self.error is None:
            return False
        return super().step()

    sent_in_this_call = 0

    def add(self, n: int) -> None:
        if self.sent_in_this_call >= self.publisher.n:
            self.end("on_complete")
        super().add(n)

    def tell(self, signal: str, *arguments: object) -> None:
        self.sent_in_this_call += signal == "on_next"
        super().tell(signal, *arguments)


class FailsAtTheEnd(Stream):
    """1.5: takes the end of the source for a failure."""

    def end(self, signal: str, *arguments: object) -> None:
        if signal == "on_complete":
            super().end("on_error", StopIteration())
        else:
            super().end(signal, *arguments)


class CompletesOnlyForOneRequest(Stream):
    """1.5: checks for the end only when a request asks for more than one element."""

    several = False

    def add(self, n: int) -> None:
        self.several = n > 1 or not self.publisher.n
        super().add(n)

    def end(self, signal: str, *arguments: object) -> None:
        if signal == "on_complete" and not self.several:
            self.subscriber = None
        else:
            super().end(signal, *arguments)


class AnswersAfterCompletion(Stream):
    """1.6: answers an illegal request by on_error, though the stream has completed."""

    over: Any = None

    def end(self, signal: str, *arguments: object) -> None:
        self.over = self.subscriber if signal == "on_complete" else None
        super().end(signal, *arguments)

    def request(self, n: int) -> None:
        if n <= 0 and self.over is not None:
            self.over.on_error(ValueError(n))
        super().request(n)


class AnswersAfterAnError(Stream):
    """1.6: answers each request by the error that has ended the stream."""

    over: Any = None

    def end(self, signal: str, *arguments: object) -> None:
        self.over = self.subscriber if signal == "on_error" else None
        super().end(signal, *arguments)

    def request(self, n: int) -> None:
        if self.over is not None:
            self.over.on_error(self.error)
        super().request(n)


class KeepsWhoCompleted(Stream):
    """1.6: keeps a list of its subscribers, and takes those out that cancel."""

    def start(self) -> None:
        vars(self.publisher).setdefault("subscribers", []).append(self.subscriber)
        super().start()

    def cancel(self) -> None:
        if self.subscriber in vars(self.publisher)["subscribers"]:
            vars(self.publisher)["subscribers"].remove(self.subscriber)
        super().cancel()


class KeepsTheEndOfItsSource(Stream):
    """1.6: keeps the StopIteration, whose traceback refers to all that was on the stack."""

    def next_element(self) -> object:
        subscriber = self.subscriber
        try:
            return next(self.source)
        except StopIteration as error:
            vars(self.publisher)["last_words"] = error, subscriber and None
            return END


class KeepsWhoFailed(Stream):
    """1.6: keeps the subscriber of a stream that has failed, for a report that nobody writes."""

    def end(self, signal: str, *arguments: object) -> None:
        if signal == "on_error":
            vars(self.publisher).setdefault("failed", []).append(self.subscriber)
        super().end(signal, *arguments)


class ServesAfterCompletion(Stream):
    """1.7: starts over when it is asked for more after it has completed."""

    def end(self, signal: str, *arguments: object) -> None:
        if signal == "on_complete":
            self.demand = 0
            self.tell(signal)
            self.source = self.publisher.source()
        else:
            super().end(signal, *arguments)


class CompletesTwice(Stream):
    """1.7: signals on_complete once more, a moment later."""

    def end(self, signal: str, *arguments: object) -> None:
        subscriber = self.subscriber
        super().end(signal, *arguments)
        if signal == "on_complete":
            timer = threading.Timer(0.1, self.call, (subscriber, signal))
            timer.daemon = True
            timer.start()


class CompletesAfterAnIllegalRequest(Stream):
    """1.7: signals on_complete after the on_error for an illegal request."""

    def end(self, signal: str, *arguments: object) -> None:
        subscriber = self.subscriber
        super().end(signal, *arguments)
        if self.error is not None:
            self.call(subscriber, "on_complete")


class SendsAfterAnIllegalRequest(ThreadStream):
    """1.7: serves requests after the on_error for an illegal one."""

    def end(self, signal: str, *arguments: object) -> None:
        if self.error is not None:
            self.error = None
            self.tell(signal, *arguments)
        else:
            super().end(signal, *arguments)


class CompletesAfterItsFailure(FailingStream):
    """1.7: signals on_complete in any case, also after on_error."""

    claims: ClassVar[Claims] = {"failed": True}

    def fail(self, error: Exception) -> None:
        subscriber = self.subscriber
        super().fail(error)
        self.call(subscriber, "on_complete")


class Eager(Stream):
    """A sound stream that reads ahead, and so completes with its last element."""

    claims: ClassVar[Claims] = {"completes_eagerly": True}
    ahead: object = None

    def next_element(self) -> object:
        element, self.ahead = self.ahead, None
        return super().next_element() if element is None else element

    def step(self) -> bool:
        if self.error is None and self.ahead is None:
            self.ahead = super().next_element()
        if self.error is None and self.ahead is END:
            self.end("on_complete")
            return False
        return super().step()


class WaitsToComplete(Eager):
    """1.5: says that it completes at once, and waits for a request after the last element."""

    def step(self) -> bool:
        return bool(self.demand or self.error) and super().step()


class StartsOverForNewcomers(Numbers):
    """1.5: says that it stays completed, and starts over for each newcomer."""

    claims: ClassVar[Claims] = {"stays_completed": True}


class RecoversForNewcomers(FailingStream):
    """1.4: says that it stays failed, and starts over for each newcomer."""

    claims: ClassVar[Claims] = {"failed": True, "stays_failed": True}
