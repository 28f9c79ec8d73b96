"""What a check of a processor works with: the processor, and the kit's parties on both sides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, Final, NoReturn

from penstock.api import Publisher, Subscriber
from penstock.demand.timeline import Timeline, shorten
from penstock.tck.arena import Arena
from penstock.tck.bench import PublisherBench, are_equal
from penstock.tck.claims import NotClaimed, PublisherClaims
from penstock.tck.probe import Probe
from penstock.tck.processor_claims import ProcessorClaims
from penstock.tck.report import FACTORY
from penstock.tck.stream import Stream
from penstock.tck.subscriber_bench import SIGNALS, SubscriberBench
from penstock.tck.subscriber_claims import SubscriberClaims
from penstock.tck.upstream import Upstream, UpstreamStream

__all__ = ["Pipe", "ProcessorBench"]

ENOUGH_TO_OVERFLOW: Final = 1_000
"""Elements that overflow the stack if each of them makes it grow, through two parties."""


@dataclass
class Pipe:
    """A processor, the stream into it, and a subscriber to what comes out."""

    processor: Any
    above: UpstreamStream
    below: Probe


class ProcessorBench:
    """A processor under test.

    ``above`` and ``below`` are the benches on which the checks of publishers and of subscribers
    work with its two sides.
    """

    def __init__(
        self, arena: Arena, factory: Callable[[], Any], claims: ProcessorClaims, rule: str
    ) -> None:
        self.arena = arena
        self.claims = claims
        self._factory = factory
        self.rule = rule
        self._upstream_of: list[tuple[Any, Upstream]] = []
        self._probe_of: list[tuple[Any, Probe]] = []
        self.below = PublisherSide(self, self._claims_below())
        self.above = SubscriberSide(self)
        self.timeline: Timeline = self.below.timeline
        self.above.timeline = self.timeline

    def exercise(self) -> set[int]:
        """Use the subject for a moment; the threads from which it called."""
        processor = self.fed_processor(3)
        probe = self.below.join(processor)
        probe.request(2)
        self.arena.reaches(lambda: len(probe.elements) >= 2)
        probe.cancel()
        self.arena.settle()
        callers = probe.callers | self._upstream(processor).callers
        return callers - {threading.get_native_id()}

    # What a check says.

    def fail(self, message: str) -> NoReturn:
        """The rule of this check is broken."""
        self.arena.fail(self.rule, message)

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
        upstream = Upstream(self.arena, self.timeline, **options)
        if processor is not None:
            upstream.subscribe(processor)
            self._upstream_of.append((processor, upstream))
        return upstream

    def pipe(self, *, strict: bool = False, **behaviour: Any) -> Pipe:
        """A processor with a stream that does what the check says, and one subscriber."""
        processor = self.processor()
        (above,) = self.upstream(processor, strict=strict).streams
        return Pipe(processor, above, self.below.join(processor, **behaviour))

    # What a check expects.

    def await_demand(self, above: Stream) -> None:
        """Wait until an element may be sent into the processor."""
        self.require(
            self.arena.reaches(lambda: above.demand > 0 or above.spy.cancelled),
            f"{above.spy.requested} elements were requested from above, and all have been sent",
        )
        self.require(not above.spy.cancelled, "the stream above was cancelled")

    def feed(self, above: UpstreamStream, elements: int) -> None:
        """Send so many elements into the processor, each as soon as there is demand for it."""
        for _ in range(elements):
            self.await_demand(above)
            above.next()

    def fill(self, above: UpstreamStream, elements: int) -> None:
        """Send up to so many elements, as long as the processor asks for more."""
        for _ in range(elements):
            if not self.arena.reaches(lambda: above.demand > 0 or above.spy.cancelled):
                return
            above.send_next()

    def expect_passed_on(self, above: Stream, probe: Probe, elements: int) -> None:
        """Wait for so many elements; they must be the first ones that went in, in sequence."""
        if not self.below.comes(probe, elements):
            got = len(probe.elements)
            self.fail(f"{elements} elements went in and were requested, and {got} came out")
        self.expect_in_sequence(above, probe)

    def expect_in_sequence(self, above: Stream, probe: Probe) -> None:
        """What has come out must be what went in first."""
        wanted = [self.claims.out(element) for element in above.sent[: len(probe.elements)]]
        same = len(wanted) == len(probe.elements) and all(map(are_equal, wanted, probe.elements))
        self.require(same, f"{shorten(wanted)} was to come out, and {shorten(probe.elements)} did")

    # How the two sides are set up.

    def _checked(self, what: str, make: Callable[[], Any]) -> Any:
        subject = self.arena.call(what, FACTORY, make)
        names = (*SIGNALS, "subscribe")
        missing = [name for name in names if not callable(getattr(subject, name, None))]
        if missing:
            it = f"{shorten(subject)}, which has no {', '.join(missing)}"
            self.arena.fail(FACTORY, f"{what} returned {it}")
        return subject

    def _claims_below(self) -> PublisherClaims:
        given = {field.name: getattr(self.claims, field.name) for field in fields(PublisherClaims)}
        claims = PublisherClaims(**given)
        if claims.failed is None and not self.claims.recovers:
            claims = replace(claims, failed=self._failing_processor)
        if claims.closed is None:
            claims = replace(claims, closed=lambda each: self._upstream(each).closings)
        return claims

    def fed_processor(self, elements: int) -> Any:
        """A processor with a stream of so many elements above it."""
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
        probe = self.below.join(processor, request=1, each=1, name="below")
        self._probe_of.append((processor, probe))
        return processor

    def _upstream(self, processor: Any) -> Upstream:
        return next(upstream for owner, upstream in self._upstream_of if owner is processor)

    def probe_of(self, processor: Any) -> Probe:
        """The subscriber of a processor that was made with one."""
        return next(probe for owner, probe in self._probe_of if owner is processor)

    def release(self) -> None:
        """Let the streams above begin to send."""
        for _, upstream in self._upstream_of:
            upstream.release()

    def need_no_recovery(self) -> None:
        """Nothing can be said by this check of a processor that recovers."""
        if self.claims.recovers:
            raise NotClaimed("the subject recovers from errors")


class PublisherSide(PublisherBench):
    """The lower side of a processor.

    What stands above it begins to send with the first request of a subscriber. Otherwise all of
    the stream could have gone into an eager processor before the second subscriber came.
    """

    def __init__(self, bench: ProcessorBench, claims: PublisherClaims) -> None:
        self._bench = bench
        super().__init__(bench.arena, bench.fed_processor, claims, bench.rule)

    def probe(self, **behaviour: Any) -> Probe:
        """A subscriber that is not subscribed yet."""
        return ReleasingProbe(self._bench, self.timeline, **behaviour)


class ReleasingProbe(Probe):
    """Lets the streams above begin to send when it requests something."""

    def __init__(self, bench: ProcessorBench, timeline: Timeline, **behaviour: Any) -> None:
        super().__init__(bench.arena, timeline, **behaviour)
        self._bench = bench

    def request(self, n: Any) -> None:
        """Ask the processor for ``n`` more."""
        self._bench.release()
        super().request(n)


class SubscriberSide(SubscriberBench):
    """The upper side of a processor; what it processes is what comes out below."""

    def __init__(self, bench: ProcessorBench) -> None:
        self._bench = bench
        super().__init__(bench.arena, bench.processor_with_probe, _claims_above(bench), bench.rule)

    def at_most(self, elements: int) -> int:
        """So many elements, or as many as show whether the stack grows."""
        return min(elements, ENOUGH_TO_OVERFLOW)

    def received(self, stream: Stream) -> list[Any]:
        """The elements that came out, as those that went in, where these agree."""
        out = super().received(stream)
        wanted = map(self._bench.claims.out, stream.sent)
        return [
            sent if are_equal(got, want) else got
            for got, want, sent in zip(out, wanted, stream.sent, strict=False)
        ] + out[len(stream.sent) :]


def _claims_above(bench: ProcessorBench) -> SubscriberClaims:
    claims = bench.claims
    return SubscriberClaims(
        element=claims.element,
        poison=claims.poison,
        # A cancel below reaches the stream above only where that is claimed.
        puppet=bench.probe_of if claims.cancels_upstream else None,
        received=lambda processor: bench.probe_of(processor).elements,
        in_sequence=True,
        completed=lambda processor: bench.probe_of(processor).completed,
        failed=None if claims.recovers else lambda processor: bench.probe_of(processor).error,
        calls_nothing_cancelled=claims.calls_nothing_cancelled,
    )
