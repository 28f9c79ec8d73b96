"""The two sides of an operator, as the checks of publishers and of subscribers work with them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.api import Publisher, Subscriber
from penstock.demand.timeline import shorten
from penstock.tck.bench import PublisherBench
from penstock.tck.claims import NotClaimed, PublisherClaims
from penstock.tck.operator_sizes import FAR, inputs_for
from penstock.tck.probe import Probe
from penstock.tck.stream import Stream
from penstock.tck.subscriber_bench import SubscriberBench
from penstock.tck.subscriber_claims import SubscriberClaims
from penstock.tck.upstream import Upstream

if TYPE_CHECKING:
    from penstock.tck.operator_bench import OperatorBench

__all__ = ["LowerSide", "UpperSide"]

ENOUGH_TO_OVERFLOW: Final = 1_000
"""Elements that overflow the stack if each of them makes it grow, through two parties."""


class LowerSide(PublisherBench):
    """What comes out of an operator: a publisher of as many elements as that can make."""

    def __init__(self, bench: OperatorBench) -> None:
        self._bench = bench
        self._sources: list[Upstream] = []
        super().__init__(bench.arena, self._applied, self._claims(bench), bench.rule)

    def at_most(self, elements: int, at_least: int = 0) -> int:
        """So many elements, or as many as can come out."""
        most = self._size(self.inputs_for(min(elements, self.claims.max_elements)))
        if most < at_least:
            raise NotClaimed(f"needs {at_least} elements, and {most} can come out")
        return most

    def failed_publisher(self) -> Publisher[Any]:
        """What comes out of a source that fails."""
        if self.claims.failed is None:
            raise NotClaimed("errors do not come out")
        return super().failed_publisher()

    def probe(self, **behaviour: Any) -> Probe:
        """A subscriber that is not subscribed yet."""
        if not self._bench.claims.shares:
            return super().probe(**behaviour)
        return ReleasingProbe(self._release, self.arena, self.timeline, **behaviour)

    def _claims(self, bench: OperatorBench) -> PublisherClaims:
        given = {field.name: getattr(bench.claims, field.name) for field in fields(PublisherClaims)}
        claims = PublisherClaims(**given)
        if claims.failed is None and not bench.claims.absorbs_errors:
            claims = replace(claims, failed=self._failing)
        return claims

    def _applied(self, elements: int) -> Publisher[Any]:
        source = self._bench.ending_source(
            self.inputs_for(elements), forgiving=True, held=self._bench.claims.shares
        )
        self._sources.append(source)
        return self._bench.applied(source)

    def _failing(self) -> Publisher[Any]:
        return self._bench.applied(self._bench.source(ending="on_error", forgiving=True))

    def _release(self) -> None:
        for source in self._sources:
            source.release()

    def inputs_for(self, elements: int) -> int:
        """How many elements go in for as many to come out, or for as many as can."""
        return inputs_for(elements, self._size, self._bench.claims.needs_elements)

    def _size(self, inputs: int) -> int:
        if self._bench.claims.expected is None:
            return inputs
        return len(self._bench.outcome(inputs))


class ReleasingProbe(Probe):
    """Lets the source of several subscribers begin to send when one of them requests something."""

    def __init__(self, release: Callable[[], None], *arguments: Any, **behaviour: Any) -> None:
        super().__init__(*arguments, **behaviour)
        self._release = release

    def request(self, n: Any) -> None:
        """Ask for ``n`` more."""
        self._release()
        super().request(n)


class Tail:
    """What stands below an operator whose upper side is judged, and shows what that has processed.

    It takes one element after the other, and is what a user of the operator steers it with.
    """

    def __init__(self, bench: OperatorBench) -> None:
        self._bench = bench
        self.probe = bench.below.probe(request=1, each=1, name="below")

    def join(self, source: Publisher[Any]) -> None:
        """Apply the operator to ``source``, and subscribe."""
        if self._bench.claims.resubscribes:
            source = FirstOfMany(self._bench, source)
        self._bench.below.subscribe(self._bench.applied(source), self.probe)

    def on_subscribe(self, subscription: Any) -> None:
        """Hand this to the subscriber that the operator makes for its source."""
        source = Nowhere()
        self._bench.applied(source).subscribe(self.probe)
        if not self._bench.arena.reaches(lambda: source.subscriber is not None):
            raise NotClaimed("the subject did not subscribe to its source")
        assert source.subscriber is not None
        source.subscriber.on_subscribe(subscription)

    def request(self, n: int) -> None:
        """Ask the operator for ``n`` more."""
        self.probe.request(n)

    def cancel(self) -> None:
        """Cancel what comes out of the operator."""
        self.probe.cancel()


class Nowhere:
    """A publisher that has not got round to on_subscribe yet."""

    subscriber: Subscriber[Any] | None = None

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Remember it."""
        self.subscriber = subscriber


class FirstOfMany:
    """Stands for a source to which the operator subscribes again and again.

    The first stream is the one that a check leads. The others send nothing.
    """

    def __init__(self, bench: OperatorBench, source: Publisher[Any]) -> None:
        self._bench = bench
        self._first = source
        self._subscribers: list[Subscriber[Any]] = []

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Start a stream."""
        if any(each is subscriber for each in self._subscribers):
            self._bench.arena.fail("1.10", "the subscriber was passed to subscribe a second time")
        self._subscribers.append(subscriber)
        is_first = len(self._subscribers) == 1
        (self._first if is_first else self._bench.source()).subscribe(subscriber)


class UpperSide(SubscriberBench):
    """The subscriber that an operator hands to its source.

    What it has processed is what comes out, which may be known at the end of the stream only.
    """

    def __init__(self, bench: OperatorBench) -> None:
        self._bench = bench
        super().__init__(bench.arena, lambda: Tail(bench), _claims_above(bench), bench.rule)
        self.timeline = bench.timeline

    def at_most(self, elements: int) -> int:
        """So many elements, or as many as the operator takes, or as show that the stack grows."""
        return min(elements, ENOUGH_TO_OVERFLOW, self._stops_after())

    def short_of_the_end(self, elements: int) -> int:
        """So many elements, or as many as leave the operator subscribed."""
        return min(elements, self._stops_after() - 1)

    def expect_received(self, stream: Stream, *, in_sequence: bool = False) -> None:
        """Wait until all that was sent has had its effect."""
        bench, probe = self._bench, stream.subject.probe
        if bench.claims.expected is not None and not stream.over and not stream.spy.cancelled:
            stream.complete()
        if bench.claims.resubscribes or bench.fails(stream.sent):
            return
        wanted = bench.out(list(stream.sent))
        came = self.arena.reaches(lambda: len(probe.elements) >= len(wanted))
        sent, got = shorten(stream.sent), shorten(probe.elements)
        self.require(
            came and bench.begins(list(probe.elements), wanted),
            f"{sent} was sent, {shorten(wanted)} was to come out, and {got} did",
        )

    def _stops_after(self) -> int:
        """After how many elements the operator cancels, as far as can be told from outside."""
        if not self._bench.claims.cancels_early:
            return ENOUGH_TO_OVERFLOW
        final = self._bench.outcome(FAR)
        least = self._bench.claims.needs_elements
        has_all = bisect_left(
            range(least, FAR), True, key=lambda n: self._bench.outcome(n) == final
        )
        return max(least + has_all, 1)


def _claims_above(bench: OperatorBench) -> SubscriberClaims:
    claims = bench.claims
    may_fail = claims.needs_elements > 0
    ends = not claims.resubscribes
    return SubscriberClaims(
        element=claims.element,
        poison=claims.poison,
        joins=lambda tail, source: _tail(tail).join(source),
        puppet=lambda tail: tail if _tail(tail).probe.subscription is not None else None,
        completed=(lambda tail: _has_completed(_tail(tail).probe, may_fail)) if ends else None,
        failed=None if claims.absorbs_errors else lambda tail: _tail(tail).probe.error,
        calls_nothing_cancelled=claims.calls_nothing_cancelled,
    )


def _tail(subject: object) -> Tail:
    assert isinstance(subject, Tail)
    return subject


def _has_completed(probe: Probe, may_fail: bool) -> bool:
    return probe.ended if may_fail else probe.completed
