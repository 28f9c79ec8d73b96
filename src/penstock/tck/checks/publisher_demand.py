"""Checks for publishers: elements within demand, and demand that adds up."""

from __future__ import annotations

import random
import sys
from types import FrameType
from typing import Final

from penstock.api import UNBOUNDED
from penstock.tck.bench import PublisherBench
from penstock.tck.checks.publisher_suite import PUBLISHER
from penstock.tck.probe import Probe

__all__: list[str] = []

ENDLESS: Final = 10_000
"""So many elements would overflow any stack."""
FRAMES: Final = 900
"""A stack of that depth is about to overflow: CPython allows 1,000 frames by default."""


@PUBLISHER.check("1.1")
def sends_what_was_requested_and_no_more(bench: PublisherBench) -> None:
    """Requests 0, 1, 1, 2 and 3 elements in turn; as many come each time, and not one more.

    Count the demand that is outstanding, and send only while it is above zero.
    """
    elements = bench.at_most(7, 1)
    probe = bench.stream(elements)
    for n in (0, 1, 1, 2, 3):
        bench.take(probe, min(n, elements - probe.requested))
        bench.arena.settle()


@PUBLISHER.check("1.1")
def keeps_to_random_demand(bench: PublisherBench) -> None:
    """Follows a random sequence of requests, some made before the last ones were served.

    Add up the demand of all requests, and subtract one for each element.
    """
    dice = random.Random(11)
    elements = bench.at_most(60, 1)
    probe = bench.stream(elements)
    while probe.requested < elements:
        for _ in range(dice.randint(1, 3)):
            probe.request(min(dice.randint(1, 3), max(elements - probe.requested, 1)))
        bench.expect(probe, min(probe.requested, elements))
    bench.arena.settle()


@PUBLISHER.check("1.1")
def starts_each_subscriber_without_demand(bench: PublisherBench) -> None:
    """Cancels a stream with demand left over; a newcomer gets nothing before it requests.

    Keep the demand in the subscription, not in the publisher.
    """
    publisher = bench.publisher(bench.at_most(10, 2))
    first = bench.join(publisher, cancel_at=1, name="first")
    first.request(5)
    bench.expect(first, 1)
    bench.arena.settle()
    newcomer = bench.join(publisher, name="newcomer")
    bench.arena.settle()
    if not newcomer.ended:
        newcomer.request(1)
        bench.arena.settle()


@PUBLISHER.check("1.2", needs="completes")
def ends_with_demand_left_over(bench: PublisherBench) -> None:
    """Requests 7 more than there is; all elements come, then on_complete and nothing in between.

    End the stream when the source is empty, whatever demand is left. Do not fill it up.
    """
    elements = bench.at_most(3)
    probe = bench.stream(elements)
    probe.request(elements + 7)
    bench.expect(probe, elements)
    bench.arena.settle()
    bench.require(probe.error is None, "on_error came, for want of elements")
    bench.expect_completion(probe, "1.5")
    got = len(probe.elements)
    bench.require(got == elements, f"{got} elements came from a publisher of {elements}")


@PUBLISHER.check("3.2")
def takes_requests_within_signals(bench: PublisherBench) -> None:
    """Requests 1 element in on_subscribe and 1 in each on_next; 6 elements come.

    Set up all that request needs before you call on_subscribe, and expect a call from on_next.
    """
    elements = bench.at_most(6, 2)
    probe = bench.stream(elements, request=1, each=1, cancel_at=elements)
    bench.expect(probe, elements)


@PUBLISHER.check("3.3", real_time=True)
def does_not_recurse_from_element_to_element(bench: PublisherBench) -> None:
    """Requests 10,000 elements one by one, each in on_next; the stack stays as deep as it is.

    Let an inner request only add to the demand, and the outer one send in a loop.
    """
    elements = bench.at_most(ENDLESS, 200)

    def look(probe: Probe) -> None:
        depth = _depth(sys._getframe())
        if depth > FRAMES:
            got = len(probe.elements)
            bench.fail(f"the stack was {depth} frames deep at element {got}, and growing")

    probe = bench.stream(elements, each=1, on_element=look, cancel_at=elements)
    probe.request(1)
    if not bench.comes(probe, elements, even_if_late=False) and not bench.arena.is_late:
        bench.expect(probe, elements)  # one that is merely slow has shown enough


@PUBLISHER.check("3.8")
def adds_up_requests(bench: PublisherBench) -> None:
    """Requests 1, 2 and more in turn, without waiting in between; all of it adds up.

    Add to the demand, do not replace it.
    """
    elements = bench.at_most(10, 4)
    probe = bench.stream(elements)
    for n in (1, 2, elements - 3):
        probe.request(n)
    bench.expect(probe, elements)


@PUBLISHER.check("3.8")
def adds_up_requests_within_signals(bench: PublisherBench) -> None:
    """Requests in on_subscribe, and several times in the first on_next; all of it adds up.

    Subtract an element from the demand before you call on_next, which may add to it.
    """
    elements = bench.at_most(10, 4)

    def ask_once(probe: Probe) -> None:
        if len(probe.elements) == 1:
            for _ in range(elements - 2):
                probe.request(1)

    probe = bench.stream(elements, request=2, on_element=ask_once)
    bench.expect(probe, elements)


@PUBLISHER.check("3.8", explored=True)
def loses_no_request_while_it_sends(bench: PublisherBench) -> None:
    """Requests from one thread, while another one may be sending; no request gets lost.

    Guard the demand by a lock where it is read and written, and look at it once more before the
    sending thread goes to rest.
    """
    elements = bench.at_most(4, 3)
    probe = bench.stream(elements, request=1)
    for _ in range(elements - 1):
        probe.request(1)
    bench.expect(probe, elements)


@PUBLISHER.check("3.8", needs="concurrent_requests", explored=True)
def loses_no_request_of_two_threads(bench: PublisherBench) -> None:
    """Requests from two threads at once; no request gets lost.

    Guard the demand by a lock where it is read and written.
    """
    probe = bench.stream(bench.at_most(5, 3), overlaps=True)
    bench.arena.together(lambda: probe.request(1), lambda: probe.request(2))
    bench.expect(probe, 3)


@PUBLISHER.check("3.17")
def serves_the_largest_demand(bench: PublisherBench) -> None:
    """Requests 2**63 - 1 elements, and 10**30, on two streams; the elements come.

    Take any int above zero; treat a demand of 2**63 - 1 or more as without limit.
    """
    for n in (UNBOUNDED, 10**30):
        _take_without_limit(bench, request=n)


@PUBLISHER.check("3.17")
def demand_does_not_overflow(bench: PublisherBench) -> None:
    """Requests 2**63 - 1 elements again with each element; they go on coming.

    Let the demand stay at 2**63 - 1 once a sum has reached it. There is no such thing as too much.
    """
    _take_without_limit(bench, request=UNBOUNDED, each=UNBOUNDED)
    _take_without_limit(bench, request=1, each=UNBOUNDED)


def _take_without_limit(bench: PublisherBench, **behaviour: int) -> None:
    elements = bench.at_most(5, 2)
    probe = bench.stream(elements, cancel_at=elements, **behaviour)  # it may be endless
    bench.expect(probe, elements)


def _depth(frame: FrameType | None) -> int:
    depth = 0
    while frame is not None:
        depth += 1
        frame = frame.f_back
    return depth
