"""Subscribers that ask wrongly: rules 1.10, 2.1, 3.1, 3.8 and 3.9."""

from __future__ import annotations

import threading
from typing import Any, ClassVar

from penstock.api import Publisher, Subscription
from tests.tck.mutants.sound_subscribers import InBatches, Manual, OneByOne
from tests.tck.mutants.subscribers import ITSELF, SEEN, mutant

LISTENS: dict[str, Any] = {
    "joins": lambda subscriber, publisher: subscriber.listen_to(publisher),
}
_the_only_one = OneByOne()


@mutant()
def always_the_same() -> OneByOne:
    """1.10: the factory hands out one and the same subscriber for all streams."""
    return _the_only_one


@mutant(**LISTENS)
class JoinsAgain(OneByOne):
    """1.10: subscribes itself again some time after a failure."""

    def listen_to(self, publisher: Publisher[Any]) -> None:
        self.publisher = publisher
        publisher.subscribe(self)

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        timer = threading.Timer(0.5, self.publisher.subscribe, [self])
        timer.daemon = True
        timer.start()


@mutant()
class NeverAsks(OneByOne):
    """2.1: waits for elements without asking for any."""

    def begin(self) -> None:
        pass


@mutant()
class AsksOnce(OneByOne):
    """2.1: asks for the first element and forgets to ask for the next."""

    def go_on(self) -> None:
        pass


@mutant()
class Miscounts(InBatches):
    """2.1: asks for eight elements, and for more when the ninth has come."""

    def go_on(self) -> None:
        if len(self.elements) % 9 == 0:
            self.request(8)


@mutant(**ITSELF)
class DeafToItsUser(Manual):
    """2.1: its user asks for elements, and it does not pass that on."""

    def request(self, n: int) -> None:
        pass


@mutant(**SEEN)
class AsksInVain(OneByOne):
    """2.1: asks for elements and throws them away."""

    def process(self, element: Any) -> None:
        pass


@mutant()
class SharesItsSubscription(OneByOne):
    """3.1: keeps the subscription in its class, where the next subscriber replaces it."""

    shared: ClassVar[Subscription]

    def on_subscribe(self, subscription: Subscription) -> None:
        super().on_subscribe(subscription)
        type(self).shared = subscription

    def go_on(self) -> None:
        self.shared.request(1)


@mutant()
class AsksForAll(OneByOne):
    """3.1: asks on behalf of all subscribers of its kind, not only of itself."""

    all_of_them: ClassVar[list[Subscription]] = []

    def begin(self) -> None:
        assert self.subscription is not None
        self.all_of_them.append(self.subscription)
        super().begin()

    def go_on(self) -> None:
        for subscription in self.all_of_them[-2:]:
            subscription.request(1)


class SavesUp(Manual):
    """Passes the wishes of its user on one by one."""

    wanted = 0
    waiting = False

    def request(self, n: int) -> None:
        self.want(n)
        self.ask()

    def want(self, n: int) -> None:
        """Remember what the user asks for."""
        self.wanted += n

    def ask(self) -> None:
        """Ask for one element, unless one is on its way."""
        if self.wanted and not self.waiting:
            self.waiting = True
            super().request(1)

    def process(self, element: Any) -> None:
        super().process(element)
        self.wanted -= 1
        self.waiting = False

    def go_on(self) -> None:
        self.ask()


@mutant(**ITSELF)
class ForgetsEarlierWishes(SavesUp):
    """3.8: the last request of its user replaces those before."""

    def want(self, n: int) -> None:
        self.wanted = n


@mutant(puppet_of_many_threads=True, **ITSELF)
class LosesWishesBetweenThreads(SavesUp):
    """3.8: reads and writes the demand in two steps, so that of two threads one is lost."""

    def want(self, n: int) -> None:
        wanted = self.wanted
        self.wanted = max(wanted, 0) + n


class AsksFor(OneByOne):
    """Asks for the first elements as it should, and after each of them for something else."""

    number: Any

    def begin(self) -> None:
        self.request(3)

    def go_on(self) -> None:
        self.request(self.number)


@mutant()
class AsksForNothing(AsksFor):
    """3.9: asks for as many as there is room for, even if that is none."""

    number = 0


@mutant()
class AsksForLess(AsksFor):
    """3.9: takes back what it asked for."""

    number = -1


@mutant()
class AsksForTrue(AsksFor):
    """3.9: asks for a truth value."""

    number = True


@mutant()
class AsksForAShare(AsksFor):
    """3.9: divides and asks for a float."""

    number = 2 / 2


@mutant()
class AsksForText(AsksFor):
    """3.9: asks for what it has read from its settings."""

    number = "1"


@mutant()
class AsksForNone(OneByOne):
    """3.9: asks for None where it means everything."""

    def begin(self) -> None:
        assert self.subscription is not None
        nothing: Any = None
        self.subscription.request(nothing)


@mutant()
class AsksForNothingAtTheEndOfItsBatch(InBatches):
    """3.9: fills up to eight after each element, and is full after some."""

    def go_on(self) -> None:
        self.request(8 - len(self.elements) % 9)
