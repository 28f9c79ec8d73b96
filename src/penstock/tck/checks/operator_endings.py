"""Checks of how a stream through an operator ends: by completion, by errors, by a cancel."""

from __future__ import annotations

from typing import Any, Final
from weakref import ref

from penstock.api import Publisher
from penstock.demand.timeline import shorten
from penstock.tck.checks.operator_suite import check
from penstock.tck.claims import NotClaimed
from penstock.tck.operator_bench import OperatorBench, Pipe
from penstock.tck.probe import Probe
from penstock.tck.stream import Failed
from penstock.tck.upstream import UpstreamStream

FEW: Final = 6


@check("1.4")
def passes_an_error_on(bench: OperatorBench) -> None:
    """Lets the source fail behind 0 to 3 elements, with much demand; on_error comes out.

    Let on_error above lead to on_error below, behind what has been asked for.
    """
    _need_errors(bench)
    for index in range(4):
        pipe = _fed(bench, index, demand=FEW)
        if _fail(bench, pipe):
            _expect_failure(bench, pipe.below)
            _expect_all_before(bench, pipe)


@check("1.4")
def keeps_an_error_behind_elements(bench: OperatorBench) -> None:
    """Lets the source fail with elements held for want of demand; they come first.

    An error is part of the stream, and comes behind the elements that were sent before it.
    """
    _need_errors(bench)
    if bench.claims.errors_overtake:
        raise NotClaimed("errors overtake elements")
    pipe = _fed(bench, 4, demand=1)
    if _fail(bench, pipe):
        bench.arena.settle()
        for _ in range(FEW):
            if not pipe.below.ended:
                pipe.below.request(1)
                bench.arena.settle()
        _expect_failure(bench, pipe.below)
        _expect_all_before(bench, pipe)


@check("4.2")
def passes_an_error_on_without_demand(bench: OperatorBench) -> None:
    """Lets the source fail when all that was requested has come; on_error comes all the same.

    An error does not wait for a request, if no element stands before it.
    """
    _need_errors(bench)
    for index in (1, 2):
        pipe = _fed(bench, index, demand=index)
        sent = list(bench.above(pipe).sent)
        if bench.fails(sent) or len(pipe.below.elements) < len(bench.out(sent)):
            raise NotClaimed("the subject holds elements back")
        if _fail(bench, pipe):
            _expect_failure(bench, pipe.below)


@check("4.2", needs="errors_overtake")
def passes_an_error_on_at_once(bench: OperatorBench) -> None:
    """Lets the source fail with elements held for want of demand; on_error comes at once.

    Look for an error before you look at the elements that you hold, and whatever the demand is.
    """
    for demand in (1, 2):
        pipe = _fed(bench, 4, demand=demand)
        if _fail(bench, pipe):
            _expect_failure(bench, pipe.below)


@check("1.4", needs="failing")
def signals_what_its_function_raises(bench: OperatorBench) -> None:
    """Applies the operator with a function that raises; on_error comes out.

    Catch what the function raises, and hand it to on_error.
    """
    pipe = _broken(bench)
    pipe.below.request(FEW)
    bench.below.expect_error(pipe.below, "1.4")


@check("2.6", needs="failing")
def cancels_above_when_its_function_raises(bench: OperatorBench) -> None:
    """Applies the operator with a function that raises; the stream above is cancelled, once.

    Nobody needs the rest of the stream when yours has failed: cancel it.
    """
    pipe = _broken(bench)
    pipe.below.request(FEW)
    above = bench.above(pipe)
    bench.require(
        bench.arena.reaches(lambda: above.spy.cancelled), "the stream above was not cancelled"
    )
    bench.arena.settle()
    times = above.spy.cancels
    bench.require(times == 1, f"the stream above was cancelled {times} times")


@check("1.5")
def passes_completion_on(bench: OperatorBench) -> None:
    """Completes the source behind 0 to 3 elements, with demand left; on_complete comes out.

    Let on_complete above lead to on_complete below, once nothing is left to send.
    """
    for index in range(4):
        pipe = _fed(bench, index, demand=FEW)
        bench.complete(pipe)
        bench.expect_end(pipe.below, bench.above(pipe).sent)


@check("1.5")
def completes_behind_elements(bench: OperatorBench) -> None:
    """Completes the source with elements held for want of demand; on_complete comes behind them.

    Remember that the source has completed, and signal it when the last element is sent.
    """
    pipe = _fed(bench, bench.enough(4), demand=1)
    bench.complete(pipe)
    sent = list(bench.above(pipe).sent)
    if bench.fails(sent):
        raise NotClaimed(f"needs {bench.claims.needs_elements} elements, and took {len(sent)}")
    wanted = bench.out(sent)
    for _ in range(len(wanted)):
        if not pipe.below.ended:
            pipe.below.request(1)
    if bench.claims.resubscribes:
        bench.arena.settle()
        bench.need_one_stream(pipe)  # which may have waited for demand
    bench.expect_out(pipe.below, wanted)
    bench.expect_end(pipe.below, sent)


@check("2.4")
def calls_nothing_above_once_that_is_over(bench: OperatorBench) -> None:
    """Completes the source, then requests and cancels below; the source is not called any more.

    Forget the subscription when the source ends, also while elements of it are still to be sent.
    """
    pipe = _fed(bench, 4, demand=1)
    above = bench.above(pipe)
    if bench.is_left(above):
        raise NotClaimed(f"the subject cancelled after {len(above.sent)} elements")
    above.complete(at_rest=True)
    bench.arena.settle()
    pipe.below.request(1)
    bench.arena.settle()
    pipe.below.cancel()
    bench.arena.settle()


@check("2.6")
def passes_cancel_on(bench: OperatorBench) -> None:
    """Cancels behind 0 to 3 elements, with demand left; the stream above is cancelled.

    Cancel above when you are cancelled, also before the first element.
    """
    for index in range(4):
        pipe = _fed(bench, index, demand=FEW)
        above = bench.above(pipe)
        pipe.below.cancel()
        _expect_left(bench, above)


@check("2.6", needs="cancels_early")
def cancels_above_when_it_has_enough(bench: OperatorBench) -> None:
    """Sends as long as there is demand; the operator cancels above, and completes below.

    Cancel above with the last element that you want, and do not wait for another one.
    """
    pipe = bench.led_pipe()
    pipe.below.request(1_000)
    above = bench.above(pipe)
    bench.fill(above, 200)
    bench.require(above.spy.cancelled, f"it took {len(above.sent)} elements, and wants more")
    bench.expect_out(pipe.below, bench.out(list(above.sent)))
    bench.expect_end(pipe.below, above.sent)


@check("3.5")
def cancels_above_once(bench: OperatorBench) -> None:
    """Cancels three times, in on_next and from outside; the stream above is cancelled once.

    Let only the first cancel go upstream.
    """
    for index in range(3):
        pipe = _fed(bench, index, demand=FEW)
        for _ in range(3):
            pipe.below.cancel()
        bench.arena.settle()
        _expect_one_cancel(bench, pipe)
    pipe = bench.pipe(FEW, cancel_at=1)
    pipe.below.request(FEW)
    bench.arena.settle()
    pipe.below.cancel()
    bench.arena.settle()
    _expect_one_cancel(bench, pipe)


@check("1.6")
def drops_the_subscriber_at_the_end(bench: OperatorBench) -> None:
    """Takes a stream to its end and lets go of the subscriber; nobody else holds it.

    Clear all that refers to the subscriber when the stream ends.
    """
    endings = ["on_complete"] if bench.claims.absorbs_errors else ["on_complete", "on_error"]
    for ending in endings:
        source = bench.source(elements=bench.enough(2), ending=ending)
        operator = bench.applied(source)  # it stays, and so does its source
        bench.below.expect_dropped(_ended(bench, operator, ending))


@check("3.13")
def drops_the_subscriber_after_cancel(bench: OperatorBench) -> None:
    """Cancels in on_next and from outside, and lets go of the subscriber; nobody else holds it.

    Clear all that refers to the subscriber when it cancels: what is upstream still refers to you.
    """
    source = bench.source(elements=FEW, ending="on_complete")
    operator = bench.applied(source)
    for cancel_at in (1, 0):
        probe = bench.below.join(operator, cancel_at=cancel_at)
        probe.request(1)
        bench.arena.settle()
        probe.cancel()
        bench.arena.settle()
        subscriber = ref(probe)
        del probe
        bench.below.expect_dropped(subscriber)


def _need_errors(bench: OperatorBench) -> None:
    if bench.claims.absorbs_errors:
        raise NotClaimed("errors do not come out")


def _fed(bench: OperatorBench, elements: int, *, demand: int) -> Pipe:
    """A pipe that has taken up to so many elements, and is at rest."""
    pipe = bench.led_pipe()
    pipe.below.request(demand)
    bench.fill(bench.above(pipe), elements)
    bench.arena.settle()
    return pipe


def _broken(bench: OperatorBench) -> Pipe:
    failing = bench.claims.failing
    assert failing is not None
    return bench.joined(bench.source(elements=1_000), failing)


def _fail(bench: OperatorBench, pipe: Pipe) -> bool:
    """Let the source fail, unless the operator has left it already."""
    above = bench.above(pipe)
    if bench.is_left(above):
        return False
    above.fail()
    return True


def _expect_failure(bench: OperatorBench, probe: Probe) -> None:
    bench.require(bench.arena.reaches(lambda: probe.ended), "the error did not come out")
    bench.require(not probe.completed, "on_complete came in place of the error")
    bench.require(
        isinstance(probe.error, Failed) or bench.claims.expected is not None or _has_cause(probe),
        f"on_error({shorten(probe.error)}) came, another error",
    )


def _has_cause(probe: Probe) -> bool:
    error: BaseException | None = probe.error
    while error is not None and not isinstance(error, Failed):
        error = error.__cause__ or error.__context__
    return error is not None


def _expect_all_before(bench: OperatorBench, pipe: Pipe) -> None:
    """What was sent before an error has come out, except for what may have waited for more."""
    claims, sent = bench.claims, list(bench.above(pipe).sent)
    wanted = [] if bench.fails(sent) else bench.out(sent)
    bench.expect_beginning(pipe.below, wanted)
    missing = len(wanted) - len(pipe.below.elements)
    waits = 0 if claims.expected is None else 1
    bench.require(
        missing <= waits or claims.errors_overtake or claims.resubscribes,
        f"on_error came ahead of {missing} elements",
    )


def _expect_left(bench: OperatorBench, above: UpstreamStream) -> None:
    bench.require(
        bench.arena.reaches(lambda: bench.is_left(above)),
        "the subscriber cancelled, and the stream above was not cancelled",
    )


def _expect_one_cancel(bench: OperatorBench, pipe: Pipe) -> None:
    times = pipe.source.cancels
    bench.require(times <= 1, f"the stream above was cancelled {times} times")


def _ended(bench: OperatorBench, operator: Publisher[Any], ending: str) -> ref[Probe]:
    probe = bench.below.join(operator)
    probe.request(FEW)
    bench.arena.reaches(lambda: probe.ended)
    bench.require(probe.ended, f"{ending} came in, and nothing came out")
    return ref(probe)
