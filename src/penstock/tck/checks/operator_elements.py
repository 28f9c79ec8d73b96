"""Checks of the elements that go through an operator, their demand, and threads on both sides."""

from __future__ import annotations

import random
import sys
from typing import Final

from penstock.api import UNBOUNDED
from penstock.tck.checks.publisher_demand import ENDLESS, FRAMES
from penstock.tck.checks.suites import OPERATOR
from penstock.tck.claims import NotClaimed
from penstock.tck.operator_fixture import OperatorFixture, OperatorPipe
from penstock.tck.probe import LEAVING, Probe
from penstock.tck.publisher_fixture import MANY
from penstock.tck.report import FACTORY
from penstock.tck.upstream import UpstreamStream

SOME: Final = 20
"""Elements of a stream that shows what an operator does."""
FEW: Final = 6

RACING: Final = 3
"""Elements that are sent while another thread calls: each of them makes many more schedules."""


@OPERATOR.check("1.1")
def keeps_to_random_demand(fixture: OperatorFixture) -> None:
    """Makes random requests; no more elements come out than were requested.

    Count what was requested from you, whatever you request from upstream.
    """
    wanted = fixture.outcome(fixture.enough(SOME))
    for seed in range(3):
        dice = random.Random(seed)
        pipe = fixture.pipe(fixture.enough(SOME))
        while pipe.downstream.requested < len(wanted):
            left = len(wanted) - pipe.downstream.requested
            pipe.downstream.request(min(dice.randint(1, 4), left))
            fixture.environment.settle()


@OPERATOR.check("1.1")
def starts_each_subscriber_without_demand(fixture: OperatorFixture) -> None:
    """Cancels with demand left over, in a signal; the next one gets nothing before it requests.

    Keep the demand in the subscription, not in the operator.
    """
    for leaving in LEAVING:
        pipe = fixture.pipe(SOME, request=5, name="first", **leaving)
        fixture.environment.settle()
        newcomer = fixture.as_publisher.join(pipe.operator, name="newcomer")
        fixture.environment.settle()
        if not newcomer.ended:
            newcomer.request(1)
            fixture.environment.settle()


@OPERATOR.check("1.10")
def is_new_for_each_stream(fixture: OperatorFixture) -> None:
    """Subscribes twice; each time another subscriber is handed to the source.

    Make a new subscriber whenever you subscribe to the source: it is good for one stream only.
    """
    if fixture.claims.shares:
        raise NotClaimed("the subscribers of the subject share a stream")
    pipe = fixture.pipe(FEW, name="first")
    fixture.as_publisher.join(pipe.operator, name="newcomer")
    fixture.environment.settle()
    made = [stream.subscriber for stream in pipe.source.streams]
    fixture.require(
        len({id(subscriber) for subscriber in made}) == len(made),
        "the source got the same subscriber twice",
    )


@OPERATOR.check("1.11")
def serves_each_subscriber_from_the_start(fixture: OperatorFixture) -> None:
    """Takes the same stream twice; the second subscriber gets what the first got, or is refused.

    Keep counters and buffers in the subscription: the operator itself must not remember anything.
    """
    if fixture.claims.shares:
        raise NotClaimed("the subscribers of the subject share a stream")
    wanted = fixture.outcome(fixture.enough(SOME))
    pipe = fixture.pipe(fixture.enough(SOME), name="first")
    pipe.downstream.request(len(wanted) + 1)
    fixture.expect_out(pipe.downstream, wanted)
    newcomer = fixture.as_publisher.join(pipe.operator, name="newcomer")
    if newcomer.error is None:
        newcomer.request(len(wanted) + 1)
        fixture.environment.settle()
    if newcomer.error is None:
        fixture.expect_out(newcomer, wanted)


@OPERATOR.check("2.1")
def asks_for_no_more_than_it_may_hold(fixture: OperatorFixture) -> None:
    """Sends all that is asked for while nobody wants any; that is no more than ``prefetch``.

    Ask for what was requested from you, and for no more in advance than you are ready to hold.
    """
    if fixture.claims.unbounded:
        raise NotClaimed("the subject asks without limit")
    for requested, early in ((0, 0), (2, 0), (2, 2)):
        pipe = fixture.led_pipe(request=early)
        if requested > early:
            pipe.downstream.request(requested)
        _expect_bounded_demand(fixture, pipe, requested)


def _expect_bounded_demand(fixture: OperatorFixture, pipe: OperatorPipe, requested: int) -> None:
    fixture.environment.settle()
    if not pipe.source.streams:
        return  # it may well wait for the first request
    upstream = pipe.source.streams[0]
    for _ in range(SOME):
        if len(pipe.downstream.elements) < requested and upstream.send_next():
            fixture.environment.settle()
    if len(pipe.downstream.elements) == requested:
        _fill_up(fixture, upstream)


def _fill_up(fixture: OperatorFixture, upstream: UpstreamStream) -> None:
    most = fixture.claims.prefetch
    used = len(upstream.sent)  # to serve those who asked
    sends = True
    while sends and not fixture.is_left(upstream):
        ahead = upstream.spy.requested - used
        fixture.require(
            ahead <= most, f"{ahead} elements were requested ahead of time, at most {most} may be"
        )
        sends = upstream.send_next()
        fixture.environment.settle()


@OPERATOR.check("2.1")
def asks_for_what_was_requested(fixture: OperatorFixture) -> None:
    """Requests one element after the other; demand reaches the source until each has come out.

    Ask upstream for what was requested from you, and again for what you have not passed on.
    """
    wanted = fixture.outcome(fixture.enough(FEW))
    pipe = fixture.led_pipe()
    for _ in wanted:
        pipe.downstream.request(1)
        _serve(fixture, fixture.upstream_of(pipe), pipe.downstream)
    fixture.expect_beginning(pipe.downstream, wanted)


def _serve(fixture: OperatorFixture, upstream: UpstreamStream, probe: Probe) -> None:
    """Send until all that was requested has come out."""
    fixture.environment.settle()
    while len(probe.elements) < probe.requested and not fixture.is_left(upstream):
        if len(upstream.sent) == fixture.enough(FEW):
            return
        fixture.require(
            fixture.environment.reaches(lambda: upstream.demand > 0 or fixture.is_left(upstream)),
            f"{probe.requested} elements were requested, {len(probe.elements)} have come out, "
            f"and only {upstream.spy.requested} were requested from upstream",
        )
        upstream.send_next()
        fixture.environment.settle()


@OPERATOR.check("3.3", real_time=True)
def does_not_recurse_from_element_to_element(fixture: OperatorFixture) -> None:
    """Takes a stream of 10,000 elements one by one; the stack stays as deep as it is.

    Let an inner request only add to the demand, and the outer one send in a loop.
    """
    wanted = fixture.outcome(fixture.enough(ENDLESS))

    def check_depth(probe: Probe) -> None:
        frame, depth = sys._getframe(), 0
        while frame.f_back is not None:
            frame, depth = frame.f_back, depth + 1
        if depth > FRAMES:
            got = len(probe.elements)
            fixture.fail(f"the stack was {depth} frames deep at element {got}, and growing")

    pipe = fixture.pipe(fixture.enough(ENDLESS), each=1, on_element=check_depth)
    pipe.downstream.request(1)
    if not fixture.as_publisher.comes(pipe.downstream, len(wanted)):
        # One that is merely slow has shown enough, unless it has shown nothing.
        is_slow = fixture.environment.is_late and len(pipe.downstream.elements) > 1
        if not is_slow:
            fixture.expect_out(pipe.downstream, wanted)


@OPERATOR.check("3.17")
def serves_demand_without_limit(fixture: OperatorFixture) -> None:
    """Requests 2**63 - 1 elements, and again with the first; all of the stream comes out.

    Let demand stay at 2**63 - 1 once a sum has reached it.
    """
    wanted = fixture.outcome(fixture.enough(SOME))
    pipe = fixture.pipe(fixture.enough(SOME), request=UNBOUNDED, each=UNBOUNDED)
    fixture.expect_out(pipe.downstream, wanted)


@OPERATOR.check("4.1")
def lets_out_what_is_expected(fixture: OperatorFixture) -> None:
    """Takes streams of 0, 1, 2, 7 and 20 elements to random demand; out comes what is expected.

    Compare the operator with ``expected``, element by element; the end of a stream counts, too.
    """
    for count in (0, 1, 2, 7, fixture.enough(SOME)):
        dice = random.Random(count)
        elements = fixture.elements(count)
        wanted = [] if fixture.fails(elements) else fixture.out(elements)
        pipe = fixture.pipe(count)
        while pipe.downstream.requested < len(wanted):
            left = len(wanted) - pipe.downstream.requested
            pipe.downstream.request(min(dice.randint(1, 4), left))
            if dice.random() < 0.5:
                fixture.expect_out(pipe.downstream, wanted)
        fixture.expect_end(pipe.downstream, elements)
        if not fixture.fails(elements):
            fixture.expect_out(pipe.downstream, wanted)


@OPERATOR.check("4.1")
def lets_out_what_is_expected_of_a_slow_source(fixture: OperatorFixture) -> None:
    """Sends element by element, with much demand downstream; out comes what is expected.

    Do not rely on what the source sends at once: each element may be the last for long.
    """
    wanted = fixture.outcome(fixture.enough(SOME))
    pipe = fixture.led_pipe()
    pipe.downstream.request(len(wanted) + 1)
    upstream = fixture.upstream_of(pipe)
    fixture.fill(upstream, fixture.enough(SOME))
    fixture.environment.settle()
    fixture.expect_beginning(pipe.downstream, wanted)
    if fixture.claims.expected is None:
        fixture.expect_out(pipe.downstream, list(upstream.sent))
    fixture.complete(pipe)
    fixture.expect_out(pipe.downstream, fixture.out(list(upstream.sent)))
    fixture.expect_end(pipe.downstream, upstream.sent)


@OPERATOR.check("4.1")
def lets_out_nothing_else_at_a_cancel(fixture: OperatorFixture) -> None:
    """Cancels at each element that comes out, with much demand left; up to there all is in place.

    A cancel takes nothing back and adds nothing: stop where you are.
    """
    wanted = fixture.outcome(fixture.enough(FEW))
    for index in range(1, len(wanted) + 1):
        pipe = fixture.pipe(fixture.enough(FEW), cancel_at=index)
        pipe.downstream.request(MANY)
        fixture.require(
            fixture.as_publisher.comes(pipe.downstream, index),
            f"{len(pipe.downstream.elements)} elements came out, and not {index}",
        )
        fixture.environment.settle()
        fixture.expect_beginning(pipe.downstream, wanted)


@OPERATOR.check("4.1", needs="discarded")
def accounts_for_all_it_took(fixture: OperatorFixture) -> None:
    """Cancels at each element; what was taken was delivered or discarded, and nothing got lost.

    Hand the elements that no subscriber will get to the function for discarded elements.
    """
    if fixture.claims.expected is not None:
        raise NotClaimed("what goes in and what comes out cannot be compared")
    for index in range(FEW):
        pipe = fixture.led_pipe()
        pipe.downstream.request(index + 1)
        fixture.fill(fixture.upstream_of(pipe), FEW)
        pipe.downstream.cancel()
        _expect_account(fixture, pipe)
        pipe = fixture.led_pipe(cancel_at=index + 1)
        pipe.downstream.request(1)
        fixture.fill(fixture.upstream_of(pipe), FEW)
        pipe.downstream.request(FEW)  # what it holds comes in one go, and is cancelled within
        fixture.fill(fixture.upstream_of(pipe), FEW)
        _expect_account(fixture, pipe)


def _expect_account(fixture: OperatorFixture, pipe: OperatorPipe) -> None:
    discarded = fixture.claims.discarded
    assert discarded is not None
    fixture.environment.settle()
    if pipe.downstream.cancelled_after is None:
        return
    with fixture.environment.expecting("discarded(publisher)", FACTORY):
        gone = len(discarded(pipe.operator))
    taken, delivered = len(fixture.upstream_of(pipe).sent), len(pipe.downstream.elements)
    fixture.require(
        taken == delivered + gone,
        f"{taken} elements went in, {delivered} came out, and {gone} were discarded",
    )


# Threads on both sides: rules 1.3, 2.7, 3.5 and 4.1.


@OPERATOR.check("1.3", explored=True)
def sends_one_signal_at_a_time(fixture: OperatorFixture) -> None:
    """Sends and completes on one thread while the subscriber requests on another; none overlap.

    Send all signals from one place, such as a loop that only one thread is in.
    """
    pipe = fixture.led_pipe(request=1, each=1, lingers=True)
    upstream = fixture.upstream_of(pipe)

    def send() -> None:
        _send(pipe)
        if not fixture.is_left(upstream):
            upstream.complete()

    fixture.environment.together(send, lambda: pipe.downstream.request(2))
    fixture.environment.settle()


@OPERATOR.check("2.7", explored=True)
def calls_upstream_one_call_at_a_time(fixture: OperatorFixture) -> None:
    """Sends on one thread while the subscriber requests on another; calls upstream never overlap.

    Call the source from one place only, such as a loop that only one thread is in.
    """
    pipe = fixture.led_pipe(strict=True, request=1, each=1)
    fixture.upstream_of(pipe)
    fixture.environment.together(lambda: _send(pipe), lambda: pipe.downstream.request(1))
    fixture.environment.settle()


@OPERATOR.check("3.5", explored=True)
def cancels_upstream_once_for_two_threads(fixture: OperatorFixture) -> None:
    """Cancels from two threads while a third one sends; upstream is cancelled once.

    Let only the cancel that finds the stream open go upstream: check and mark in one step.
    """
    pipe = fixture.led_pipe(request=RACING)
    fixture.upstream_of(pipe)
    fixture.environment.together(
        lambda: _send(pipe), pipe.downstream.cancel, pipe.downstream.cancel
    )
    fixture.environment.settle()
    times = pipe.source.cancels
    fixture.require(times <= 1, f"upstream was cancelled {times} times")


@OPERATOR.check("4.1", explored=True)
def keeps_the_order_between_threads(fixture: OperatorFixture) -> None:
    """Sends on one thread while the subscriber requests on another; all comes out in order.

    Guard by a lock what both sides use, and check both again before the last thread leaves.
    """
    pipe = fixture.led_pipe(request=RACING)
    upstream = fixture.upstream_of(pipe)
    fixture.environment.together(lambda: _send(pipe), lambda: pipe.downstream.request(1))
    if fixture.claims.expected is None:
        _expect_what_was_sent(fixture, pipe)  # before another signal could wake it up
    fixture.fill(upstream, RACING - len(upstream.sent))
    if fixture.claims.expected is None:
        _expect_what_was_sent(fixture, pipe)
    else:
        fixture.complete(pipe)
    if not fixture.fails(upstream.sent):
        fixture.expect_out(pipe.downstream, fixture.out(list(upstream.sent)))


def _expect_what_was_sent(fixture: OperatorFixture, pipe: OperatorPipe) -> None:
    fixture.expect_out(pipe.downstream, list(fixture.upstream_of(pipe).sent))


def _send(pipe: OperatorPipe) -> None:
    for _ in range(RACING):
        pipe.source.streams[0].send_next()
