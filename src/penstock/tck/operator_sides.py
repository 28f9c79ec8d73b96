"""The two sides of an operator, as the checks of publishers and of subscribers work with them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any, Final

from penstock.api import Publisher, Subscriber
from penstock.runtime import shorten
from penstock.tck.claims import NotClaimed, PublisherClaims, SubscriberClaims
from penstock.tck.probe import Probe
from penstock.tck.publisher_fixture import PublisherFixture
from penstock.tck.stream import Stream
from penstock.tck.subscriber_fixture import SubscriberFixture
from penstock.tck.upstream import Upstream

if TYPE_CHECKING:
    from penstock.tck.operator_fixture import OperatorFixture

__all__ = [
    "DownstreamSide",
    "UpstreamSide",
    "inputs_for",
]

REACH: Final = 16
"""So many elements may go in for each that comes out."""
FAR: Final = 64
"""And so many for the first one."""


def inputs_for(wanted: int, size: Callable[[int], int], least: int = 0) -> int:
    """How many to send, at least ``least``, so that ``wanted`` come out.

    Where no number does, as few less than that come out as can be, or else as few more. ``size``
    tells how many come out, which must not shrink as more go in.
    """
    most = max(wanted, least)
    if size(most) == wanted:
        return most
    limit = max(REACH * wanted, FAR, least)
    while size(most) < wanted and most < limit:
        most = min(2 * most + 1, limit)
    target = min(wanted, size(most))
    first = least + bisect_left(range(least, most), target, key=size)
    return first - 1 if size(first) > wanted and first > least else first


ENOUGH_TO_OVERFLOW: Final = 1_000
"""Elements that overflow the stack if each of them makes it grow, through two parties."""


class DownstreamSide(PublisherFixture):
    """What comes out of an operator: a publisher of as many elements as that can make."""

    def __init__(self, fixture: OperatorFixture) -> None:
        self._fixture = fixture
        self._sources: list[Upstream] = []
        super().__init__(fixture.environment, self._applied, self._claims(fixture), fixture.rule)

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
        if not self._fixture.claims.shares:
            return super().probe(**behaviour)
        return OperatorReleasingProbe(self._release, self.environment, self.timeline, **behaviour)

    def _claims(self, fixture: OperatorFixture) -> PublisherClaims:
        given = {
            field.name: getattr(fixture.claims, field.name) for field in fields(PublisherClaims)
        }
        claims = PublisherClaims(**given)
        if claims.failed is None and not fixture.claims.absorbs_errors:
            claims = replace(claims, failed=self._failing)
        return claims

    def _applied(self, elements: int) -> Publisher[Any]:
        source = self._fixture.ending_source(
            self.inputs_for(elements), forgiving=True, held=self._fixture.claims.shares
        )
        self._sources.append(source)
        return self._fixture.applied(source)

    def _failing(self) -> Publisher[Any]:
        elements = 0 if self._fixture.claims.cancels_early else 1  # or else it may complete
        source = self._fixture.source(elements=elements, ending="on_error", forgiving=True)
        return self._fixture.applied(source)

    def _release(self) -> None:
        for source in self._sources:
            source.release()

    def inputs_for(self, elements: int) -> int:
        """How many elements go in for as many to come out, or for as many as can."""
        return inputs_for(elements, self._size, self._fixture.claims.needs_elements)

    def _size(self, inputs: int) -> int:
        if self._fixture.claims.expected is None:
            return inputs
        return len(self._fixture.outcome(inputs))


class OperatorReleasingProbe(Probe):
    """Lets the source of several subscribers begin to send when one of them requests something.

    That happens on the thread that requests.
    """

    def __init__(self, release: Callable[[], None], *arguments: Any, **behaviour: Any) -> None:
        super().__init__(*arguments, **behaviour)
        self._release = release

    def request(self, n: Any) -> None:
        """Ask for ``n`` more."""
        self._release()
        super().request(n)


class DownstreamTail:
    """Downstream of an operator whose upstream side is judged: shows what that has processed.

    It takes one element after the other, and is what a user of the operator steers it with. All
    calls of the subject are on the thread of the check.
    """

    def __init__(self, fixture: OperatorFixture) -> None:
        self._fixture = fixture
        self.probe = fixture.as_publisher.probe(request=1, each=1, name="downstream")

    def join(self, source: Publisher[Any]) -> None:
        """Apply the operator to ``source``, and subscribe."""
        if self._fixture.claims.resubscribes:
            source = FirstOfMany(self._fixture, source)
        self._fixture.as_publisher.subscribe(self._fixture.applied(source), self.probe)

    def on_subscribe(self, subscription: Any) -> None:
        """Hand this to the subscriber that the operator makes for its source."""
        source = Nowhere()
        self._fixture.applied(source).subscribe(self.probe)
        if not self._fixture.environment.reaches(lambda: source.subscriber is not None):
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
        """Remember the subscriber, which gets its subscription later."""
        self.subscriber = subscriber


class FirstOfMany:
    """Stands for a source to which the operator subscribes again and again.

    The first stream is the one that a check leads. The others send nothing.
    """

    def __init__(self, fixture: OperatorFixture, source: Publisher[Any]) -> None:
        self._fixture = fixture
        self._first = source
        self._subscribers: list[Subscriber[Any]] = []

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Start a stream."""
        if any(each is subscriber for each in self._subscribers):
            self._fixture.environment.fail(
                "1.10", "the subscriber was passed to subscribe a second time"
            )
        self._subscribers.append(subscriber)
        is_first = len(self._subscribers) == 1
        (self._first if is_first else self._fixture.source()).subscribe(subscriber)


class UpstreamSide(SubscriberFixture):
    """The subscriber that an operator hands to its source.

    What it has processed is what comes out, which may be known at the end of the stream only.
    """

    def __init__(self, fixture: OperatorFixture) -> None:
        self._fixture = fixture
        super().__init__(
            fixture.environment,
            lambda: DownstreamTail(fixture),
            _subscriber_claims(fixture),
            fixture.rule,
        )
        self.timeline = fixture.timeline

    def at_most(self, elements: int) -> int:
        """So many elements, or as many as the operator takes, or as show that the stack grows."""
        return min(elements, ENOUGH_TO_OVERFLOW, self._stops_after())

    def short_of_the_end(self, elements: int) -> int:
        """So many elements, or as many as leave the operator subscribed."""
        return min(elements, self._stops_after() - 1)

    def expect_received(self, stream: Stream, *, in_order: bool = False) -> None:
        """Wait until all that was sent has had its effect."""
        fixture, probe = self._fixture, stream.subject.probe
        if fixture.claims.expected is not None and not stream.over and not stream.spy.cancelled:
            stream.complete()
        if fixture.claims.resubscribes or fixture.fails(stream.sent):
            return
        wanted = fixture.out(list(stream.sent))
        came = self.environment.reaches(lambda: len(probe.elements) >= len(wanted))
        sent, got = shorten(stream.sent), shorten(probe.elements)
        self.require(
            came and fixture.begins(list(probe.elements), wanted),
            f"{sent} was sent, {shorten(wanted)} was to come out, and {got} did",
        )

    def _stops_after(self) -> int:
        """After how many elements the operator cancels, as far as can be told from outside."""
        if not self._fixture.claims.cancels_early:
            return ENOUGH_TO_OVERFLOW
        final = self._fixture.outcome(FAR)
        least = self._fixture.claims.needs_elements
        has_all = bisect_left(
            range(least, FAR), True, key=lambda n: self._fixture.outcome(n) == final
        )
        return max(least + has_all, 1)


def _subscriber_claims(fixture: OperatorFixture) -> SubscriberClaims:
    claims = fixture.claims
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


def _tail(subject: object) -> DownstreamTail:
    assert isinstance(subject, DownstreamTail)
    return subject


def _has_completed(probe: Probe, may_fail: bool) -> bool:
    return probe.ended if may_fail else probe.completed
