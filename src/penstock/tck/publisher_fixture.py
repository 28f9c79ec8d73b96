"""What a check works with: the subject, new in each run, and the kit's own parties."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, NoReturn
from weakref import ref

from penstock.api import Publisher
from penstock.core.timeline import Timeline
from penstock.runtime import shorten
from penstock.tck.check_environment import CheckEnvironment
from penstock.tck.claims import NotClaimed, PublisherClaims
from penstock.tck.holders import holders_of
from penstock.tck.probe import OUTSIDE, Place, Probe
from penstock.tck.report import FACTORY

__all__ = ["MANY", "PublisherFixture", "are_equal"]

ON_THEIR_WAY: Final = 500
"""So many elements may still arrive after a cancel."""
MANY: Final = 1_100
"""Elements of a stream that must not run on to its end."""
QUICK_COMPUTATION: Final = 0.05
"""Seconds of processor time that a call which returns quickly may use."""


class PublisherFixture:
    """A publisher under test.

    The factory and the functions of the claims are called on the thread of the check; so is the
    publisher, and on several threads at once by checks about concurrency.
    """

    def __init__(
        self,
        environment: CheckEnvironment,
        factory: Callable[[int], Any],
        claims: PublisherClaims,
        rule: str,
    ) -> None:
        self.environment = environment
        self.claims = claims
        self.timeline = Timeline(now=environment.now)
        self._factory = factory
        self._rule = rule
        self._subscribed: set[Probe] = set()
        """Those that no check has dropped: what becomes garbage cannot be cancelled at the end."""

    def exercise(self) -> set[int]:
        """Use the subject for a moment; the threads from which it called."""
        probe = self.stream(self.at_most(3))
        probe.request(2)
        self.environment.reaches(lambda: len(probe.elements) >= 2)
        probe.cancel()
        self.environment.settle()
        return probe.callers - {threading.get_native_id()}

    # What a check says.

    def fail(self, message: str) -> NoReturn:
        """The rule of this check is broken."""
        self.environment.fail(self._rule, message)

    def require(self, holds: bool, message: str) -> None:
        """The rule of this check is broken, unless ``holds``."""
        if not holds:
            self.fail(message)

    # The subject.

    def at_most(self, elements: int, at_least: int = 0) -> int:
        """So many elements, or as many as the factory can make."""
        most = self.claims.max_elements
        if most < at_least:
            raise NotClaimed(f"needs {at_least} elements, max_elements is {most}")
        return min(elements, most)

    def publisher(self, elements: int) -> Publisher[Any]:
        """A publisher of so many elements, from the factory."""
        self.at_most(elements, at_least=elements)
        return self.made(f"factory({elements})", lambda: self._factory(elements))

    def failed_publisher(self) -> Publisher[Any]:
        """A publisher whose stream fails, from the claim ``failed``."""
        if self.claims.failed is None:
            raise NotClaimed("needs the claim failed")
        return self.made("failed()", self.claims.failed)

    def made(self, what: str, make: Callable[[], Any]) -> Publisher[Any]:
        """What a function of the user makes, which must be a publisher."""
        publisher: Publisher[Any] = self.environment.call(what, FACTORY, make)
        if not callable(getattr(publisher, "subscribe", None)):
            self.environment.fail(
                FACTORY, f"{what} returned {shorten(publisher)}, which has no subscribe"
            )
        return publisher

    # The kit's subscribers.

    def probe(self, **behaviour: Any) -> Probe:
        """A subscriber that is not subscribed yet."""
        return Probe(self.environment, self.timeline, **behaviour)

    def subscribe(self, publisher: Publisher[Any], probe: Probe) -> Probe:
        """Subscribe, and wait for ``on_subscribe``."""
        self.timeline.note("subscribe")
        self._subscribed.add(probe)
        self.environment.at_end(partial(_leave, ref(probe)))
        self.environment.call("subscribe", "1.9", lambda: publisher.subscribe(probe))
        if not self.environment.reaches(lambda: probe.subscription is not None):
            self.environment.fail("1.9", "on_subscribe never came")
        return probe

    def join(self, publisher: Publisher[Any], **behaviour: Any) -> Probe:
        """A new subscriber to ``publisher``."""
        return self.subscribe(publisher, self.probe(**behaviour))

    def stream(self, elements: int, **behaviour: Any) -> Probe:
        """A new publisher of so many elements, with a new subscriber to it."""
        return self.join(self.publisher(elements), **behaviour)

    def calling(
        self,
        publisher: Publisher[Any],
        place: Place,
        calls: Callable[[Probe], object],
        *,
        first: int = 0,
        **behaviour: Any,
    ) -> Probe:
        """A new subscriber to ``publisher``, which has made ``calls`` at ``place``.

        From outside they come after the ``first`` elements, which are requested for that, and
        within ``on_next`` with the very first of them.
        """
        if place == OUTSIDE:
            probe = self.join(publisher, **behaviour)
            self.take(probe, first)
            calls(probe)
            return probe
        made: list[Place] = []

        def call(probe: Probe) -> None:
            if place == "on_subscribe" or len(probe.elements) == 1:
                self.timeline.note(f"within {place}:")
                calls(probe)
                made.append(place)

        if place == "on_subscribe":
            probe = self.join(publisher, on_start=call, **behaviour)
        else:
            probe = self.join(publisher, on_element=call, **behaviour)
            probe.request(max(first, 1))
            self.expect(probe, 1)
        self.environment.reaches(lambda: bool(made))
        return probe

    # What a check expects of a stream.

    def take(self, probe: Probe, elements: int) -> None:
        """Request so many elements, and wait until all that was requested has come."""
        if elements:
            probe.request(elements)
        self.expect(probe, probe.requested)

    def expect(self, probe: Probe, elements: int) -> None:
        """Wait until ``probe`` has so many elements; fewer break the rule of this check."""
        if not self.comes(probe, elements):
            got = len(probe.elements)
            self.fail(f"{probe.requested} elements were requested, only {got} came{_end(probe)}")

    def comes(self, probe: Probe, elements: int, *, even_if_late: bool = True) -> bool:
        """Wait until ``probe`` has so many elements, or nothing has come for long."""
        self._wait(probe, lambda: len(probe.elements) >= elements or probe.ended, even_if_late)
        return len(probe.elements) >= elements

    def expect_completion(self, probe: Probe, rule: str = "") -> None:
        """Wait until the stream has completed; if not, ``rule`` or that of this check is broken."""
        if not self._wait(probe, lambda: probe.ended):
            got = len(probe.elements)
            self.environment.fail(
                rule or self._rule, f"on_complete did not come after {got} elements"
            )
        if probe.error is not None:
            error = shorten(probe.error)
            self.environment.fail(
                rule or self._rule, f"on_error({error}) came instead of on_complete"
            )

    def expect_error(self, probe: Probe, rule: str) -> Exception:
        """Wait until the stream has failed; otherwise ``rule`` is broken."""
        if not self._wait(probe, lambda: probe.ended):
            self.environment.fail(rule, "on_error did not come")
        if probe.error is None:
            self.environment.fail(rule, "on_complete came instead of on_error")
        return probe.error

    def _wait(self, probe: Probe, until: Callable[[], bool], even_if_late: bool = True) -> bool:
        """Wait as long as signals come, however slowly."""
        progress = True
        while progress and not until():
            before = probe.signals
            self.environment.reaches(until)
            progress = probe.signals > before and (even_if_late or not self.environment.is_late)
        return until()

    def expect_stop(self, probe: Probe, elements: int) -> None:
        """The stream has been cancelled: it must not run on to its end after ``elements``."""
        self.environment.settle()
        before = probe.cancelled_after or 0
        if elements - before > ON_THEIR_WAY and len(probe.elements) >= elements:
            self.fail(f"all {elements} elements came, though the stream was over after {before}")

    def expect_silence(self, probe: Probe, because: str, rule: str = "") -> None:
        """The stream has been cancelled with no demand left: no signal may have come since then."""
        self.environment.settle()
        assert probe.cancelled_after is not None
        self._expect_no_more_than(1 + probe.cancelled_after, probe, because, rule)

    def expect_dropped(self, subscriber: ref[Probe]) -> None:
        """Nobody else may hold ``subscriber`` any more."""
        self._subscribed.discard(subscriber())
        self.environment.settle()
        if subscriber() is not None:
            gc.collect()
            if not self.environment.reaches(lambda: subscriber() is None):
                gc.collect()
                if subscriber() is not None:
                    self.fail(f"the subscriber is still held, by {holders_of(subscriber())}")

    @contextmanager
    def silence(self, probe: Probe, because: str, rule: str = "") -> Iterator[None]:
        """Whatever is done in the block, it must not lead to a signal."""
        before = probe.signals
        yield
        self.environment.settle()
        self._expect_no_more_than(before, probe, because, rule)

    def _expect_no_more_than(self, signals: int, probe: Probe, because: str, rule: str) -> None:
        came = probe.signals - signals
        if came:
            message = f"{because}, and yet {came} more signals came"
            self.environment.fail(rule or self._rule, message)

    def expect_same(self, one: Probe, other: Probe) -> None:
        """Both must have got the same elements in the same order."""
        same = len(one.elements) == len(other.elements) and all(
            map(are_equal, one.elements, other.elements)
        )
        self.require(same, f"{shorten(one.elements)} came, and {shorten(other.elements)}")

    def stopwatch(self) -> CallStopwatch:
        """Measures calls that must return quickly."""
        return CallStopwatch(self)


class CallStopwatch:
    """Measures how long calls wait and compute.

    The quickest one counts, since others may be slow for reasons of their own.
    """

    def __init__(self, fixture: PublisherFixture) -> None:
        self._fixture = fixture
        self._waited: list[float] = []
        self._computed: list[float] = []

    @contextmanager
    def lap(self) -> Iterator[None]:
        """Measure a block."""
        now, computed = self._fixture.environment.now(), time.thread_time()
        yield
        self._computed.append(time.thread_time() - computed)
        self._waited.append(self._fixture.environment.now() - now)

    def require_quick(self, what: str) -> None:
        """The rule of this check is broken, unless at least one block was quick."""
        waited, computed = min(self._waited), min(self._computed)
        quick = self._fixture.environment.quick
        self._fixture.require(waited <= quick, f"{what} took {waited:.3f} s, each time")
        self._fixture.require(
            computed <= QUICK_COMPUTATION, f"{what} computed for {computed:.3f} s, each time"
        )


def _leave(subscriber: ref[Probe]) -> None:
    """2.6: a stream that nobody needs any more is cancelled."""
    probe = subscriber()
    if probe is not None and probe.subscription is not None and not probe.ended:
        probe.subscription.cancel()


def are_equal(one: object, other: object) -> bool:
    """Whether these are the same element."""
    try:
        return one is other or bool(one == other)
    except Exception:
        return repr(one) == repr(other)  # they cannot be compared, as arrays cannot


def _end(probe: Probe) -> str:
    if probe.completed:
        return ", then on_complete"
    return f", then on_error({shorten(probe.error)})" if probe.error is not None else ""
