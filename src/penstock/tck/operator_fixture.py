"""What a check of an operator works with: the operator, and the kit's parties on both sides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock.api import Publisher
from penstock.runtime import shorten
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.claims import NotClaimed, OperatorClaims
from penstock.tck.operator_sides import DownstreamSide, UpstreamSide
from penstock.tck.probe import Probe
from penstock.tck.publisher_fixture import are_equal
from penstock.tck.report import FACTORY
from penstock.tck.upstream import Upstream, UpstreamStream

__all__ = ["OperatorFixture", "OperatorPipe"]


@dataclass
class OperatorPipe:
    """An operator between a source and a subscriber."""

    operator: Publisher[Any]
    source: Upstream
    downstream: Probe


class OperatorFixture:
    """An operator under test: ``apply`` makes a publisher of a publisher.

    ``as_publisher`` and ``as_subscriber`` are the fixtures on which the checks of publishers and of
    subscribers work with its two sides. ``apply`` and the functions of the claims are called on the
    thread of the check; so is what they make, and on several at once by checks about concurrency.
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        apply: Callable[[Any], Any],
        claims: OperatorClaims,
        rule: str,
    ) -> None:
        self.environment = environment
        self.claims = claims
        self.rule = rule
        self._apply = apply
        self.as_publisher = DownstreamSide(self)
        self.timeline = self.as_publisher.timeline
        self.as_subscriber = UpstreamSide(self)

    def exercise(self) -> set[int]:
        """Use the subject for a moment; the threads from which it called."""
        pipe = self.pipe(max(6, self.claims.needs_elements))
        pipe.downstream.request(2)
        self.environment.reaches(
            lambda: len(pipe.downstream.elements) >= 2 or pipe.downstream.ended
        )
        pipe.downstream.cancel()
        self.environment.settle()
        return (pipe.downstream.callers | pipe.source.callers) - {threading.get_native_id()}

    # What a check says.

    def fail(self, message: str) -> NoReturn:
        """The rule of this check is broken."""
        self.environment.fail(self.rule, message)

    def require(self, holds: bool, message: str) -> None:
        """The rule of this check is broken, unless ``holds``."""
        if not holds:
            self.fail(message)

    # The subject, between parties of the kit.

    def source(self, **options: Any) -> Upstream:
        """A publisher to apply the operator to."""
        options = {"element": self.claims.element, **options}
        return Upstream(self.environment, self.timeline, **options)

    def ending_source(self, elements: int, **options: Any) -> Upstream:
        """A publisher that completes after so many elements."""
        eager = self.claims.completes_eagerly
        return self.source(elements=elements, ending="on_complete", at_once=eager, **options)

    def applied(
        self, source: Publisher[Any], apply: Callable[[Any], Any] | None = None
    ) -> Publisher[Any]:
        """The operator, applied to ``source``."""
        return self.as_publisher.made("apply(publisher)", lambda: (apply or self._apply)(source))

    def pipe(self, elements: int, **behaviour: Any) -> OperatorPipe:
        """The operator downstream of a source that sends so many elements as they are requested."""
        return self.joined(self.ending_source(elements), **behaviour)

    def led_pipe(self, *, strict: bool = False, **behaviour: Any) -> OperatorPipe:
        """The operator downstream of a source that sends what the check says."""
        return self.joined(self.source(strict=strict), **behaviour)

    def joined(
        self, source: Upstream, apply: Callable[[Any], Any] | None = None, **behaviour: Any
    ) -> OperatorPipe:
        """The operator between ``source`` and a new subscriber."""
        operator = self.applied(source, apply)
        return OperatorPipe(operator, source, self.as_publisher.join(operator, **behaviour))

    def upstream_of(self, pipe: OperatorPipe) -> UpstreamStream:
        """The stream into the operator, to which it must have subscribed by now."""
        if not self.environment.reaches(lambda: bool(pipe.source.streams)):
            self.environment.fail("1.9", "the operator did not subscribe to its source")
        return pipe.source.streams[0]

    def complete(self, pipe: OperatorPipe) -> None:
        """Complete the stream into the operator, unless that has left it already."""
        upstream = self.upstream_of(pipe)
        if not self.is_left(upstream):
            upstream.complete()
        if self.claims.resubscribes:
            self.environment.settle()
            self.need_one_stream(pipe)

    def need_one_stream(self, pipe: OperatorPipe) -> None:
        """Nothing can be said of the end if the operator has subscribed once more after it."""
        if len(pipe.source.streams) > 1:
            raise NotClaimed("the subject subscribes again when a stream has completed")

    # Elements.

    def elements(self, count: int) -> list[Any]:
        """The first elements that go in."""
        make = self.claims.element
        return self.environment.call("element(n)", FACTORY, lambda: [make(n) for n in range(count)])

    def out(self, elements: list[Any]) -> list[Any]:
        """What is to come out of a stream of these elements."""
        return self.environment.call(
            "expected(elements)", FACTORY, lambda: self.claims.out(elements)
        )

    def outcome(self, count: int) -> list[Any]:
        """What is to come out of a stream of so many elements."""
        return self.out(self.elements(count))

    def enough(self, count: int) -> int:
        """So many elements, or as many as the operator needs so that its stream does not fail."""
        return max(count, self.claims.needs_elements)

    def fails(self, elements: list[Any]) -> bool:
        """Whether a stream of these elements only is too short, and ends by an error."""
        return len(elements) < self.claims.needs_elements

    def fill(self, upstream: UpstreamStream, elements: int) -> None:
        """Send up to so many elements, as long as there is demand for more."""
        for _ in range(elements):
            if not self.environment.reaches(lambda: upstream.demand > 0 or upstream.spy.cancelled):
                return
            upstream.send_next()

    # What a check expects.

    def expect_out(self, probe: Probe, wanted: list[Any]) -> None:
        """Wait for all that is to come out and was requested, and nothing else."""
        count = min(len(wanted), probe.requested)
        if not self.as_publisher.comes(probe, count):
            got = f"{len(probe.elements)} of {count} elements came out"
            self.fail(f"{got}: {shorten(probe.elements)}")
        self.expect_beginning(probe, wanted)

    def expect_beginning(self, probe: Probe, wanted: list[Any]) -> None:
        """What has come out must be what was to come out first."""
        got = list(probe.elements)
        shown = f"{shorten(wanted[: len(got)])} was to come out, {shorten(got)} did"
        self.require(self.begins(got, wanted), shown)

    def begins(self, got: list[Any], wanted: list[Any]) -> bool:
        """Whether ``wanted`` begins with what was got, or holds it, if the order is open."""
        if self.claims.in_order:
            return len(got) <= len(wanted) and all(map(are_equal, got, wanted))
        left = list(wanted)
        for element in got:
            place = next((at for at, each in enumerate(left) if are_equal(element, each)), None)
            if place is None:
                return False
            del left[place]
        return True

    def expect_end(self, probe: Probe, elements: list[Any]) -> None:
        """Wait for the end of a stream of these, for which an operator may want demand."""
        self.environment.settle()
        if not probe.ended and not self.claims.completes_eagerly:
            probe.request(1)
        if self.fails(elements):
            self.as_publisher.expect_error(probe, self.rule)
        else:
            self.as_publisher.expect_completion(probe)

    def is_left(self, upstream: UpstreamStream) -> bool:
        """Whether the operator has finished with a stream, one way or the other."""
        return upstream.spy.cancelled or upstream.over
