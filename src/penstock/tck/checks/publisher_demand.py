"""Checks for publishers: how request is answered, with elements within demand or with an error."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from penstock.api import UNBOUNDED
from penstock.runtime import shorten
from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.probe import WITHIN, Place, Probe, Provoked, elements_before
from penstock.tck.publisher_fixture import PublisherFixture

__all__: list[str] = []

ENDLESS: Final = 10_000
"""So many elements would overflow any stack."""
FRAMES: Final = 900
"""A stack of that depth is about to overflow: CPython allows 1,000 frames by default."""


@PUBLISHER.check("1.1", within_signals=True)
def sends_what_was_requested_and_no_more(fixture: PublisherFixture, place: Place) -> None:
    """Requests 1, 1, 2 and 3 elements in turn; as many come each time, and not one more.

    Count the demand that is outstanding, and send only while it is above zero.
    """
    elements = fixture.at_most(8, 1 + elements_before(place))

    def ask(probe: Probe) -> None:
        for n in (1, 1):
            _ask_at_most(probe, n, elements)

    probe = fixture.calling(fixture.publisher(elements), place, ask)
    for n in (0, 2, 3):
        _ask_at_most(probe, n, elements)
        fixture.expect(probe, probe.requested)
        fixture.environment.settle()


@PUBLISHER.check("1.1")
def keeps_to_random_demand(fixture: PublisherFixture) -> None:
    """Makes random requests, some made before the last ones were served.

    Add up the demand of all requests, and subtract one for each element.
    """
    dice = random.Random(11)
    elements = fixture.at_most(60, 1)
    probe = fixture.stream(elements)
    while probe.requested < elements:
        for _ in range(dice.randint(1, 3)):
            probe.request(min(dice.randint(1, 3), max(elements - probe.requested, 1)))
        fixture.expect(probe, min(probe.requested, elements))
    fixture.environment.settle()


@PUBLISHER.check("1.1")
def starts_each_subscriber_without_demand(fixture: PublisherFixture) -> None:
    """Cancels with demand left over, in a signal; a newcomer gets nothing before it requests.

    Keep the demand in the subscription, not in the publisher.
    """

    def ask_and_leave(probe: Probe) -> None:
        probe.request(5)
        probe.cancel()

    for place in WITHIN:
        publisher = fixture.publisher(fixture.at_most(10, 2))
        fixture.calling(publisher, place, ask_and_leave, name="first")
        fixture.environment.settle()
        newcomer = fixture.join(publisher, name="newcomer")
        fixture.environment.settle()
        if not newcomer.ended:
            newcomer.request(1)
            fixture.environment.settle()


@PUBLISHER.check("1.2", needs="completes", within_signals=True)
def ends_with_demand_left_over(fixture: PublisherFixture, place: Place) -> None:
    """Requests 7 more than there is; all elements come, then on_complete and nothing in between.

    End the stream when the source is empty, whatever demand is left. Do not fill it up.
    """
    elements = fixture.at_most(3, elements_before(place))
    probe = fixture.calling(fixture.publisher(elements), place, _requests(elements + 7))
    fixture.expect(probe, elements)
    fixture.environment.settle()
    fixture.require(probe.error is None, "on_error came, for want of elements")
    fixture.expect_completion(probe, "1.5")
    got = len(probe.elements)
    fixture.require(got == elements, f"{got} elements came from a publisher of {elements}")


@PUBLISHER.check("3.2")
def takes_requests_within_signals(fixture: PublisherFixture) -> None:
    """Requests 1 element in on_subscribe and 1 in each on_next; 6 elements come.

    Set up all that request needs before you call on_subscribe, and expect a call from on_next.
    """
    elements = fixture.at_most(6, 2)
    probe = fixture.stream(elements, request=1, each=1, cancel_at=elements)
    fixture.expect(probe, elements)


@PUBLISHER.check("3.3", real_time=True)
def does_not_recurse_from_element_to_element(fixture: PublisherFixture) -> None:
    """Requests 10,000 elements one by one, each in on_next; the stack stays as deep as it is.

    Let an inner request only add to the demand, and the outer one send in a loop.
    """
    _take_one_by_one(fixture, fixture.at_most(ENDLESS, 200))


@PUBLISHER.check("3.3", real_time=True)
def does_not_recurse_from_the_first_element_on(fixture: PublisherFixture) -> None:
    """Requests 1,000 elements one by one, the first in on_subscribe; the stack does not grow.

    Serve what was requested in on_subscribe in the same loop as all that comes later.
    """
    _take_one_by_one(fixture, fixture.at_most(1_000, 200), request=1)


def _take_one_by_one(fixture: PublisherFixture, elements: int, **behaviour: int) -> None:
    def check_depth(probe: Probe) -> None:
        depth = _depth(sys._getframe())
        if depth > FRAMES:
            got = len(probe.elements)
            fixture.fail(f"the stack was {depth} frames deep at element {got}, and growing")

    probe = fixture.stream(
        elements, each=1, on_element=check_depth, cancel_at=elements, **behaviour
    )
    if not probe.requested:
        probe.request(1)
    if not fixture.comes(probe, elements, even_if_late=False):
        # One that is merely slow has shown enough, unless it has shown nothing.
        is_slow = fixture.environment.is_late and len(probe.elements) > 1
        if not is_slow:
            fixture.expect(probe, elements)


@PUBLISHER.check("3.8", within_signals=True)
def adds_up_requests(fixture: PublisherFixture, place: Place) -> None:
    """Requests 1, 2 and more in turn, without waiting in between; all of it adds up.

    Add to the demand, do not replace it. Subtract an element from it before you call on_next, which
    may add to it.
    """
    before = elements_before(place)
    elements = fixture.at_most(10, 4 + before)
    ask = _requests(1, 2, elements - 3 - before)
    probe = fixture.calling(fixture.publisher(elements), place, ask)
    fixture.expect(probe, elements)


@PUBLISHER.check("3.8", explored=True)
def loses_no_request_while_it_sends(fixture: PublisherFixture) -> None:
    """Requests from one thread, while another one may be sending; no request gets lost.

    Guard the demand by a lock where it is read and written, and read it once more before the
    sending thread goes to rest.
    """
    elements = fixture.at_most(4, 3)
    probe = fixture.stream(elements, request=1)
    for _ in range(elements - 1):
        probe.request(1)
    fixture.expect(probe, elements)


@PUBLISHER.check("3.8", needs="concurrent_requests", explored=True)
def loses_no_request_of_two_threads(fixture: PublisherFixture) -> None:
    """Requests from two threads at once; no request gets lost.

    Guard the demand by a lock where it is read and written.
    """
    probe = fixture.stream(fixture.at_most(5, 3), overlaps=True)
    fixture.environment.together(lambda: probe.request(1), lambda: probe.request(2))
    fixture.expect(probe, 3)


@PUBLISHER.check("3.17", within_signals=True)
def serves_the_largest_demand(fixture: PublisherFixture, place: Place) -> None:
    """Requests 2**63 - 1 elements, and 10**30, on two streams; the elements come.

    Take any int above zero; treat a demand of 2**63 - 1 or more as without limit.
    """
    for n in (UNBOUNDED, 10**30):
        _take_without_limit(fixture, place, n)


@PUBLISHER.check("3.17", within_signals=True)
def demand_does_not_overflow(fixture: PublisherFixture, place: Place) -> None:
    """Requests 2**63 - 1 elements, as many again, and 2 more; the elements come.

    Let the demand stay at 2**63 - 1 once a sum has reached it. There is no such thing as too much.
    """
    _take_without_limit(fixture, place, UNBOUNDED, UNBOUNDED, 2)


@PUBLISHER.check("3.17")
def demand_does_not_overflow_from_element_to_element(fixture: PublisherFixture) -> None:
    """Requests 2**63 - 1 elements again with each element; they go on coming.

    Let the demand stay at 2**63 - 1 once a sum has reached it. There is no such thing as too much.
    """
    for n in (UNBOUNDED, 1):
        _take_without_limit(fixture, "on_subscribe", n, each=UNBOUNDED)


def _take_without_limit(
    fixture: PublisherFixture, place: Place, *requests: int, **behaviour: int
) -> None:
    elements = fixture.at_most(5, 2)
    behaviour["cancel_at"] = elements  # it may be endless
    publisher = fixture.publisher(elements)
    probe = fixture.calling(publisher, place, _requests(*requests), **behaviour)
    fixture.expect(probe, elements)


def _requests(*requests: Any) -> Callable[[Probe], None]:
    """The calls that make these requests, one after the other."""

    def ask(probe: Probe) -> None:
        for n in requests:
            probe.request(n)

    return ask


def _ask_at_most(probe: Probe, n: int, elements: int) -> None:
    """Request so many, or as many as are left."""
    n = min(n, elements - probe.requested)
    if n:
        probe.request(n)


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth


# How ``request`` takes its argument, and that it returns, soon and normally.


@PUBLISHER.check("3.4", within_signals=True)
def request_returns_quickly(fixture: PublisherFixture, place: Place) -> None:
    """Requests 3 elements one by one; at least one request neither waits nor computes for long.

    Hand slow work to another thread or task, and do not wait for it.
    """
    elements = fixture.at_most(3, 1 + elements_before(place))
    stopwatch = fixture.stopwatch()

    def ask(probe: Probe) -> None:
        for _ in range(elements - elements_before(place)):
            with stopwatch.lap():
                probe.request(1)

    probe = fixture.calling(fixture.publisher(elements), place, ask)
    fixture.expect(probe, elements)
    stopwatch.require_quick("request(1)")


@PUBLISHER.check("3.9", within_signals=True)
def answers_an_illegal_request_by_an_error(fixture: PublisherFixture, place: Place) -> None:
    """Requests 0, -1 and -2**63 elements, each of a stream of its own; on_error(ValueError) comes.

    Check the argument first, in every call. Signal on_error with a ValueError, whatever demand
    there is.
    """
    for n in (0, -1, -(2**63)):
        _expect_error_for(fixture, _refused(fixture, place, n), n, ValueError)


@PUBLISHER.check("3.9")
def answers_an_illegal_first_request_by_an_error(fixture: PublisherFixture) -> None:
    """Requests 0 elements before all else; on_error(ValueError) comes.

    Check the argument first, also before the stream has begun to flow.
    """
    elements = fixture.at_most(3, 1)
    fixture.take(fixture.stream(elements), 1)
    probe = fixture.stream(elements)
    probe.request(0)
    _expect_error_for(fixture, probe, 0, ValueError)


@PUBLISHER.check("3.9", needs="explains_illegal_requests", within_signals=True)
def names_the_rule_of_an_illegal_request(fixture: PublisherFixture, place: Place) -> None:
    """Requests 0 elements; the text of the error names rule 3.9.

    Say in the text of the error that rule 3.9 asks for a number above zero.
    """
    publisher = fixture.publisher(fixture.at_most(3, 1 + elements_before(place)))
    probe = fixture.calling(publisher, place, _requests(0))
    error = fixture.expect_error(probe, "3.9")
    fixture.require("3.9" in str(error), f"{shorten(error)} does not name rule 3.9")


@PUBLISHER.check("3.9", needs="strict_types", within_signals=True)
def answers_a_request_of_another_type_by_an_error(fixture: PublisherFixture, place: Place) -> None:
    """Requests True, 1.0, "1" and None, each of a stream of its own; on_error(TypeError) comes.

    Check the type of the argument before you compare it. A bool is an int, but no number here.
    """
    for n in (True, 1.0, "1", None):
        probe = _refused(fixture, place, n, blame={"1.1": "3.9", "3.16": "3.9"})
        _expect_error_for(fixture, probe, n, TypeError)


def _refused(fixture: PublisherFixture, place: Place, n: object, **behaviour: Any) -> Probe:
    """A subscriber that has made a request which is no good, in on_next with demand left."""
    elements = fixture.at_most(3, 1 if place == "on_subscribe" else 2)
    publisher = fixture.publisher(elements)
    return fixture.calling(publisher, place, _requests(n), first=elements - 1, **behaviour)


@PUBLISHER.check("3.16", within_signals=True)
def request_returns_normally(fixture: PublisherFixture, place: Place) -> None:
    """Requests more than there is, too little, and again when all is over; nothing is raised.

    Signal on_error instead of raising, and do nothing when the stream is over.
    """
    much = (UNBOUNDED - 1, 2, 1) if fixture.claims.completes else (1, 2)
    for requests in ((0, 0, 1), (-1, -1, 1), much):
        elements = fixture.at_most(2, elements_before(place))
        publisher = fixture.publisher(elements)
        probe = fixture.calling(publisher, place, _requests(*requests), first=min(elements, 1))
        fixture.environment.settle()
        probe.request(1)
        fixture.environment.settle()


@PUBLISHER.check("3.16")
def request_returns_normally_when_on_next_raises(fixture: PublisherFixture) -> None:
    """Raises in on_next; nothing of it reaches the caller of request.

    Catch what the subscriber raises, and report it where somebody will see it.
    """
    fixture.environment.forgive(Provoked)
    probe = fixture.stream(fixture.at_most(3, 1), raises_in="on_next")
    probe.request(2)
    fixture.expect(probe, 1)
    fixture.environment.settle()


@PUBLISHER.check("3.16", needs="failed")
def request_returns_normally_when_the_source_fails(fixture: PublisherFixture) -> None:
    """Requests all of a stream that fails; nothing is raised.

    Hand what the source raises to on_error, and to nobody else.
    """
    probe = fixture.join(fixture.failed_publisher())
    probe.request(UNBOUNDED)
    fixture.expect_error(probe, "1.4")
    probe.request(1)
    fixture.environment.settle()


def _expect_error_for(
    fixture: PublisherFixture, probe: Probe, n: object, kind: type[Exception]
) -> None:
    if not fixture.environment.reaches(lambda: probe.ended):
        fixture.fail(f"request({n!r}) was not answered by on_error")
    error = probe.error
    fixture.require(
        isinstance(error, kind),
        f"request({n!r}) was answered by {shorten(error)} instead of a {kind.__name__}"
        if error is not None
        else f"request({n!r}) was answered by on_complete",
    )
