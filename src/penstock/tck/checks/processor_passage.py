"""Checks of what passes through a processor, both ways: rules 4.1, 2.4 and 2.7."""

from __future__ import annotations

import random

from penstock.tck.checks.processor_suite import check
from penstock.tck.processor_bench import Pipe, ProcessorBench


@check("4.1")
def passes_elements_on_in_sequence(bench: ProcessorBench) -> None:
    """Sends elements whenever they are asked for, to random requests; they come out in sequence.

    Keep elements that cannot be sent yet in a queue, and send them in the order in which they came.
    """
    dice = random.Random(41)
    elements = bench.below.at_most(30, 1)
    pipe = bench.pipe()
    while pipe.below.requested < elements:
        pipe.below.request(min(dice.randint(1, 4), elements - pipe.below.requested))
        bench.feed(pipe.above, pipe.below.requested - len(pipe.above.sent))
        bench.expect_passed_on(pipe.above, pipe.below, pipe.below.requested)


@check("4.1")
def passes_demand_on(bench: ProcessorBench) -> None:
    """Requests 5 elements and sends them one by one; demand for each of them reaches the source.

    Ask the source for what was asked of you, at the latest when you have nothing left to send.
    """
    elements = bench.below.at_most(5, 1)
    pipe = bench.pipe()
    pipe.below.request(elements)
    for _ in range(elements):
        bench.feed(pipe.above, 1)
        bench.arena.settle()
    bench.expect_passed_on(pipe.above, pipe.below, elements)


@check("4.1")
def passes_on_demand_from_within_signals(bench: ProcessorBench) -> None:
    """Requests 1 element in on_subscribe and 1 in each on_next; each reaches the source.

    Expect a request from within the on_next that you call, and do not lose it.
    """
    elements = bench.below.at_most(5, 1)
    pipe = bench.pipe(request=1, each=1, cancel_at=elements)
    bench.feed(pipe.above, elements)
    bench.expect_passed_on(pipe.above, pipe.below, elements)


@check("4.1")
def passes_on_what_a_source_sends_at_once(bench: ProcessorBench) -> None:
    """Lets the source send from within request; all comes out in sequence, and then on_complete.

    Set all fields before you call request, and hold no lock while you do.
    """
    elements = bench.below.at_most(300, 1)
    ending = "on_complete" if bench.claims.completes else None
    processor = bench.processor()
    (above,) = bench.upstream(processor, elements=elements, ending=ending).streams
    probe = bench.below.join(processor, request=1, each=1)
    bench.expect_passed_on(above, probe, elements)
    if ending is not None:
        bench.below.expect_completion(probe)


@check("4.1", needs="completes")
def passes_completion_on(bench: ProcessorBench) -> None:
    """Completes the source behind 0, 1 and 3 elements; on_complete comes out behind them.

    Remember that the source has completed, and signal on_complete when nothing is left to send.
    """
    for elements in {bench.below.at_most(n) for n in (0, 1, 3)}:
        pipe = bench.pipe()
        if elements:
            pipe.below.request(elements)
        bench.feed(pipe.above, elements)
        pipe.above.complete()
        bench.expect_passed_on(pipe.above, pipe.below, elements)
        _expect_completion(bench, pipe)


@check("4.1", needs="completes")
def completes_behind_what_it_holds(bench: ProcessorBench) -> None:
    """Completes the source with elements held back; they come when requested, then on_complete.

    Completion stands behind all elements: do not drop what is still waiting for demand.
    """
    pipe = bench.pipe()
    pipe.below.request(1)
    bench.fill(pipe.above, bench.below.at_most(4, 1))
    pipe.above.complete()
    bench.arena.settle()
    held = len(pipe.above.sent) - len(pipe.below.elements)
    bench.require(
        held == 0 or not pipe.below.completed, f"on_complete came ahead of {held} elements"
    )
    for _ in range(held):
        pipe.below.request(1)
    bench.expect_passed_on(pipe.above, pipe.below, len(pipe.above.sent))
    _expect_completion(bench, pipe)


@check("4.1", needs="completes", explored=True)
def loses_no_completion(bench: ProcessorBench) -> None:
    """Completes the source while the subscriber requests on another thread; on_complete comes out.

    Look for the end of the source once more before the thread that sends goes to rest.
    """
    pipe = bench.pipe(request=1, lingers=True)
    bench.feed(pipe.above, bench.below.at_most(1))
    bench.arena.together(pipe.above.complete, lambda: pipe.below.request(1))
    _expect_completion(bench, pipe)
    bench.expect_in_sequence(pipe.above, pipe.below)


@check("4.1", explored=True)
def loses_nothing_between_its_sides(bench: ProcessorBench) -> None:
    """Sends on one thread while the subscriber requests on another; all comes out, in sequence.

    Guard by a lock what both sides use, and look again at both before the last thread leaves.
    """
    elements = bench.below.at_most(2, 1)
    pipe = bench.pipe(request=elements)
    bench.arena.together(
        lambda: pipe.above.send_next() and pipe.above.send_next(),
        lambda: pipe.below.request(1),
    )
    bench.expect_passed_on(pipe.above, pipe.below, len(pipe.above.sent))  # before it wakes up again
    bench.feed(pipe.above, elements - len(pipe.above.sent))
    bench.expect_passed_on(pipe.above, pipe.below, elements)


@check("4.1", needs="multicast")
def remembers_demand_of_long_ago(bench: ProcessorBench) -> None:
    """Has one subscriber request much and another one little by little; each element reaches both.

    Ask the source for what the slowest can take, also if the quick ones asked for it long ago.
    """
    elements = bench.below.at_most(4, 2)
    pipe = bench.pipe(name="quick")
    slow = bench.below.join(pipe.processor, name="slow")
    pipe.below.request(elements)
    for count in range(1, elements + 1):
        slow.request(1)
        if len(pipe.above.sent) < count:
            bench.feed(pipe.above, 1)
        for probe in (slow, pipe.below):
            bench.expect_passed_on(pipe.above, probe, count)


@check("4.1")
def stands_a_cancel_from_below(bench: ProcessorBench) -> None:
    """Cancels below at each of the first elements, then sends what was on its way; all is silent.

    Once the subscriber has cancelled, drop what still comes for it, and raise nothing.
    """
    for index in range(bench.below.at_most(3, 1)):
        pipe = bench.pipe()
        pipe.below.request(index + 2)
        bench.feed(pipe.above, index)
        bench.expect_passed_on(pipe.above, pipe.below, index)
        pipe.below.cancel()
        bench.arena.settle()
        with bench.below.silence(pipe.below, f"cancelled at element {index}"):
            if pipe.above.demand > 0:
                pipe.above.next()
            pipe.above.complete()


@check("2.4", needs="completes")
def calls_nothing_above_for_whom_is_below(bench: ProcessorBench) -> None:
    """Completes the source, then requests and cancels below; the source is not called any more.

    Forget the subscription when the source ends, also while elements of it are still to be sent.
    """
    pipe = bench.pipe()
    pipe.below.request(1)
    bench.fill(pipe.above, bench.below.at_most(3, 1))
    bench.arena.settle()
    pipe.above.complete(at_rest=True)
    bench.arena.settle()
    for _ in range(3):
        pipe.below.request(1)
        bench.arena.settle()
    pipe.below.cancel()
    bench.arena.settle()


@check("2.7", explored=True)
def calls_above_one_call_at_a_time(bench: ProcessorBench) -> None:
    """Sends on one thread while the subscriber requests on another; calls above never overlap.

    Call the source from one place only, such as a loop that only one thread is in.
    """
    pipe = bench.pipe(strict=True, request=1)
    bench.arena.together(
        lambda: pipe.above.send_next() and pipe.above.send_next(),
        lambda: pipe.below.request(1),
    )
    bench.arena.settle()
    if not pipe.above.sent:  # it was not asked in time
        bench.fill(pipe.above, 1)
    came_out = bench.arena.reaches(lambda: bool(pipe.below.elements))
    bench.require(came_out, "an element was requested, and none came out")


def _expect_completion(bench: ProcessorBench, pipe: Pipe) -> None:
    """A processor may wait for demand behind the last element, unless it says otherwise."""
    bench.arena.settle()
    if not pipe.below.ended and not bench.claims.completes_eagerly:
        pipe.below.request(1)
    bench.below.expect_completion(pipe.below)
