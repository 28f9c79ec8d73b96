"""Checks for operators that keep the context of the subscriber, which no rule asks of them."""

from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import Any, Final

from penstock.api import Subscriber, Subscription
from penstock.tck.checks.suites import OPERATOR
from penstock.tck.claims import NotClaimed
from penstock.tck.operator_fixture import OperatorFixture
from penstock.tck.probe import Probe
from penstock.tck.upstream import Upstream

FEW: Final = 4

_whose: ContextVar[str | None] = ContextVar("_whose", default=None)


@OPERATOR.check("4.1", needs="keeps_context")
def keeps_the_context_of_the_subscriber(fixture: OperatorFixture) -> None:
    """Subscribes and requests in a context of its own; all signals and calls come in that one.

    Copy the context where you hand work to another thread, and run the work in the copy.
    """
    _Stream(fixture).take_all()


@OPERATOR.check("4.1", needs="keeps_context")
def calls_its_function_in_the_context_of_the_subscriber(fixture: OperatorFixture) -> None:
    """Subscribes and requests in a context of its own; the operator's function runs in that one.

    Copy the context where you hand a function to another thread, and call it in the copy.
    """
    watched = fixture.claims.watched
    if watched is None:
        raise NotClaimed("needs the claim watched")
    stream = _Stream(fixture)
    stream.take_all(lambda source: watched(source, lambda: stream.check("its function")))
    fixture.require("its function" in stream.seen, "its function was never called")


class _Stream:
    """A stream through the operator whose subscriber has a context of its own."""

    def __init__(self, fixture: OperatorFixture) -> None:
        self._fixture = fixture
        self.seen: dict[str, None] = {}

    def check(self, what: str) -> None:
        """This runs now; it must be in the context of the subscriber."""
        self.seen[what] = None
        self._fixture.require(
            _whose.get() == "the subscriber", f"{what} ran outside of the context of the subscriber"
        )

    def take_all(self, apply: Any = None) -> None:
        """Take a whole stream, in that context."""
        context = copy_context()
        context.run(_whose.set, "the subscriber")
        probe = context.run(self._begin, apply)
        self._fixture.environment.reaches(lambda: probe.ended)
        self._fixture.require(probe.ended, "the stream did not come to its end")

    def _begin(self, apply: Any) -> Probe:
        fixture = self._fixture
        elements = fixture.enough(FEW)
        source = _Source(
            self, fixture.environment, fixture.timeline, elements, fixture.claims.element
        )
        probe = _Probe(self, fixture.environment, fixture.timeline)
        fixture.as_publisher.subscribe(fixture.applied(source, apply), probe)
        for _ in range(len(fixture.outcome(elements)) + 1):
            probe.request(1)
        return probe


class _Source(Upstream):
    """Checks in which context it is subscribed to, and its elements are requested."""

    def __init__(
        self, stream: _Stream, environment: Any, timeline: Any, elements: int, element: Any
    ) -> None:
        def make(number: int) -> Any:
            stream.check("request upstream")  # it sends from within
            return element(number)

        super().__init__(
            environment, timeline, elements=elements, element=make, ending="on_complete"
        )
        self._stream = stream

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Start a stream."""
        self._stream.check("subscribe upstream")
        super().subscribe(subscriber)


class _Probe(Probe):
    """Checks in which context its signals come."""

    def __init__(self, stream: _Stream, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._stream = stream

    def on_subscribe(self, subscription: Subscription) -> None:
        self._stream.check("on_subscribe")
        super().on_subscribe(subscription)

    def on_next(self, element: Any) -> None:
        self._stream.check("on_next")
        super().on_next(element)

    def on_complete(self) -> None:
        self._stream.check("on_complete")
        super().on_complete()
