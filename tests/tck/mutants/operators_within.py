"""Operators that are not ready for calls from within on_subscribe, or from within on_next."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

from tests.tck.mutants import processor_sides, processors
from tests.tck.mutants.operators import Claims, fail_at_two
from tests.tck.mutants.sound_operators import Buffered, InOrder, MappingInOrder, Through
from tests.tck.mutants.sound_processors import KnowsItsCaller


class SwallowsWhatItsFunctionRaisesInOnSubscribe(KnowsItsCaller, MappingInOrder):
    """1.4: falls silent when its function raises, if all was requested in on_subscribe."""

    claims: ClassVar[Claims] = {
        "failing": lambda source: Through(
            source, partial(SwallowsWhatItsFunctionRaisesInOnSubscribe, fail_at_two)
        )
    }
    places: ClassVar[set[str]] = {"on_subscribe"}

    def end(self, signal: str, *arguments: Any) -> None:
        if self.requested_in == self.places and isinstance(self.error, LookupError):
            self.subscriber = None
            self.release()
        else:
            super().end(signal, *arguments)


class SwallowsWhatItsFunctionRaisesInOnNext(SwallowsWhatItsFunctionRaisesInOnSubscribe):
    """1.4: falls silent when its function raises, if something was requested in on_next."""

    claims: ClassVar[Claims] = {
        "failing": lambda source: Through(
            source, partial(SwallowsWhatItsFunctionRaisesInOnNext, fail_at_two)
        )
    }
    places: ClassVar[set[str]] = {"on_subscribe", "on_next"}


class AsksTwiceInOnSubscribe(KnowsItsCaller, Buffered):
    """2.1: asks for more ahead of time if something was requested in on_subscribe."""

    claims: ClassVar[Claims] = {"prefetch": 4}

    def wanted(self) -> int:
        return super().wanted() + self.ROOM * ("on_subscribe" in self.requested_in)


class CancelsAfterTheEndInOnNext(Buffered, processor_sides.CancelsAfterTheEndInOnNext):
    """2.4: passes a cancel from within on_next on to a source that has completed."""


class RequestsAfterTheEndInOnNext(Buffered, processor_sides.RequestsAfterTheEndInOnNext):
    """2.4: passes a request from within on_next on to a source that has completed."""


class LeavesTheSourceOpenInOnSubscribe(KnowsItsCaller, MappingInOrder):
    """2.6: does not cancel when its function raises, if all was requested in on_subscribe."""

    claims: ClassVar[Claims] = {
        "failing": lambda source: Through(
            source, partial(LeavesTheSourceOpenInOnSubscribe, fail_at_two)
        )
    }
    places: ClassVar[set[str]] = {"on_subscribe"}

    def release(self) -> None:
        if self.error is None or self.requested_in != self.places:
            super().release()


class LeavesTheSourceOpenInOnNext(LeavesTheSourceOpenInOnSubscribe):
    """2.6: does not cancel when its function raises, if something was requested in on_next."""

    claims: ClassVar[Claims] = {
        "failing": lambda source: Through(source, partial(LeavesTheSourceOpenInOnNext, fail_at_two))
    }
    places: ClassVar[set[str]] = {"on_subscribe", "on_next"}


class StaysSubscribedInOnSubscribe(processors.StaysSubscribedInOnSubscribe, InOrder):
    """2.6: does not pass on a cancel from within on_subscribe."""

    claims: ClassVar[Claims] = {}


class StaysSubscribedInOnNext(processors.StaysSubscribedInOnNext, InOrder):
    """2.6: does not pass on a cancel from within on_next."""

    claims: ClassVar[Claims] = {}


class PassesEachCancelOnInOnSubscribe(KnowsItsCaller, InOrder):
    """3.5: passes each cancel on, if the first one came in on_subscribe."""

    source: Any = None

    def on_subscribe(self, subscription: Any) -> None:
        self.source = self.source or subscription
        super().on_subscribe(subscription)

    def cancel(self) -> None:
        super().cancel()
        if self.source is not None and self.cancelled_in == "on_subscribe":
            self.source.cancel()


class KeepsElementsAfterCancelInOnNext(InOrder):
    """3.13: clears what it has seen when it is cancelled, and then adds what it has just sent."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Any] = []

    def deliver(self) -> bool:
        element = self.held[0]
        delivered = super().deliver()
        self.seen.append(element)
        return delivered

    def cancel(self) -> None:
        self.seen.clear()
        super().cancel()

    def end(self, signal: str, *arguments: Any) -> None:
        self.seen.clear()
        super().end(signal, *arguments)


class DropsSilentlyInOnNext(Through):
    """4.1: keeps account of what it discards, except for a cancel from within on_next."""

    claims: ClassVar[Claims] = {"discarded": lambda operator: operator.discarded}

    def __init__(self, source: Any) -> None:
        super().__init__(source, self.stage)
        self.discarded: list[Any] = []

    def stage(self) -> Any:
        stage = ForgetfulStage()
        self.discarded = stage.discarded
        return stage


class ForgetfulStage(KnowsItsCaller, Buffered):
    def release(self) -> None:
        if self.cancelled_in == "on_next":
            self.held.clear()
        self.discarded.extend(self.held)
        InOrder.release(self)
