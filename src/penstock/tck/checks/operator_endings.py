"""Checks of how a stream through an operator ends: by completion, by errors, by a cancel."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from weakref import ref

from penstock.api import Publisher
from penstock.runtime import shorten
from penstock.tck.checks.suites import OPERATOR
from penstock.tck.claims import NotClaimed
from penstock.tck.operator_fixture import OperatorFixture, OperatorPipe
from penstock.tck.probe import LEAVING, Probe
from penstock.tck.stream import Failed
from penstock.tck.upstream import UpstreamStream

FEW: Final = 6


@OPERATOR.check("1.4")
def passes_an_error_on(fixture: OperatorFixture) -> None:
    """Lets the source fail after 0 to 3 elements, with much demand; on_error comes out.

    Let on_error from upstream lead to on_error downstream, after what has been asked for.
    """
    _need_errors(fixture)
    for index in range(4):
        pipe = _fed(fixture, index, demand=FEW)
        if _fail(fixture, pipe):
            _expect_failure(fixture, pipe.downstream)
            _expect_all_before(fixture, pipe)


@OPERATOR.check("1.4")
def keeps_an_error_after_the_elements(fixture: OperatorFixture) -> None:
    """Lets the source fail with elements held for want of demand; they come first.

    An error is part of the stream, and comes after the elements that were sent before it.
    """
    _need_errors(fixture)
    if fixture.claims.errors_overtake:
        raise NotClaimed("errors overtake elements")
    pipe = _fed(fixture, 4, demand=1)
    if _fail(fixture, pipe):
        fixture.environment.settle()
        for _ in range(FEW):
            if not pipe.downstream.ended:
                pipe.downstream.request(1)
                fixture.environment.settle()
        _expect_failure(fixture, pipe.downstream)
        _expect_all_before(fixture, pipe)


@OPERATOR.check("4.2")
def passes_an_error_on_without_demand(fixture: OperatorFixture) -> None:
    """Lets the source fail when all that was requested has come; on_error comes all the same.

    An error does not wait for a request, if no element stands before it.
    """
    _need_errors(fixture)
    for index in (1, 2):
        pipe = _fed(fixture, index, demand=index)
        sent = list(fixture.upstream_of(pipe).sent)
        if fixture.fails(sent) or len(pipe.downstream.elements) < len(fixture.out(sent)):
            raise NotClaimed("the subject holds elements back")
        if _fail(fixture, pipe):
            _expect_failure(fixture, pipe.downstream)


@OPERATOR.check("4.2", needs="errors_overtake")
def passes_an_error_on_at_once(fixture: OperatorFixture) -> None:
    """Lets the source fail with elements held for want of demand; on_error comes at once.

    Check for an error before you send the elements that you hold, and whatever the demand is.
    """
    for demand in (1, 2):
        pipe = _fed(fixture, 4, demand=demand)
        if _fail(fixture, pipe):
            _expect_failure(fixture, pipe.downstream)


@OPERATOR.check("1.4", needs="failing")
def signals_what_its_function_raises(fixture: OperatorFixture) -> None:
    """Applies the operator with a function that raises; on_error comes out.

    Catch what the function raises, and hand it to on_error.
    """
    for pipe in _broken(fixture):
        fixture.as_publisher.expect_error(pipe.downstream, "1.4")


@OPERATOR.check("2.6", needs="failing")
def cancels_upstream_when_its_function_raises(fixture: OperatorFixture) -> None:
    """Applies the operator with a function that raises; upstream is cancelled, once.

    Nobody needs the rest of the stream when yours has failed: cancel it.
    """
    for pipe in _broken(fixture):
        spy = fixture.upstream_of(pipe).spy
        fixture.environment.settle()
        fixture.require(spy.cancelled, "upstream was not cancelled")
        fixture.require(spy.cancels == 1, f"upstream was cancelled {spy.cancels} times")


@OPERATOR.check("1.5")
def passes_completion_on(fixture: OperatorFixture) -> None:
    """Completes the source after 0 to 3 elements, with demand left; on_complete comes out.

    Let on_complete from upstream lead to on_complete downstream, once nothing is left to send.
    """
    for index in range(4):
        pipe = _fed(fixture, index, demand=FEW)
        fixture.complete(pipe)
        fixture.expect_end(pipe.downstream, fixture.upstream_of(pipe).sent)


@OPERATOR.check("1.5")
def completes_after_the_elements(fixture: OperatorFixture) -> None:
    """Completes the source with elements held for want of demand; on_complete comes after them.

    Remember that the source has completed, and signal it when the last element is sent.
    """
    pipe = _fed(fixture, fixture.enough(4), demand=1)
    fixture.complete(pipe)
    sent = list(fixture.upstream_of(pipe).sent)
    if fixture.fails(sent):
        raise NotClaimed(f"needs {fixture.claims.needs_elements} elements, and took {len(sent)}")
    wanted = fixture.out(sent)
    for _ in range(len(wanted)):
        if not pipe.downstream.ended:
            pipe.downstream.request(1)
    if fixture.claims.resubscribes:
        fixture.environment.settle()
        fixture.need_one_stream(pipe)  # which may have waited for demand
    fixture.expect_out(pipe.downstream, wanted)
    fixture.expect_end(pipe.downstream, sent)


@OPERATOR.check("2.4")
def calls_nothing_upstream_once_that_is_over(fixture: OperatorFixture) -> None:
    """Completes the source, then requests and cancels, also in on_next; the source is not called.

    Forget the subscription when the source ends, also while elements of it are still to be sent.
    """
    for within in ({}, {"on_element": _ask_again}, {"cancel_at": 2}):
        pipe = _fed(fixture, 4, demand=1, **within)
        upstream = fixture.upstream_of(pipe)
        if fixture.is_left(upstream):
            raise NotClaimed(f"the subject cancelled after {len(upstream.sent)} elements")
        upstream.complete(at_rest=True)
        fixture.environment.settle()
        pipe.downstream.request(1)
        fixture.environment.settle()
        pipe.downstream.cancel()
        fixture.environment.settle()


@OPERATOR.check("2.6")
def passes_cancel_on(fixture: OperatorFixture) -> None:
    """Cancels after 0 to 3 elements with demand left, and in signals; upstream is cancelled.

    Cancel upstream when you are cancelled, also before the first element.
    """
    for index in range(4):
        pipe = _fed(fixture, index, demand=FEW)
        upstream = fixture.upstream_of(pipe)
        pipe.downstream.cancel()
        _expect_left(fixture, upstream)
    for leaving in LEAVING:
        pipe = fixture.joined(fixture.source(elements=FEW), request=FEW, **leaving)
        fixture.environment.settle()
        if pipe.downstream.cancelled_after is not None:  # with no element, it stays
            for upstream in pipe.source.streams:
                _expect_left(fixture, upstream)


@OPERATOR.check("2.6", needs="cancels_early")
def cancels_upstream_when_it_has_enough(fixture: OperatorFixture) -> None:
    """Sends as long as there is demand; the operator cancels upstream, and completes downstream.

    Cancel upstream with the last element that you want, and do not wait for another one.
    """
    pipe = fixture.led_pipe()
    pipe.downstream.request(1_000)
    upstream = fixture.upstream_of(pipe)
    fixture.fill(upstream, 200)
    fixture.require(
        upstream.spy.cancelled, f"it took {len(upstream.sent)} elements, and wants more"
    )
    fixture.expect_out(pipe.downstream, fixture.out(list(upstream.sent)))
    fixture.expect_end(pipe.downstream, upstream.sent)


@OPERATOR.check("3.5")
def cancels_upstream_once(fixture: OperatorFixture) -> None:
    """Cancels three times, in a signal and from outside; upstream is cancelled once.

    Let only the first cancel go upstream.
    """
    for index in range(3):
        pipe = _fed(fixture, index, demand=FEW)
        for _ in range(3):
            pipe.downstream.cancel()
        fixture.environment.settle()
        _expect_one_cancel(fixture, pipe)
    for leaving in LEAVING:
        pipe = fixture.pipe(FEW, request=FEW, on_element=Probe.cancel, **leaving)
        fixture.environment.settle()
        for _ in range(2):
            pipe.downstream.cancel()
        fixture.environment.settle()
        _expect_one_cancel(fixture, pipe)


@OPERATOR.check("1.6")
def drops_the_subscriber_at_the_end(fixture: OperatorFixture) -> None:
    """Takes a stream to its end and drops the subscriber; nobody else holds it.

    Clear all that refers to the subscriber when the stream ends.
    """
    endings = ["on_complete"] if fixture.claims.absorbs_errors else ["on_complete", "on_error"]
    for ending in endings:
        source = fixture.source(elements=fixture.enough(2), ending=ending)
        operator = fixture.applied(source)  # it stays, and so does its source
        fixture.as_publisher.expect_dropped(_ended(fixture, operator, ending))


@OPERATOR.check("3.13")
def drops_the_subscriber_after_cancel(fixture: OperatorFixture) -> None:
    """Cancels in a signal and from outside, and drops the subscriber; nobody else holds it.

    Clear all that refers to the subscriber when it cancels: what is upstream still refers to you.
    """
    source = fixture.source(elements=FEW, ending="on_complete")
    operator = fixture.applied(source)
    for leaving in (*LEAVING, {}):
        probe = fixture.as_publisher.join(operator, **leaving)
        probe.request(1)
        fixture.environment.settle()
        probe.cancel()
        fixture.environment.settle()
        subscriber = ref(probe)
        del probe
        fixture.as_publisher.expect_dropped(subscriber)


def _ask_again(probe: Probe) -> None:
    """Request another element, unless this is the first one."""
    if len(probe.elements) > 1:
        probe.request(1)


def _need_errors(fixture: OperatorFixture) -> None:
    if fixture.claims.absorbs_errors:
        raise NotClaimed("errors do not come out")


def _fed(fixture: OperatorFixture, elements: int, *, demand: int, **behaviour: Any) -> OperatorPipe:
    """A pipe that has taken up to so many elements, and is at rest."""
    pipe = fixture.led_pipe(**behaviour)
    pipe.downstream.request(demand)
    fixture.fill(fixture.upstream_of(pipe), elements)
    fixture.environment.settle()
    return pipe


def _broken(fixture: OperatorFixture) -> Iterator[OperatorPipe]:
    """Pipes with a function that raises; it is called for requests from outside or in signals."""
    failing = fixture.claims.failing
    assert failing is not None
    for within in ({}, {"request": FEW}, {"request": 1, "each": 1}):
        pipe = fixture.joined(fixture.source(elements=1_000), failing, **within)
        if not within:
            pipe.downstream.request(FEW)
        yield pipe


def _fail(fixture: OperatorFixture, pipe: OperatorPipe) -> bool:
    """Let the source fail, unless the operator has left it already."""
    upstream = fixture.upstream_of(pipe)
    if fixture.is_left(upstream):
        return False
    upstream.fail()
    return True


def _expect_failure(fixture: OperatorFixture, probe: Probe) -> None:
    fixture.require(fixture.environment.reaches(lambda: probe.ended), "the error did not come out")
    fixture.require(not probe.completed, "on_complete came in place of the error")
    fixture.require(
        isinstance(probe.error, Failed) or fixture.claims.expected is not None or _has_cause(probe),
        f"on_error({shorten(probe.error)}) came, another error",
    )


def _has_cause(probe: Probe) -> bool:
    error: BaseException | None = probe.error
    while error is not None and not isinstance(error, Failed):
        error = error.__cause__ or error.__context__
    return error is not None


def _expect_all_before(fixture: OperatorFixture, pipe: OperatorPipe) -> None:
    """What was sent before an error has come out, except for what may have waited for more."""
    claims, sent = fixture.claims, list(fixture.upstream_of(pipe).sent)
    wanted = [] if fixture.fails(sent) else fixture.out(sent)
    fixture.expect_beginning(pipe.downstream, wanted)
    missing = len(wanted) - len(pipe.downstream.elements)
    waits = 0 if claims.expected is None else 1
    fixture.require(
        missing <= waits or claims.errors_overtake or claims.resubscribes,
        f"on_error came ahead of {missing} elements",
    )


def _expect_left(fixture: OperatorFixture, upstream: UpstreamStream) -> None:
    fixture.require(
        fixture.environment.reaches(lambda: fixture.is_left(upstream)),
        "the subscriber cancelled, and upstream was not cancelled",
    )


def _expect_one_cancel(fixture: OperatorFixture, pipe: OperatorPipe) -> None:
    times = pipe.source.cancels
    fixture.require(times <= 1, f"upstream was cancelled {times} times")


def _ended(fixture: OperatorFixture, operator: Publisher[Any], ending: str) -> ref[Probe]:
    probe = fixture.as_publisher.join(operator)
    probe.request(FEW)
    fixture.environment.reaches(lambda: probe.ended)
    fixture.require(probe.ended, f"{ending} came in, and nothing came out")
    return ref(probe)
