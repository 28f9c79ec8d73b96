"""Checks of errors that come from upstream: rule 4.2."""

from __future__ import annotations

from penstock.runtime import shorten
from penstock.tck.checks.suites import PROCESSOR
from penstock.tck.probe import Probe
from penstock.tck.processor_fixture import ProcessorFixture, ProcessorPipe
from penstock.tck.stream import Failed


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
