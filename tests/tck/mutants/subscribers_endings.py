"""Subscribers that do not know when it is over: rules 2.3, 2.4, 2.9 and 2.10."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from penstock.api import Publisher, Subscription
from tests.tck.mutants.sound_subscribers import InBatches, Manual, OnAThread, OneByOne, require
from tests.tck.mutants.subscribers import ITSELF, SEEN, mutant

NOTICES: dict[str, Any] = {
    "completed": lambda subscriber: subscriber.done,
    "failed": lambda subscriber: subscriber.error,
}


@mutant()
class AsksInOnComplete(OneByOne):
    """2.3: asks for more in ``on_complete``."""

    def on_complete(self) -> None:
        self.request(1)
        super().on_complete()


@mutant()
class CancelsInOnComplete(OneByOne):
    """2.3: cancels in ``on_complete``, to be on the safe side."""

    def on_complete(self) -> None:
        self.cancel()
        super().on_complete()


@mutant()
class AsksInOnError(OneByOne):
    """2.3: asks for another element in place of the error."""

    def on_error(self, error: Exception) -> None:
        require(error)
        self.request(1)
        super().on_error(error)


@mutant()
class CancelsInOnError(OneByOne):
    """2.3: cancels in ``on_error``, to be on the safe side."""

    def on_error(self, error: Exception) -> None:
        require(error)
        self.cancel()
        super().on_error(error)


@mutant(**ITSELF)
class CancelsInOnCompleteForItsUser(Manual):
    """2.3: cancels in ``on_complete`` what its user steers."""

    def on_complete(self) -> None:
        self.cancel()


@mutant()
class CancelsOnAnotherThread(OneByOne):
    """2.3: ``on_complete`` has a thread cancel, and waits for it."""

    def on_complete(self) -> None:
        thread = threading.Thread(target=self.cancel)
        thread.start()
        thread.join()


@mutant()
class CancelsOnItsThread(OnAThread):
    """2.3: hands the end over to its thread, which cancels."""

    def _end(self, error: Exception | None) -> None:
        assert self._subscription is not None
        self._subscription.cancel()
        super()._end(error)


@mutant()
class FlushesAndAsks(InBatches):
    """2.3: works off the rest of its batch in ``on_complete`` and asks for the next one."""

    def on_complete(self) -> None:
        self.request(8)
        super().on_complete()


@mutant(joins=lambda subscriber, publisher: subscriber.listen_to(publisher))
class TriesAgainAtOnce(OneByOne):
    """2.3: subscribes a new subscriber from within ``on_error``."""

    def listen_to(self, publisher: Publisher[Any]) -> None:
        self.publisher = publisher
        publisher.subscribe(self)

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        self.publisher.subscribe(OneByOne())


class AsksNowAndThen(OneByOne):
    """A timer asks for an element every now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.source: Subscription | None = None
        self.late = 0

    def begin(self) -> None:
        self.source = self.subscription
        super().begin()
        self.set_timer()

    def set_timer(self) -> None:
        """Ask again in a while."""
        timer = threading.Timer(0.7, self.ask)
        timer.daemon = True
        timer.start()

    def ask(self) -> None:
        """The timer has run down; it is not set for ever when all is over."""
        self.late += self.subscription is None
        if self.source is not None and self.late < 3:
            self.source.request(1)
            self.set_timer()


@mutant()
class LeavesItsTimerAtCompletion(AsksNowAndThen):
    """2.4: stops its timer when the stream fails, and not when it completes."""

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        self.source = None


@mutant()
class LeavesItsTimerAtFailure(AsksNowAndThen):
    """2.4: stops its timer when the stream completes, and not when it fails."""

    def on_complete(self) -> None:
        super().on_complete()
        self.source = None


@mutant()
class CancelsWhenItCleansUp(OneByOne):
    """2.4: cancels what is long over when it cleans up, a while after the end."""

    def on_complete(self) -> None:
        timer = threading.Timer(2.0, self.cancel)
        timer.daemon = True
        timer.start()


@mutant(**ITSELF)
class ObeysItsUserAfterTheEnd(Manual):
    """2.4: passes on what its user asks for when the stream is over."""

    def on_complete(self) -> None:
        pass


class CountsOnElements(OneByOne):
    """Uses its last element when the stream is over."""

    def report(self) -> object:
        """The last element."""
        return self.elements[-1]


@mutant()
class NeedsAnElementToComplete(CountsOnElements):
    """2.9: ``on_complete`` takes it for granted that there was an element."""

    def on_complete(self) -> None:
        self.report()
        super().on_complete()


@mutant()
class NeedsAllElementsToComplete(InBatches):
    """2.9: ``on_complete`` raises if the last batch is not full."""

    def on_complete(self) -> None:
        if len(self.elements) % 4:
            raise RuntimeError("too few elements")
        super().on_complete()


@mutant()
class NeverAsksAndSoNeverWaits(OneByOne):
    """2.9: never asks, so it cannot be told of completion while it waits."""

    def begin(self) -> None:
        pass


@mutant(**NOTICES)
class MissesCompletion(OneByOne):
    """2.9: does not notice that the stream is complete."""

    def on_complete(self) -> None:
        self.subscription = None


@mutant(**ITSELF, **NOTICES)
class MissesCompletionForItsUser(Manual):
    """2.9: its user never learns that the stream is complete."""

    def on_complete(self) -> None:
        self.subscription = None


@mutant(puppet=lambda subscriber: None)
class NeverLetsItselfBeSteered(Manual):
    """2.9: claims a puppet and never has one."""


@mutant()
class WaitsForItsFirstElement(OneByOne):
    """2.9: ``on_complete`` waits until the first element is processed, even if none comes."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Event()

    def process(self, element: Any) -> None:
        super().process(element)
        self.begun.set()

    def on_complete(self) -> None:
        self.begun.wait()
        super().on_complete()


@mutant()
class NeedsAnElementToFail(CountsOnElements):
    """2.10: ``on_error`` takes it for granted that there was an element."""

    def on_error(self, error: Exception) -> None:
        require(error)
        self.report()
        super().on_error(error)


@mutant()
class RaisesTheErrorOfTheStream(OneByOne):
    """2.10: raises the error that it is told of."""

    def on_error(self, error: Exception) -> None:
        require(error)
        raise error


@mutant(**ITSELF)
class RaisesTheErrorForItsUser(Manual):
    """2.10: raises the error that it is told of, for its user to see."""

    def on_error(self, error: Exception) -> None:
        require(error)
        raise RuntimeError("the stream failed") from error


@mutant()
class RaisesWhileItWaits(OneByOne):
    """2.10: takes an error for impossible as long as an element is to come."""

    def on_error(self, error: Exception) -> None:
        require(error)
        if self.elements:
            raise RuntimeError("an element was to come")
        super().on_error(error)


@mutant(**NOTICES)
class MissesFailure(OneByOne):
    """2.10: does not notice that the stream has failed."""

    def on_error(self, error: Exception) -> None:
        require(error)


@mutant(**SEEN)
class CancelsOnASharedPool(OneByOne):
    """2.3: ``on_complete`` has a pool cancel that was there before."""

    pool = ThreadPoolExecutor(1)

    def process(self, element: Any) -> None:
        self.pool.submit(super().process, element)

    def on_complete(self) -> None:
        assert self.subscription is not None
        self.pool.submit(self.subscription.cancel).result()
