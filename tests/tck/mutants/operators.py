"""Deliberately broken operators; each opens with the rule that it breaks.

Most are a processor, with one thing changed, through which each subscriber gets its stream.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, ClassVar, Final

from tests.tck.mutants import operators_composed, processor_sides, processors
from tests.tck.mutants.gate import Mutant, broken_in, rule_of
from tests.tck.mutants.publishers import Numbers
from tests.tck.mutants.publishers_claims import RaisesWhatCloseRaises
from tests.tck.mutants.sound_operators import (
    Buffered,
    Direct,
    DirectStage,
    InOrder,
    MappingInOrder,
    Take,
    Through,
)
from tests.tck.mutants.sound_processors import Eager

Claims = dict[str, Any]

CHAPTERS: Final = ("operators", "operators_within")


def fail_at_two(element: Any) -> Any:
    if element == 2:
        raise LookupError("the function is broken")
    return element


class SendsAllItHolds(Buffered):
    """1.1: sends all that it holds with the first request."""

    def deliver(self) -> bool:
        self.requested = max(self.requested, self.delivered + len(self.held))
        return super().deliver()


class KeepsDemand(Through):
    """1.1: hands demand that is left over to the next subscriber."""

    last: Any = None

    def subscribe(self, subscriber: Any) -> None:
        relay = InOrder()
        if self.last is not None:
            relay.requested = self.last.requested - self.last.delivered
        self.last = relay
        relay.subscribe(subscriber)
        self.source.subscribe(relay)


class SendsOnManyThreads(Direct):
    """1.3: sends each element on a thread of its own, all at once."""

    def __init__(self, source: Any) -> None:
        super().__init__(source, lambda element: element)

    def stage(self, subscriber: Any) -> Any:
        return ManyHandedStage(subscriber, self.function)


class ManyHandedStage(DirectStage):
    def on_next(self, element: Any) -> None:
        threading.Thread(target=self.send, args=(element,), daemon=True).start()

    def send(self, element: Any) -> None:
        super().on_next(element)


class SwallowsErrors(InOrder):
    """1.4: does not pass errors on."""

    def on_error(self, error: Exception) -> None:
        self.upstream = None


class ErrorsOvertake(Eager):
    """1.4: sends an error ahead of elements that it holds, and does not say so."""


class SkipsWhatItsFunctionRaises(MappingInOrder):
    """1.4: leaves out elements at which its function raises."""

    claims: ClassVar[Claims] = {"failing": lambda source: Through(source, skipping)}

    def on_next(self, element: Any) -> None:
        try:
            self.function(element)
        except LookupError:
            with self.lock:
                self.asked -= 1
            self.wake()
        else:
            super().on_next(element)


skipping: Callable[[], Any] = partial(SkipsWhatItsFunctionRaises, fail_at_two)


class SwallowsCompletion(InOrder):
    """1.5: does not pass completion on."""

    def on_complete(self) -> None:
        self.upstream = None


class CompletesAheadOfElements(Buffered):
    """1.5: completes at once, and drops what it still holds."""

    def on_complete(self) -> None:
        self.held.clear()
        super().on_complete()


class KeepsItsSubscriberAfterTheEnd(InOrder):
    """1.6: still refers to its subscriber when the stream is over."""

    def end(self, signal: str, *arguments: Any) -> None:
        ENDED.append(self.subscriber)
        super().end(signal, *arguments)


ENDED: list[Any] = []


class WaitsInOnNext(InOrder):
    """2.2: takes its time in ``on_next``."""

    def on_next(self, element: Any) -> None:
        threading.Event().wait(0.12)
        super().on_next(element)


class KeepsElementsAfterTheEnd(InOrder):
    """1.6: still refers to elements that it has sent when the stream is over."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def on_next(self, element: Any) -> None:
        self.seen.append(element)
        super().on_next(element)

    def cancel(self) -> None:
        self.seen.clear()
        super().cancel()


class IsItsOwnSubscriber(Direct):
    """1.10: hands itself to the source, for each of its subscribers."""

    def __init__(self, source: Any) -> None:
        super().__init__(source, lambda element: element)
        self.only = Direct.stage(self, None)

    def stage(self, subscriber: Any) -> Any:
        self.only.connected, self.only.subscriber = False, subscriber
        return self.only


class TriesAgainWithTheSameSubscriber(Through):
    """1.10: subscribes to its source again with a subscriber whose stream has failed."""

    claims: ClassVar[Claims] = {"resubscribes": True, "absorbs_errors": True}

    def __init__(self, source: Any) -> None:
        super().__init__(source, lambda: TryingAgain(source))


class TryingAgain(InOrder):
    def __init__(self, source: Any) -> None:
        super().__init__()
        self.source = source

    def on_error(self, error: Exception) -> None:
        self.connected = False
        self.source.subscribe(self)


class CountsForAllSubscribers(Through):
    """1.11: counts the elements of all its subscribers together."""

    claims: ClassVar[Claims] = {"expected": lambda elements: elements[:3]}

    def __init__(self, source: Any) -> None:
        super().__init__(source, lambda: Take(self.left()))
        self.count = 4

    def left(self) -> int:
        self.count -= 1
        return self.count


class AsksForAll(InOrder):
    """2.1: asks for all elements at once, whatever was requested."""

    def wanted(self) -> int:
        return 2**63 - 1 - self.asked


class AsksForOneMoreEachTime(Buffered):
    """2.1: asks for one more element with each that comes, even if nobody wants it."""

    claims: ClassVar[Claims] = {"prefetch": 8}

    def wanted(self) -> int:
        return self.delivered + len(self.held) + self.ROOM - self.asked


class AsksOnce(InOrder):
    """2.1: asks for one element, and never again."""

    def wanted(self) -> int:
        return min(self.requested, 1) - self.asked


class RequestsAfterTheEnd(Buffered):
    """2.4: passes requests on to a source that has completed."""

    def on_complete(self) -> None:
        self.completed = True
        self.wake()


class LeavesTheSourceOpen(MappingInOrder):
    """2.6: does not cancel upstream when its function raises."""

    claims: ClassVar[Claims] = {"failing": lambda source: Through(source, leaving)}

    def release(self) -> None:
        if self.error is None:
            super().release()


leaving: Callable[[], Any] = partial(LeavesTheSourceOpen, fail_at_two)


class StaysSubscribed(InOrder):
    """2.6: does not pass cancel on."""

    def release(self) -> None:
        self.held.clear()


class CompletesWithoutCancel(Take):
    """2.6: completes when it has enough, and leaves the source as it is."""

    claims: ClassVar[Claims] = {"expected": lambda elements: elements[:3], "cancels_early": True}

    def leave(self) -> None:
        pass

    def release(self) -> None:
        self.held.clear()


class AsksFromBothSides(processor_sides.AsksFromBothSides):
    """2.7: asks the source in on_next and in request, on whichever thread."""


class OverwritesItsSlot(processor_sides.OverwritesItsSlot):
    """2.11: leaves an element in a field for its thread, whether or not the last one was taken."""


class SendsNone(processor_sides.SendsNone):
    """2.13: sends None in place of what is not true."""


class Recurses(Eager):
    """3.3: sends the next element from within the request for it."""

    ROOM = 20_000

    def request(self, n: int) -> None:
        self.requested += n
        if self.held:
            self.delivered += 1
            self.tell("on_next", self.held.popleft())
        else:
            self.wake()


class PassesEachCancelOn(InOrder):
    """3.5: passes each cancel on, and not only the first."""

    source: Any = None

    def on_subscribe(self, subscription: Any) -> None:
        self.source = subscription
        super().on_subscribe(subscription)

    def cancel(self) -> None:
        self.subscriber = None
        self.source.cancel()


class CancelsForEachThread(Direct):
    """3.5: two threads that cancel at once both find the stream open."""

    def __init__(self, source: Any) -> None:
        super().__init__(source, lambda element: element)

    def stage(self, subscriber: Any) -> Any:
        return UnguardedStage(subscriber, self.function)


class UnguardedStage(DirectStage):
    def leave(self) -> Any:
        upstream = self.upstream
        self.forget()
        return upstream

    def forget(self) -> None:
        self.upstream = None


class CancelsForEachLateElement(processor_sides.CancelsForEachLateElement):
    """3.7: claims to leave a cancelled subscription alone, and cancels it for late elements."""

    claims: ClassVar[Claims] = {"calls_nothing_cancelled": True}


class KeepsItsSubscriber(InOrder):
    """3.13: still refers to a subscriber that has cancelled."""

    def subscribe(self, subscriber: Any) -> None:
        ENDED.append(subscriber)
        super().subscribe(subscriber)


class KeepsElementsAfterCancel(KeepsElementsAfterTheEnd):
    """3.13: still refers to elements that it has sent when it is cancelled."""

    def cancel(self) -> None:
        InOrder.cancel(self)

    def end(self, signal: str, *arguments: Any) -> None:
        self.seen.clear()
        super().end(signal, *arguments)


class RaisesWhatItsSourceRaises(InOrder):
    """3.15: lets what its source raises on being cancelled pass through cancel."""

    claims: ClassVar[Claims] = {
        "unclosable": lambda: Through(Numbers(3, RaisesWhatCloseRaises), RaisesWhatItsSourceRaises)
    }


class DemandOverflows(InOrder):
    """3.17: counts demand in 64 bits, and takes the overflow for no demand at all."""

    def request(self, n: int) -> None:
        self.requested = (self.requested + n + 2**63) % 2**64 - 2**63
        self.wake()


class LosesEveryThird(InOrder):
    """4.1: loses every third element."""

    def on_next(self, element: Any) -> None:
        if element % 3 == 2:
            self.delivered += 1
            self.wake()
        else:
            super().on_next(element)


class HoldsTheLastBack(InOrder):
    """4.1: sends an element when the next one has come, or the end."""

    def step(self) -> bool:
        if len(self.held) == 1 and not self.completed and self.error is None and self.subscriber:
            return self.ask_ahead()
        return super().step()

    def ask_ahead(self) -> bool:
        if self.asked == self.delivered + 1 and self.upstream is not None:
            self.asked += 1
            self.upstream.request(1)
            return True
        return False


class FlushesOnCancel(Buffered):
    """4.1: when it is cancelled, sends what it holds all the same, the newest first."""

    def cancel(self) -> None:
        if self.subscriber is not None:
            subscriber, self.subscriber = self.subscriber, None
            while self.held:
                subscriber.on_next(self.held.pop())
        super().cancel()


class DropsSilentlyOnCancel(Through):
    """4.1: says that it keeps account of what it discards, and drops elements without a trace."""

    claims: ClassVar[Claims] = {"discarded": lambda operator: operator.discarded}

    def __init__(self, source: Any) -> None:
        super().__init__(source, Buffered)
        self.discarded: list[Any] = []


class GoesToRestTooSoon(processors.GoesToRestTooSoon):
    """4.1: does not check again for what another thread has left before it goes to rest."""


class ReordersUnderTwoThreads(Direct):
    """4.1: sends each element on a thread of its own, one at a time, but in no fixed order."""

    def __init__(self, source: Any) -> None:
        super().__init__(source, lambda element: element)

    def stage(self, subscriber: Any) -> Any:
        return OneAtATimeStage(subscriber, self.function)


class OneAtATimeStage(ManyHandedStage):
    def __init__(self, subscriber: Any, function: Callable[[Any], Any]) -> None:
        super().__init__(subscriber, function)
        self.sending = threading.RLock()

    def send(self, element: Any) -> None:
        with self.sending:
            super().send(element)


class LosesTheContext(InOrder):
    """4.1: says that it keeps the context, and works in a pool of threads that have none."""

    claims: ClassVar[Claims] = {"keeps_context": True}

    def __init__(self) -> None:
        super().__init__()
        self.pool = ThreadPoolExecutor(1)

    def wake(self) -> None:
        self.pool.submit(super().wake)


class LosesTheContextOfItsFunction(MappingInOrder):
    """4.1: says that it keeps the context, and calls its function on a thread that has none."""

    claims: ClassVar[Claims] = {
        "keeps_context": True,
        "watched": lambda source, call: Through(source, partial(elsewhere, call)),
    }

    def on_next(self, element: Any) -> None:
        thread = threading.Thread(target=self.function, args=[element])
        thread.start()
        thread.join()
        InOrder.on_next(self, element)


def elsewhere(call: Callable[[], None]) -> Any:
    return LosesTheContextOfItsFunction(lambda _: call())


class ErrorsWaitForDemand(InOrder):
    """4.2: keeps an error until somebody asks for another element."""

    def step(self) -> bool:
        if self.error is not None and not self.refuses and self.requested == self.delivered:
            return False
        return super().step()


class ErrorsWaitForElements(Buffered):
    """4.2: says that errors overtake elements, and sends them afterwards."""

    claims: ClassVar[Claims] = {"errors_overtake": True}


def mutants() -> list[Mutant]:
    """All of them."""
    chapters = [broken_in(f"tests.tck.mutants.{chapter}") for chapter in CHAPTERS]
    return [
        Mutant(name, rule_of(broken), apply_of(broken), getattr(broken, "claims", {}))
        for chapter in chapters
        for name, broken in chapter.items()
    ] + list(operators_composed.mutants())


def apply_of(mutant: type[Any]) -> Callable[[Any], Any]:
    """Applies it to a publisher."""
    if issubclass(mutant, KeepsDemand):
        return lambda source: mutant(source, InOrder)
    if issubclass(mutant, Through | Direct):
        return mutant
    return lambda source: Through(source, maker_of(mutant))


def maker_of(mutant: type[Any]) -> Callable[[], Any]:
    """Makes what stands between a source and one subscriber."""
    if issubclass(mutant, MappingInOrder):
        return partial(mutant, lambda element: element)
    return partial(mutant, 3) if issubclass(mutant, Take) else mutant
