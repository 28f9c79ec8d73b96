"""Checks of what passes through a processor: elements and completion, errors, and demand back."""

from __future__ import annotations

import random

from penstock.runtime import shorten
from penstock.tck.checks.suites import PROCESSOR
from penstock.tck.probe import Probe
from penstock.tck.processor_fixture import ProcessorFixture, ProcessorPipe
from penstock.tck.stream import Failed


@PROCESSOR.check("4.1")
def passes_elements_on_in_order(fixture: ProcessorFixture) -> None:
    """Sends elements whenever they are asked for, to random requests; they come out in order.

    Keep elements that cannot be sent yet in a queue, and send them in the order in which they came.
    """
    dice = random.Random(41)
    elements = fixture.as_publisher.at_most(30, 1)
    pipe = fixture.pipe()
    while pipe.downstream.requested < elements:
        pipe.downstream.request(min(dice.randint(1, 4), elements - pipe.downstream.requested))
        fixture.feed(pipe.upstream, pipe.downstream.requested - len(pipe.upstream.sent))
        fixture.expect_passed_on(pipe.upstream, pipe.downstream, pipe.downstream.requested)


@PROCESSOR.check("4.1")
def passes_demand_on(fixture: ProcessorFixture) -> None:
    """Requests 5 elements and sends them one by one; demand for each of them reaches the source.

    Ask the source for what was asked of you, at the latest when you have nothing left to send.
    """
    elements = fixture.as_publisher.at_most(5, 1)
    pipe = fixture.pipe()
    pipe.downstream.request(elements)
    for _ in range(elements):
        fixture.feed(pipe.upstream, 1)
        fixture.environment.settle()
    fixture.expect_passed_on(pipe.upstream, pipe.downstream, elements)


@PROCESSOR.check("4.1")
def passes_on_demand_from_within_signals(fixture: ProcessorFixture) -> None:
    """Requests 1 element in on_subscribe and 1 in each on_next; each reaches the source.

    Expect a request from within the on_next that you call, and do not lose it.
    """
    elements = fixture.as_publisher.at_most(5, 1)
    pipe = fixture.pipe(request=1, each=1, cancel_at=elements)
    fixture.feed(pipe.upstream, elements)
    fixture.expect_passed_on(pipe.upstream, pipe.downstream, elements)


@PROCESSOR.check("4.1")
def passes_on_what_a_source_sends_at_once(fixture: ProcessorFixture) -> None:
    """Lets the source send from within request; all comes out in order, and then on_complete.

    Set all fields before you call request, and hold no lock while you do.
    """
    elements = fixture.as_publisher.at_most(300, 1)
    ending = "on_complete" if fixture.claims.completes else None
    processor = fixture.processor()
    (upstream,) = fixture.upstream(processor, elements=elements, ending=ending).streams
    probe = fixture.as_publisher.join(processor, request=1, each=1)
    fixture.expect_passed_on(upstream, probe, elements)
    if ending is not None:
        fixture.as_publisher.expect_completion(probe)


@PROCESSOR.check("4.1", needs="completes")
def passes_completion_on(fixture: ProcessorFixture) -> None:
    """Completes the source after 0, 1 and 3 elements; on_complete comes out after them.

    Remember that the source has completed, and signal on_complete when nothing is left to send.
    """
    for elements in {fixture.as_publisher.at_most(n) for n in (0, 1, 3)}:
        pipe = fixture.pipe()
        if elements:
            pipe.downstream.request(elements)
        fixture.feed(pipe.upstream, elements)
        pipe.upstream.complete()
        fixture.expect_passed_on(pipe.upstream, pipe.downstream, elements)
        _expect_completion(fixture, pipe)


@PROCESSOR.check("4.1", needs="completes")
def completes_after_what_it_holds(fixture: ProcessorFixture) -> None:
    """Completes the source with elements held back; they come when requested, then on_complete.

    Completion comes after all elements: do not drop what is still waiting for demand.
    """
    pipe = fixture.pipe()
    pipe.downstream.request(1)
    fixture.fill(pipe.upstream, fixture.as_publisher.at_most(4, 1))
    pipe.upstream.complete()
    fixture.environment.settle()
    held = len(pipe.upstream.sent) - len(pipe.downstream.elements)
    fixture.require(
        held == 0 or not pipe.downstream.completed, f"on_complete came ahead of {held} elements"
    )
    for _ in range(held):
        pipe.downstream.request(1)
    fixture.expect_passed_on(pipe.upstream, pipe.downstream, len(pipe.upstream.sent))
    _expect_completion(fixture, pipe)


@PROCESSOR.check("4.1", needs="completes", explored=True)
def loses_no_completion(fixture: ProcessorFixture) -> None:
    """Completes the source while the subscriber requests on another thread; on_complete comes out.

    Check for the end of the source once more before the thread that sends goes to rest.
    """
    pipe = fixture.pipe(request=1, lingers=True)
    fixture.feed(pipe.upstream, fixture.as_publisher.at_most(1))
    fixture.environment.together(pipe.upstream.complete, lambda: pipe.downstream.request(1))
    _expect_completion(fixture, pipe)
    fixture.expect_in_order(pipe.upstream, pipe.downstream)


@PROCESSOR.check("4.1", explored=True)
def loses_nothing_between_its_sides(fixture: ProcessorFixture) -> None:
    """Sends on one thread while the subscriber requests on another; all comes out, in order.

    Guard by a lock what both sides use, and check both again before the last thread leaves.
    """
    elements = fixture.as_publisher.at_most(2, 1)
    pipe = fixture.pipe(request=elements)
    fixture.environment.together(
        lambda: pipe.upstream.send_next() and pipe.upstream.send_next(),
        lambda: pipe.downstream.request(1),
    )
    fixture.expect_passed_on(
        pipe.upstream, pipe.downstream, len(pipe.upstream.sent)
    )  # before it wakes up again
    fixture.feed(pipe.upstream, elements - len(pipe.upstream.sent))
    fixture.expect_passed_on(pipe.upstream, pipe.downstream, elements)


@PROCESSOR.check("4.1", needs="multicast")
def remembers_demand_of_long_ago(fixture: ProcessorFixture) -> None:
    """Has one subscriber request much and another one little by little; each element reaches both.

    Ask the source for what the slowest can take, also if the quick ones asked for it long ago.
    """
    elements = fixture.as_publisher.at_most(4, 2)
    pipe = fixture.pipe(name="quick")
    slow = fixture.as_publisher.join(pipe.processor, name="slow")
    pipe.downstream.request(elements)
    for count in range(1, elements + 1):
        slow.request(1)
        if len(pipe.upstream.sent) < count:
            fixture.feed(pipe.upstream, 1)
        for probe in (slow, pipe.downstream):
            fixture.expect_passed_on(pipe.upstream, probe, count)


@PROCESSOR.check("4.1")
def tolerates_a_cancel_from_downstream(fixture: ProcessorFixture) -> None:
    """Cancels at each of the first elements, then sends what was on its way; all is silent.

    Once the subscriber has cancelled, drop what still comes for it, and raise nothing.
    """
    for index in range(fixture.as_publisher.at_most(3, 1)):
        pipe = fixture.pipe()
        pipe.downstream.request(index + 2)
        fixture.feed(pipe.upstream, index)
        fixture.expect_passed_on(pipe.upstream, pipe.downstream, index)
        pipe.downstream.cancel()
        fixture.environment.settle()
        with fixture.as_publisher.silence(pipe.downstream, f"cancelled at element {index}"):
            if pipe.upstream.demand > 0:
                pipe.upstream.next()
            pipe.upstream.complete()


@PROCESSOR.check("2.4", needs="completes")
def calls_nothing_upstream_after_completion(fixture: ProcessorFixture) -> None:
    """Completes the source, then requests and cancels, also in on_next; the source is not called.

    Forget the subscription when the source ends, also while elements of it are still to be sent.
    """

    def ask_again(probe: Probe) -> None:
        if pipe.upstream.over:
            probe.request(1)

    for within in ({}, {"on_element": ask_again}, {"cancel_at": 2}):
        pipe = fixture.pipe(**within)
        pipe.downstream.request(1)
        fixture.fill(pipe.upstream, fixture.as_publisher.at_most(3, 1))
        fixture.environment.settle()
        pipe.upstream.complete(at_rest=True)
        fixture.environment.settle()
        for _ in range(3):
            pipe.downstream.request(1)
            fixture.environment.settle()
        pipe.downstream.cancel()
        fixture.environment.settle()


@PROCESSOR.check("2.7", explored=True)
def calls_upstream_one_call_at_a_time(fixture: ProcessorFixture) -> None:
    """Sends on one thread while the subscriber requests on another; calls upstream never overlap.

    Call the source from one place only, such as a loop that only one thread is in.
    """
    pipe = fixture.pipe(strict=True, request=1)
    fixture.environment.together(
        lambda: pipe.upstream.send_next() and pipe.upstream.send_next(),
        lambda: pipe.downstream.request(1),
    )
    fixture.environment.settle()
    if not pipe.upstream.sent:  # it was not asked in time
        fixture.fill(pipe.upstream, 1)
    came_out = fixture.environment.reaches(lambda: bool(pipe.downstream.elements))
    fixture.require(came_out, "an element was requested, and none came out")


def _expect_completion(fixture: ProcessorFixture, pipe: ProcessorPipe) -> None:
    """A processor may wait for demand after the last element, unless it says otherwise."""
    fixture.environment.settle()
    if not pipe.downstream.ended and not fixture.claims.completes_eagerly:
        pipe.downstream.request(1)
    fixture.as_publisher.expect_completion(pipe.downstream)


# Errors that come from upstream: rule 4.2.


@PROCESSOR.check("4.2")
def passes_an_error_on_at_each_element(fixture: ProcessorFixture) -> None:
    """Lets the source fail after 0, 1, 2 and 3 elements, with demand left; on_error comes out.

    Let on_error of the processor lead to on_error of its subscriber, at once.
    """
    fixture.need_no_recovery()
    for index in range(fixture.as_publisher.at_most(3) + 1):
        pipe = fixture.pipe()
        pipe.downstream.request(index + 1)
        fixture.feed(pipe.upstream, index)
        fixture.expect_passed_on(pipe.upstream, pipe.downstream, index)
        _expect_error_on(fixture, pipe)


@PROCESSOR.check("4.2")
def passes_an_error_on_without_demand(fixture: ProcessorFixture) -> None:
    """Lets the source fail when all that was requested has come; on_error comes out all the same.

    An error does not wait for a request.
    """
    fixture.need_no_recovery()
    for index in range(fixture.as_publisher.at_most(2) + 1):
        pipe = fixture.pipe()
        if index:
            pipe.downstream.request(index)
        fixture.feed(pipe.upstream, index)
        fixture.expect_passed_on(pipe.upstream, pipe.downstream, index)
        _expect_error_on(fixture, pipe)


@PROCESSOR.check("4.2")
def passes_an_error_on_ahead_of_what_it_holds(fixture: ProcessorFixture) -> None:
    """Sends all that the processor asks for, with little demand, and fails; on_error comes out.

    An error does not wait for elements without demand: drop those.
    """
    fixture.need_no_recovery()
    for requested in (0, 1):
        pipe = fixture.pipe()
        if requested:
            pipe.downstream.request(requested)
        fixture.fill(pipe.upstream, fixture.as_publisher.at_most(4))
        fixture.environment.settle()
        _expect_error_on(fixture, pipe)


@PROCESSOR.check("4.2", needs="multicast")
def passes_an_error_on_to_all(fixture: ProcessorFixture) -> None:
    """Lets the source fail while one subscriber is ahead of the other; on_error reaches both.

    Send the error to each subscriber, whatever elements it has not got yet.
    """
    fixture.need_no_recovery()
    pipe = fixture.pipe(name="quick")
    slow = fixture.as_publisher.join(pipe.processor, name="slow")
    pipe.downstream.request(2)
    fixture.fill(pipe.upstream, fixture.as_publisher.at_most(2))
    fixture.environment.settle()
    error = Failed("sent by the kit")
    pipe.upstream.fail(error)
    for probe in (pipe.downstream, slow):
        _expect_the_error(fixture, probe, error)


@PROCESSOR.check("4.2", explored=True)
def loses_no_error(fixture: ProcessorFixture) -> None:
    """Sends an element and fails while the subscriber requests elsewhere; on_error comes out.

    Check for an error once more before the thread that sends goes to rest.
    """
    fixture.need_no_recovery()
    pipe = fixture.pipe(request=1, lingers=True)
    error = Failed("sent by the kit")

    def fail() -> None:
        pipe.upstream.send_next()
        pipe.upstream.fail(error)

    fixture.environment.together(fail, lambda: pipe.downstream.request(2))
    _expect_the_error(fixture, pipe.downstream, error)
    fixture.expect_in_order(pipe.upstream, pipe.downstream)


@PROCESSOR.check("4.2", needs="recovers")
def recovers_from_an_error(fixture: ProcessorFixture) -> None:
    """Lets the source fail after 0, 1 and 2 elements; the stream goes on downstream, or completes.

    A processor that recovers from an error owes its subscriber the rest of the stream.
    """
    for index in range(fixture.as_publisher.at_most(2) + 1):
        _expect_recovery(fixture, _failed(fixture, index).downstream, index)


@PROCESSOR.check("4.2", needs="recovers")
def leaves_what_has_failed_alone(fixture: ProcessorFixture) -> None:
    """Lets the source fail, then requests and cancels; the old subscription is not called.

    A subscription whose stream has failed is cancelled: forget it before you go on.
    """
    for index in range(fixture.as_publisher.at_most(2) + 1):
        pipe = _failed(fixture, index)
        fixture.environment.settle()
        calls = pipe.upstream.spy.calls
        pipe.downstream.request(1)
        fixture.environment.settle()
        pipe.downstream.cancel()
        fixture.environment.settle()
        more = pipe.upstream.spy.calls - calls
        fixture.require(more == 0, f"the subscription that had failed was called {more} times")


def _failed(fixture: ProcessorFixture, index: int) -> ProcessorPipe:
    """A pipe whose source has failed after so many elements, with demand left."""
    pipe = fixture.pipe()
    pipe.downstream.request(index + 1)
    fixture.feed(pipe.upstream, index)
    fixture.expect_passed_on(pipe.upstream, pipe.downstream, index)
    pipe.upstream.fail()
    return pipe


def _expect_recovery(fixture: ProcessorFixture, probe: Probe, index: int) -> None:
    fixture.require(
        fixture.environment.reaches(lambda: probe.ended or len(probe.elements) > index),
        "the source failed, and then neither elements nor an end came out",
    )
    fixture.require(probe.error is None, f"on_error({shorten(probe.error)}) came out")


def _expect_error_on(fixture: ProcessorFixture, pipe: ProcessorPipe) -> None:
    error = Failed("sent by the kit")
    pipe.upstream.fail(error)
    _expect_the_error(fixture, pipe.downstream, error)
    fixture.expect_in_order(pipe.upstream, pipe.downstream)


def _expect_the_error(fixture: ProcessorFixture, probe: Probe, error: Failed) -> None:
    fixture.require(fixture.environment.reaches(lambda: probe.ended), "the error was not passed on")
    fixture.require(not probe.completed, "on_complete came in place of the error")
    fixture.require(
        _tells_of(probe.error, error), f"on_error({shorten(probe.error)}) came, another error"
    )


def _tells_of(got: BaseException | None, error: Failed) -> bool:
    """Whether this is the error, or one that was raised because of it."""
    while got is not None and got is not error:
        got = got.__cause__ or got.__context__
    return got is error
