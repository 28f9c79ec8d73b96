"""What a check of a subscriber works with: the subject, new in each run, and its streams."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

from penstock.api import Subscriber
from penstock.core.timeline import Timeline
from penstock.runtime import shorten
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.claims import NotClaimed, SubscriberClaims
from penstock.tck.report import FACTORY
from penstock.tck.spy import current_signal
from penstock.tck.stream import EagerStream, Stream

__all__ = ["SubscriberFixture"]

SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")
READINESS = ("2.8", "2.9", "2.10", "3.10", "3.11")
"""Rules that want a subscriber to be ready for a signal: one that raises then breaks these."""
PATIENCE = 11
"""How often nothing must happen any more until nothing will."""
BURST = 0.01
"""Seconds for a call to come while the rest of the subject is still busy."""


class SubscriberFixture:
    """A subscriber under test.

    The factory and the functions of the claims are called on the thread of the check. Signals come
    one at a time, on that thread or on a new one each; the puppet is used on several threads at
    once where it claims so.
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        factory: Callable[[], Any],
        claims: SubscriberClaims,
        rule: str,
    ) -> None:
        self.environment = environment
        self.claims = claims
        self.timeline = Timeline(now=environment.now)
        self._factory = factory
        self._rule = rule

    def exercise(self) -> set[int]:
        """Use the subject for a moment; the threads from which it called."""
        completed, failed = self.join(), self.join()
        self._exercise(completed)
        self.environment.settle()
        completed.complete()
        failed.fail()
        self.environment.settle()
        return (completed.spy.callers | failed.spy.callers) - {threading.get_native_id()}

    def _exercise(self, stream: Stream) -> None:
        if self.claims.puppet is not None and self._puppet(stream) is not None:
            self.pull(stream, 2)
        while len(stream.sent) < self.at_most(2):
            if not self.environment.reaches(lambda: stream.demand > 0) or stream.spy.cancelled:
                return
            stream.next()

    # What a check says.

    def fail(self, message: str) -> NoReturn:
        """The rule of this check is broken."""
        self.environment.fail(self._rule, message)

    def require(self, holds: bool, message: str) -> None:
        """The rule of this check is broken, unless ``holds``."""
        if not holds:
            self.fail(message)

    # The subject and its streams.

    def subscriber(self) -> Any:
        """A subscriber, from the factory."""
        return self.environment.call("factory()", FACTORY, self._factory)

    def join(self, **behaviour: Any) -> Stream:
        """A new subscriber, and a stream to it that is open and nothing more."""
        subject = self.subscriber()
        publisher = SpyPublisher(self, subject, behaviour)
        joins = self.claims.joins
        if joins is None:
            publisher.subscribe(subject)
        else:
            self.environment.call("joins", FACTORY, lambda: joins(subject, publisher))
            if not self.environment.reaches(lambda: bool(publisher.streams)):
                self.environment.fail(FACTORY, "joins did not call subscribe of the publisher")
        return publisher.streams[0]

    def join_eager(self, **behaviour: Any) -> EagerStream:
        """The same, and the stream sends from within ``request``."""
        stream = self.join(**behaviour)
        assert isinstance(stream, EagerStream)
        return stream

    def join_again(self, stream: Stream) -> Stream:
        """Send a second ``on_subscribe`` to the same subscriber."""
        second = self.stream(stream.subscriber, rule="2.5", name="second", surplus=True)
        second.open()
        return second

    def stream(self, subscriber: Subscriber[Any], **behaviour: Any) -> Stream:
        """A stream that is not open yet."""
        missing = [name for name in SIGNALS if not callable(getattr(subscriber, name, None))]
        if missing:
            what = f"{shorten(subscriber)}, which has no {', '.join(missing)}"
            self.environment.fail(FACTORY, f"the subscriber is {what}")
        rule = self._rule if self._rule in READINESS else "2.13"
        kind = EagerStream if "limit" in behaviour else Stream
        behaviour = {"element": self.claims.element, "rule": rule, **behaviour}
        stream = kind(self.environment, self.timeline, subscriber, **behaviour)
        self.environment.at_end(stream.close)
        return stream

    def come_to_rest(self) -> None:
        """Let the subject finish what it has begun, timers and all."""
        for _ in range(PATIENCE):
            self.environment.settle()

    # Elements.

    def at_most(self, elements: int) -> int:
        """So many elements, or as many as the subject takes before it stops on its own."""
        stops_after = self.claims.stops_after
        return elements if stops_after is None else min(elements, stops_after)

    def short_of_the_end(self, elements: int) -> int:
        """So many elements, or as many as leave the subject subscribed."""
        stops_after = self.claims.stops_after
        return elements if stops_after is None else min(elements, stops_after - 1)

    def pull(self, stream: Stream, n: int) -> None:
        """Have the user of the subject ask for ``n`` more, if the subject waits for that."""
        if self.claims.puppet is not None:
            self.steer(stream, "request", n)

    def has_demand(self, stream: Stream) -> bool:
        """Wait until an element may be sent, or the subject has cancelled.

        If neither comes, the rule of this check is broken.
        """
        if stream.demand < 1 and not self.environment.reaches(
            lambda: stream.demand > 0 or stream.spy.cancelled
        ):
            self.fail(_missing_demand(stream))
        return not stream.spy.cancelled

    def await_demand(self, stream: Stream) -> None:
        """The same, where nothing can be said if the subject cancels on its own."""
        self.has_demand(stream)
        self.need_subscription(stream)

    def need_subscription(self, stream: Stream) -> None:
        """Nothing can be said by this check if the subject has cancelled on its own."""
        if stream.spy.cancelled:
            count = len(stream.sent)
            after = f"{count} element{'' if count == 1 else 's'}"
            raise NotClaimed(f"the subject cancelled on its own, after {after}")

    def feed(self, stream: Stream, elements: int) -> None:
        """Send so many elements, each as soon as there is demand for it."""
        for _ in range(elements):
            if not self.offer(stream):
                self.need_subscription(stream)

    def offer(
        self, stream: Stream, *, in_a_burst: bool = False, on_new_thread: bool = False
    ) -> bool:
        """Send an element as soon as there is demand for it, unless the subject has cancelled.

        ``in_a_burst`` the subject may still be busy with the one before.
        """
        self.pull(stream, 1)
        if in_a_burst and stream.demand < 1:
            stream.spy.wait(BURST)
        if not self.has_demand(stream):
            return False
        if on_new_thread:
            self.environment.together(stream.next)
        else:
            stream.next()
        return True

    # What lies inside of the subject.

    def steer(self, stream: Stream, method: str, *arguments: Any) -> None:
        """Call a method of the puppet."""
        puppet = self.puppet(stream)
        shown = ", ".join(map(shorten, arguments))
        self.timeline.note(f"puppet.{method}({shown})")
        call = getattr(puppet, method, None)
        if not callable(call):
            self.environment.fail(FACTORY, f"the puppet {shorten(puppet)} has no {method}")
        self.environment.call(f"puppet.{method}({shown})", self._rule, lambda: call(*arguments))

    def puppet(self, stream: Stream) -> Any:
        """The puppet, which comes into being with the subscription at the latest."""
        puppet = self._puppet(stream)
        if puppet is None:
            self.fail("there is no puppet, although on_subscribe has come")
        return puppet

    def _puppet(self, stream: Stream) -> Any:
        make = self.claims.puppet
        assert make is not None

        def puppet() -> Any:
            return self.environment.call(
                "puppet(subscriber)", FACTORY, lambda: make(stream.subject)
            )

        if puppet() is None:
            self.environment.reaches(lambda: puppet() is not None)
        return puppet()

    def received(self, stream: Stream) -> list[Any]:
        """The elements that the subject has processed."""
        received = self.claims.received
        assert received is not None
        with self.environment.expecting("received(subscriber)", FACTORY):
            for _ in range(10):
                with suppress(RuntimeError):  # it grew while it was copied
                    return list(received(stream.subject))
        return []

    def expect_received(self, stream: Stream, *, in_order: bool = False) -> None:
        """Wait until all that was sent is processed, if the subject lets that be seen."""
        if self.claims.received is None:
            return
        received = _are_equal if in_order else _are_the_same
        if not self.environment.reaches(lambda: received(self.received(stream), stream.sent)):
            got = shorten(self.received(stream))
            self.fail(f"{shorten(stream.sent)} was sent, and {got} was processed")

    def expect_end(self, stream: Stream, signal: str) -> None:
        """Wait until the end is processed, if the subject lets that be seen."""
        name = "completed" if signal == "on_complete" else "failed"
        seen = getattr(self.claims, name)

        def has_seen_it() -> bool:
            what = f"{name}(subscriber)"
            return bool(self.environment.call(what, FACTORY, lambda: seen(stream.subject)))

        if seen is not None and not self.environment.reaches(has_seen_it):
            self.fail(f"{signal} was sent, and the subscriber has not noticed")

    def cancelled_stream(self) -> Stream:
        """A stream that the subject has cancelled, one way or the other."""
        if self.claims.puppet is not None:
            stream = self.join()
            self.steer(stream, "request", self.at_most(3))
            self.feed(stream, self.short_of_the_end(1))
            self.steer(stream, "cancel")
        elif self.claims.stops_after is not None:
            stream = self.join()
            self.feed(stream, self.claims.stops_after)
        else:
            raise NotClaimed("needs the claim stops_after or puppet")
        if not self.environment.reaches(lambda: stream.spy.cancelled):
            self.environment.fail("2.6", "the subscriber did not cancel")
        return stream


class SpyPublisher:
    """The kit's publisher, for subjects that know theirs."""

    def __init__(self, fixture: SubscriberFixture, subject: Any, behaviour: dict[str, Any]) -> None:
        self._fixture = fixture
        self._subject = subject
        self._behaviour = behaviour
        self.streams: list[Stream] = []

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Start a stream, unless the call breaks rule 1.10 or 2.3."""
        environment = self._fixture.environment
        if environment.is_over:
            return
        environment.noticed()
        if self.streams:
            self._fixture.timeline.note("subscribe")
        for stream in self.streams:
            self._find_its_cause(stream)
        if any(stream.subscriber is subscriber for stream in self.streams):
            environment.fail("1.10", "the subscriber was passed to subscribe a second time")
        stream = self._fixture.stream(subscriber, subject=self._subject, **self._behaviour)
        self.streams.append(stream)
        stream.open()

    def _find_its_cause(self, stream: Stream) -> None:
        environment = self._fixture.environment
        signal, final = current_signal.get(), stream.spy.final
        if signal is not None and signal.is_here and signal.is_terminal:
            environment.fail("2.3", f"subscribe was called from within {signal.name}")
        if final is not None and final.leads_to(environment.now()):
            environment.fail("2.3", f"subscribe was called as the outcome of {final.name}")


def _missing_demand(stream: Stream) -> str:
    if not stream.spy.requests:
        return "request was never called"
    sent = f"all {len(stream.sent)} elements were sent that had been requested"
    return f"{sent}, and then neither request nor cancel was called"


def _are_equal(got: list[Any], sent: list[Any]) -> bool:
    return got == sent


def _are_the_same(got: list[Any], sent: list[Any]) -> bool:
    """Whether they hold the same elements, in any order."""
    if got == sent or len(got) != len(sent):
        return got == sent
    try:
        return Counter(got) == Counter(sent)
    except TypeError:  # elements that have no hash
        return all(element in got for element in sent)
