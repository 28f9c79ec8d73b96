"""Checks of errors that come from above: rule 4.2."""

from __future__ import annotations

from penstock.demand.timeline import shorten
from penstock.tck.checks.processor_suite import check
from penstock.tck.probe import Probe
from penstock.tck.processor_bench import Pipe, ProcessorBench
from penstock.tck.stream import Failed


@check("4.2")
def passes_an_error_on_at_each_element(bench: ProcessorBench) -> None:
    """Lets the source fail behind 0, 1, 2 and 3 elements, with demand left; on_error comes out.

    Let on_error of the processor lead to on_error of its subscriber, at once.
    """
    bench.need_no_recovery()
    for index in range(bench.below.at_most(3) + 1):
        pipe = bench.pipe()
        pipe.below.request(index + 1)
        bench.feed(pipe.above, index)
        bench.expect_passed_on(pipe.above, pipe.below, index)
        _expect_error_on(bench, pipe)


@check("4.2")
def passes_an_error_on_without_demand(bench: ProcessorBench) -> None:
    """Lets the source fail when all that was requested has come; on_error comes out all the same.

    An error does not wait for a request.
    """
    bench.need_no_recovery()
    for index in range(bench.below.at_most(2) + 1):
        pipe = bench.pipe()
        if index:
            pipe.below.request(index)
        bench.feed(pipe.above, index)
        bench.expect_passed_on(pipe.above, pipe.below, index)
        _expect_error_on(bench, pipe)


@check("4.2")
def passes_an_error_on_ahead_of_what_it_holds(bench: ProcessorBench) -> None:
    """Sends all that the processor asks for, with little demand below, and fails; on_error comes.

    An error does not wait behind elements for which there is no demand: drop those.
    """
    bench.need_no_recovery()
    for requested in (0, 1):
        pipe = bench.pipe()
        if requested:
            pipe.below.request(requested)
        bench.fill(pipe.above, bench.below.at_most(4))
        bench.arena.settle()
        _expect_error_on(bench, pipe)


@check("4.2", needs="multicast")
def passes_an_error_on_to_all(bench: ProcessorBench) -> None:
    """Lets the source fail while one subscriber is ahead of the other; on_error reaches both.

    Send the error to each subscriber, whatever elements it has not got yet.
    """
    bench.need_no_recovery()
    pipe = bench.pipe(name="quick")
    slow = bench.below.join(pipe.processor, name="slow")
    pipe.below.request(2)
    bench.fill(pipe.above, bench.below.at_most(2))
    bench.arena.settle()
    error = Failed("sent by the kit")
    pipe.above.fail(error)
    for probe in (pipe.below, slow):
        _expect_the_error(bench, probe, error)


@check("4.2", explored=True)
def loses_no_error(bench: ProcessorBench) -> None:
    """Sends an element and fails while the subscriber requests elsewhere; on_error comes out.

    Look for an error once more before the thread that sends goes to rest.
    """
    bench.need_no_recovery()
    pipe = bench.pipe(request=1, lingers=True)
    error = Failed("sent by the kit")

    def fail() -> None:
        pipe.above.send_next()
        pipe.above.fail(error)

    bench.arena.together(fail, lambda: pipe.below.request(2))
    _expect_the_error(bench, pipe.below, error)
    bench.expect_in_sequence(pipe.above, pipe.below)


@check("4.2", needs="recovers")
def recovers_from_an_error(bench: ProcessorBench) -> None:
    """Lets the source fail behind 0, 1 and 2 elements; the stream goes on below, or completes.

    Whoever recovers from an error owes its subscriber the rest of the stream.
    """
    for index in range(bench.below.at_most(2) + 1):
        _expect_recovery(bench, _failed(bench, index).below, index)


@check("4.2", needs="recovers")
def leaves_what_has_failed_alone(bench: ProcessorBench) -> None:
    """Lets the source fail, then requests and cancels below; the old subscription is not called.

    A subscription whose stream has failed is cancelled: forget it before you go on.
    """
    for index in range(bench.below.at_most(2) + 1):
        pipe = _failed(bench, index)
        bench.arena.settle()
        calls = pipe.above.spy.calls
        pipe.below.request(1)
        bench.arena.settle()
        pipe.below.cancel()
        bench.arena.settle()
        more = pipe.above.spy.calls - calls
        bench.require(more == 0, f"the subscription that had failed was called {more} times")


def _failed(bench: ProcessorBench, index: int) -> Pipe:
    """A pipe whose source has failed behind so many elements, with demand left."""
    pipe = bench.pipe()
    pipe.below.request(index + 1)
    bench.feed(pipe.above, index)
    bench.expect_passed_on(pipe.above, pipe.below, index)
    pipe.above.fail()
    return pipe


def _expect_recovery(bench: ProcessorBench, probe: Probe, index: int) -> None:
    bench.require(
        bench.arena.reaches(lambda: probe.ended or len(probe.elements) > index),
        "the source failed, and then neither elements nor an end came out",
    )
    bench.require(probe.error is None, f"on_error({shorten(probe.error)}) came out")


def _expect_error_on(bench: ProcessorBench, pipe: Pipe) -> None:
    error = Failed("sent by the kit")
    pipe.above.fail(error)
    _expect_the_error(bench, pipe.below, error)
    bench.expect_in_sequence(pipe.above, pipe.below)


def _expect_the_error(bench: ProcessorBench, probe: Probe, error: Failed) -> None:
    bench.require(bench.arena.reaches(lambda: probe.ended), "the error was not passed on")
    bench.require(not probe.completed, "on_complete came in place of the error")
    bench.require(
        _tells_of(probe.error, error), f"on_error({shorten(probe.error)}) came, another error"
    )


def _tells_of(got: BaseException | None, error: Failed) -> bool:
    """Whether this is the error, or one that was raised because of it."""
    while got is not None and got is not error:
        got = got.__cause__ or got.__context__
    return got is error
