"""What a check of a processor works with: the processor, and the kit's parties on both sides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NoReturn

from penstock.api import Publisher, Subscriber
from penstock.core.timeline import Timeline
from penstock.runtime import shorten
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.claims import NotClaimed, ProcessorClaims, PublisherClaims, SubscriberClaims
from penstock.tck.probe import Probe
from penstock.tck.publisher_fixture import PublisherFixture, are_equal
from penstock.tck.report import FACTORY
from penstock.tck.stream import Stream
from penstock.tck.subscriber_fixture import SIGNALS, SubscriberFixture
from penstock.tck.upstream import Upstream, UpstreamStream

__all__ = ["ProcessorFixture", "ProcessorPipe"]

ENOUGH_TO_OVERFLOW: Final = 1_000
"""Elements that overflow the stack if each of them makes it grow, through two parties."""


@dataclass
class ProcessorPipe:
    """A processor, the stream into it, and a subscriber to what comes out."""

    processor: Any
    upstream: UpstreamStream
    downstream: Probe


class ProcessorFixture:
    """A processor under test.

    ``as_publisher`` and ``as_subscriber`` are the fixtures on which the checks of publishers and of
    subscribers work with its two sides. The factory and the functions of the claims are called on
    the thread of the check; so is the processor, and on several by checks about concurrency.
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        factory: Callable[[], Any],
        claims: ProcessorClaims,
        rule: str,
    ) -> None:
        self.environment = environment
        self.claims = claims
        self._factory = factory
        self.rule = rule
        self._upstream_of: list[tuple[Any, Upstream]] = []
        self._probe_of: list[tuple[Any, Probe]] = []
        self.as_publisher = PublisherSide(self, self._publisher_claims())
        self.as_subscriber = SubscriberSide(self)
        self.timeline: Timeline = self.as_publisher.timeline
        self.as_subscriber.timeline = self.timeline

    def exercise(self) -> set[int]:
        """Use the subject for a moment; the threads from which it called."""
        processor = self.fed_processor(3)
        probe = self.as_publisher.join(processor)
        probe.request(2)
        self.environment.reaches(lambda: len(probe.elements) >= 2)
        probe.cancel()
        self.environment.settle()
        callers = probe.callers | self._upstream(processor).callers
        return callers - {threading.get_native_id()}

    # What a check says.

    def fail(self, message: str) -> NoReturn:
        """The rule of this check is broken."""
        self.environment.fail(self.rule, message)

    def require(self, holds: bool, message: str) -> None:
        """The rule of this check is broken, unless ``holds``."""
        if not holds:
            self.fail(message)

    # The subject, between parties of the kit.

    def processor(self) -> Any:
        """A processor, from the factory."""
        return self._checked("factory()", self._factory)

    def processor_from(self, source: Publisher[Any]) -> Any:
        """A processor that knows its source, from the claim ``from_source``."""
        make = self.claims.from_source
        assert make is not None
        return self._checked("from_source(publisher)", lambda: make(source))

    def upstream(self, processor: Subscriber[Any] | None = None, **options: Any) -> Upstream:
        """A publisher, to which ``processor`` is subscribed."""
        options = {"element": self.claims.element, **options}
        upstream = Upstream(self.environment, self.timeline, **options)
        if processor is not None:
            upstream.subscribe(processor)
            self._upstream_of.append((processor, upstream))
        return upstream

    def pipe(self, *, strict: bool = False, **behaviour: Any) -> ProcessorPipe:
        """A processor with a stream that does what the check says, and one subscriber."""
        processor = self.processor()
        (upstream,) = self.upstream(processor, strict=strict).streams
        return ProcessorPipe(processor, upstream, self.as_publisher.join(processor, **behaviour))

    # What a check expects.

    def await_demand(self, upstream: Stream) -> None:
        """Wait until an element may be sent into the processor."""
        self.require(
            self.environment.reaches(lambda: upstream.demand > 0 or upstream.spy.cancelled),
            f"{upstream.spy.requested} elements were requested from upstream, and all were sent",
        )
        self.require(not upstream.spy.cancelled, "upstream was cancelled")

    def feed(self, upstream: UpstreamStream, elements: int) -> None:
        """Send so many elements into the processor, each as soon as there is demand for it."""
        for _ in range(elements):
            self.await_demand(upstream)
            upstream.next()

    def fill(self, upstream: UpstreamStream, elements: int) -> None:
        """Send up to so many elements, as long as the processor asks for more."""
        for _ in range(elements):
            if not self.environment.reaches(lambda: upstream.demand > 0 or upstream.spy.cancelled):
                return
            upstream.send_next()

    def expect_passed_on(self, upstream: Stream, probe: Probe, elements: int) -> None:
        """Wait for so many elements; they must be the first ones that went in, in order."""
        if not self.as_publisher.comes(probe, elements):
            got = len(probe.elements)
            self.fail(f"{elements} elements went in and were requested, and {got} came out")
        self.expect_in_order(upstream, probe)

    def expect_in_order(self, upstream: Stream, probe: Probe) -> None:
        """What has come out must be what went in first."""
        wanted = [self.claims.out(element) for element in upstream.sent[: len(probe.elements)]]
        same = len(wanted) == len(probe.elements) and all(map(are_equal, wanted, probe.elements))
        self.require(same, f"{shorten(wanted)} was to come out, and {shorten(probe.elements)} did")

    # How the two sides are set up.

    def _checked(self, what: str, make: Callable[[], Any]) -> Any:
        subject = self.environment.call(what, FACTORY, make)
        names = (*SIGNALS, "subscribe")
        missing = [name for name in names if not callable(getattr(subject, name, None))]
        if missing:
            it = f"{shorten(subject)}, which has no {', '.join(missing)}"
            self.environment.fail(FACTORY, f"{what} returned {it}")
        return subject

    def _publisher_claims(self) -> PublisherClaims:
        given = {field.name: getattr(self.claims, field.name) for field in fields(PublisherClaims)}
        claims = PublisherClaims(**given)
        if claims.failed is None and not self.claims.recovers:
            claims = replace(claims, failed=self._failing_processor)
        if claims.closed is None:
            claims = replace(claims, closed=lambda each: self._upstream(each).closings)
        return claims

    def fed_processor(self, elements: int) -> Any:
        """A processor with a stream of so many elements upstream."""
        processor = self.processor()
        eager = self.claims.completes_eagerly
        self.upstream(processor, elements=elements, ending="on_complete", at_once=eager, held=True)
        return processor

    def _failing_processor(self) -> Any:
        processor = self.processor()
        self.upstream(processor, elements=1, ending="on_error", held=True)
        return processor

    def processor_with_probe(self) -> Any:
        """A processor whose subscriber takes one element after the other."""
        processor = self.processor()
        probe = self.as_publisher.join(processor, request=1, each=1, name="downstream")
        self._probe_of.append((processor, probe))
        return processor

    def _upstream(self, processor: Any) -> Upstream:
        return next(upstream for owner, upstream in self._upstream_of if owner is processor)

    def probe_of(self, processor: Any) -> Probe:
        """The subscriber of a processor that was made with one."""
        return next(probe for owner, probe in self._probe_of if owner is processor)

    def release(self) -> None:
        """Let the streams from upstream begin to send."""
        for _, upstream in self._upstream_of:
            upstream.release()

    def need_no_recovery(self) -> None:
        """Nothing can be said by this check of a processor that recovers."""
        if self.claims.recovers:
            raise NotClaimed("the subject recovers from errors")


class PublisherSide(PublisherFixture):
    """The downstream side of a processor.

    Upstream begins to send with the first request of a subscriber. Otherwise all of
    the stream could have gone into an eager processor before the second subscriber came.
    """

    def __init__(self, fixture: ProcessorFixture, claims: PublisherClaims) -> None:
        self._fixture = fixture
        super().__init__(fixture.environment, fixture.fed_processor, claims, fixture.rule)

    def probe(self, **behaviour: Any) -> Probe:
        """A subscriber that is not subscribed yet."""
        return ProcessorReleasingProbe(self._fixture, self.timeline, **behaviour)


class ProcessorReleasingProbe(Probe):
    """Lets the streams from upstream begin to send when it requests something."""

    def __init__(self, fixture: ProcessorFixture, timeline: Timeline, **behaviour: Any) -> None:
        super().__init__(fixture.environment, timeline, **behaviour)
        self._fixture = fixture

    def request(self, n: Any) -> None:
        """Ask the processor for ``n`` more."""
        self._fixture.release()
        super().request(n)


class SubscriberSide(SubscriberFixture):
    """The upstream side of a processor; what it processes is what comes out downstream."""

    def __init__(self, fixture: ProcessorFixture) -> None:
        self._fixture = fixture
        super().__init__(
            fixture.environment,
            fixture.processor_with_probe,
            _subscriber_claims(fixture),
            fixture.rule,
        )

    def at_most(self, elements: int) -> int:
        """So many elements, or as many as show whether the stack grows."""
        return min(elements, ENOUGH_TO_OVERFLOW)

    def received(self, stream: Stream) -> list[Any]:
        """The elements that came out, as those that went in, where these agree."""
        out = super().received(stream)
        wanted = map(self._fixture.claims.out, stream.sent)
        return [
            sent if are_equal(got, want) else got
            for got, want, sent in zip(out, wanted, stream.sent, strict=False)
        ] + out[len(stream.sent) :]


def _subscriber_claims(fixture: ProcessorFixture) -> SubscriberClaims:
    claims = fixture.claims
    return SubscriberClaims(
        element=claims.element,
        poison=claims.poison,
        # A cancel from downstream goes upstream only where that is claimed.
        puppet=fixture.probe_of if claims.cancels_upstream else None,
        received=lambda processor: fixture.probe_of(processor).elements,
        in_order=True,
        completed=lambda processor: fixture.probe_of(processor).completed,
        failed=None if claims.recovers else lambda processor: fixture.probe_of(processor).error,
        calls_nothing_cancelled=claims.calls_nothing_cancelled,
    )
