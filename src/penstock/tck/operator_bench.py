"""What a check of an operator works with: the operator, and the kit's parties on both sides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from penstock.api import Publisher
from penstock.demand.timeline import shorten
from penstock.tck.arena import Arena
from penstock.tck.bench import PublisherBench, are_equal
from penstock.tck.claims import PublisherClaims
from penstock.tck.operator_claims import OperatorClaims
from penstock.tck.probe import Probe
from penstock.tck.report import FACTORY
from penstock.tck.upstream import Upstream, UpstreamStream

__all__ = ["OperatorBench", "Pipe"]


@dataclass
class Pipe:
    """An operator between a source and a subscriber."""

    operator: Publisher[Any]
    source: Upstream
    below: Probe


class OperatorBench:
    """An operator under test: ``apply`` makes a publisher of a publisher.

    ``below`` is the bench on which it is one publisher like others.
    """

    def __init__(
        self, arena: Arena, apply: Callable[[Any], Any], claims: OperatorClaims, rule: str
    ) -> None:
        self.arena = arena
        self.claims = claims
        self._apply = apply
        self._rule = rule
        self.below = PublisherBench(arena, lambda n: self.pipe(n).operator, PublisherClaims(), rule)
        self.timeline = self.below.timeline

    def exercise(self) -> set[int]:
        """Use the subject for a moment; the threads from which it called."""
        pipe = self.pipe(6)
        pipe.below.request(2)
        self.arena.reaches(lambda: len(pipe.below.elements) >= 2 or pipe.below.ended)
        pipe.below.cancel()
        self.arena.settle()
        return (pipe.below.callers | pipe.source.callers) - {threading.get_ident()}

    # What a check says.

    def fail(self, message: str) -> NoReturn:
        """The rule of this check is broken."""
        self.arena.fail(self._rule, message)

    def require(self, holds: bool, message: str) -> None:
        """The rule of this check is broken, unless ``holds``."""
        if not holds:
            self.fail(message)

    # The subject, between parties of the kit.

    def source(self, **options: Any) -> Upstream:
        """A publisher to apply the operator to."""
        options = {"element": self.claims.element, **options}
        return Upstream(self.arena, self.timeline, **options)

    def applied(
        self, source: Upstream, apply: Callable[[Any], Any] | None = None
    ) -> Publisher[Any]:
        """The operator, applied to ``source``."""
        return self.below.made("apply(publisher)", lambda: (apply or self._apply)(source))

    def pipe(self, elements: int, *, ending: str = "on_complete", **behaviour: Any) -> Pipe:
        """The operator below a source that sends so many elements as they are requested."""
        at_once = self.claims.completes_eagerly and ending == "on_complete"
        source = self.source(elements=elements, ending=ending, at_once=at_once)
        return self._joined(source, behaviour)

    def led_pipe(self, *, strict: bool = False, **behaviour: Any) -> Pipe:
        """The operator below a source that sends what the check says."""
        return self._joined(self.source(strict=strict), behaviour)

    def _joined(self, source: Upstream, behaviour: dict[str, Any]) -> Pipe:
        operator = self.applied(source)
        return Pipe(operator, source, self.below.join(operator, **behaviour))

    def above(self, pipe: Pipe) -> UpstreamStream:
        """The stream into the operator, to which it must have subscribed by now."""
        if not self.arena.reaches(lambda: bool(pipe.source.streams)):
            self.arena.fail("1.9", "the operator did not subscribe to its source")
        return pipe.source.streams[0]

    # Elements.

    def elements(self, count: int) -> list[Any]:
        """The first elements that go in."""
        make = self.claims.element
        return self.arena.call("element(n)", FACTORY, lambda: [make(n) for n in range(count)])

    def out(self, elements: list[Any]) -> list[Any]:
        """What is to come out of a stream of these elements."""
        return self.arena.call("model(elements)", FACTORY, lambda: self.claims.out(elements))

    def outcome(self, count: int) -> list[Any]:
        """What is to come out of a stream of so many elements."""
        return self.out(self.elements(count))

    def fill(self, above: UpstreamStream, elements: int) -> None:
        """Send up to so many elements, as long as there is demand for more."""
        for _ in range(elements):
            if not self.arena.reaches(lambda: above.demand > 0 or above.spy.cancelled):
                return
            above.send_next()

    # What a check expects.

    def expect_out(self, probe: Probe, wanted: list[Any]) -> None:
        """Wait for all that is to come out, and nothing else."""
        if not self.below.comes(probe, len(wanted)):
            got = f"{len(probe.elements)} of {len(wanted)} elements came out"
            self.fail(f"{got}: {shorten(probe.elements)}")
        self.expect_beginning(probe, wanted)

    def expect_beginning(self, probe: Probe, wanted: list[Any]) -> None:
        """What has come out must be what was to come out first."""
        got = list(probe.elements)
        same = len(got) <= len(wanted) and all(map(are_equal, got, wanted))
        self.require(same, f"{shorten(wanted[: len(got)])} was to come out, {shorten(got)} did")

    def expect_end(self, probe: Probe) -> None:
        """Wait for on_complete, for which an operator may want demand."""
        self.arena.settle()
        if not probe.ended and not self.claims.completes_eagerly:
            probe.request(1)
        self.below.expect_completion(probe)

    def is_left(self, above: UpstreamStream) -> bool:
        """Whether the operator is done with a stream, one way or the other."""
        return above.spy.cancelled or above.over
