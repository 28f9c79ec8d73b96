"""Checks of the elements that go through an operator, and of the demand for them."""

from __future__ import annotations

import random
import sys
from typing import Final

from penstock.api import UNBOUNDED
from penstock.tck.bench import MANY
from penstock.tck.checks.operator_suite import check
from penstock.tck.checks.publisher_demand import ENDLESS, FRAMES
from penstock.tck.claims import NotClaimed
from penstock.tck.operator_bench import OperatorBench
from penstock.tck.probe import Probe
from penstock.tck.report import FACTORY
from penstock.tck.upstream import UpstreamStream

SOME: Final = 20
"""Elements of a stream that shows what an operator does."""
FEW: Final = 6


@check("1.1")
def keeps_to_random_demand(bench: OperatorBench) -> None:
    """Follows a random sequence of requests; no more elements come out than were requested.

    Count what was requested from you, whatever you request from above.
    """
    wanted = bench.outcome(bench.enough(SOME))
    for seed in range(3):
        dice = random.Random(seed)
        pipe = bench.pipe(bench.enough(SOME))
        while pipe.below.requested < len(wanted):
            left = len(wanted) - pipe.below.requested
            pipe.below.request(min(dice.randint(1, 4), left))
            bench.arena.settle()


@check("1.1")
def starts_each_subscriber_without_demand(bench: OperatorBench) -> None:
    """Cancels with demand left over; the next subscriber gets nothing before it requests.

    Keep the demand in the subscription, not in the operator.
    """
    pipe = bench.pipe(SOME, cancel_at=1, name="first")
    pipe.below.request(5)
    bench.arena.settle()
    newcomer = bench.below.join(pipe.operator, name="newcomer")
    bench.arena.settle()
    if not newcomer.ended:
        newcomer.request(1)
        bench.arena.settle()


@check("1.10")
def is_made_anew_for_each_stream(bench: OperatorBench) -> None:
    """Subscribes twice; each time another subscriber is handed to the source.

    Make a new subscriber whenever you subscribe to the source: it is good for one stream only.
    """
    if bench.claims.shares:
        raise NotClaimed("the subscribers of the subject share a stream")
    pipe = bench.pipe(FEW, name="first")
    bench.below.join(pipe.operator, name="newcomer")
    bench.arena.settle()
    made = [stream.subscriber for stream in pipe.source.streams]
    bench.require(
        len({id(subscriber) for subscriber in made}) == len(made),
        "the source got the same subscriber twice",
    )


@check("1.11")
def serves_each_subscriber_anew(bench: OperatorBench) -> None:
    """Takes the same stream twice; the second subscriber gets what the first got, or is refused.

    Keep counters and buffers in the subscription: the operator itself must not remember anything.
    """
    if bench.claims.shares:
        raise NotClaimed("the subscribers of the subject share a stream")
    wanted = bench.outcome(bench.enough(SOME))
    pipe = bench.pipe(bench.enough(SOME), name="first")
    pipe.below.request(len(wanted) + 1)
    bench.expect_out(pipe.below, wanted)
    newcomer = bench.below.join(pipe.operator, name="newcomer")
    if newcomer.error is None:
        newcomer.request(len(wanted) + 1)
        bench.arena.settle()
    if newcomer.error is None:
        bench.expect_out(newcomer, wanted)


@check("2.1")
def asks_for_no_more_than_it_may_hold(bench: OperatorBench) -> None:
    """Sends all that is asked for while nobody wants any; that is no more than ``prefetch``.

    Ask for what was requested from you, and for no more in advance than you are ready to hold.
    """
    if bench.claims.unbounded:
        raise NotClaimed("the subject asks without limit")
    for requested in (0, 2):
        _expect_bounded_demand(bench, requested)


def _expect_bounded_demand(bench: OperatorBench, requested: int) -> None:
    pipe = bench.led_pipe()
    if requested:
        pipe.below.request(requested)
    bench.arena.settle()
    if not pipe.source.streams:
        return  # it may well wait for the first request
    above = pipe.source.streams[0]
    for _ in range(SOME):
        if len(pipe.below.elements) < requested and above.send_next():
            bench.arena.settle()
    if len(pipe.below.elements) == requested:
        _fill_up(bench, above)


def _fill_up(bench: OperatorBench, above: UpstreamStream) -> None:
    most = bench.claims.prefetch
    used = len(above.sent)  # to serve those who asked
    sends = True
    while sends and not bench.is_left(above):
        ahead = above.spy.requested - used
        bench.require(
            ahead <= most, f"{ahead} elements were requested ahead of time, at most {most} may be"
        )
        sends = above.send_next()
        bench.arena.settle()


@check("2.1")
def asks_for_what_was_requested(bench: OperatorBench) -> None:
    """Requests one element after the other; demand reaches the source until each has come out.

    Ask above for what was requested from you, and again for what you have not passed on.
    """
    wanted = bench.outcome(bench.enough(FEW))
    pipe = bench.led_pipe()
    for _ in wanted:
        pipe.below.request(1)
        _serve(bench, bench.above(pipe), pipe.below)
    bench.expect_beginning(pipe.below, wanted)


def _serve(bench: OperatorBench, above: UpstreamStream, probe: Probe) -> None:
    """Send until all that was requested has come out."""
    bench.arena.settle()
    while len(probe.elements) < probe.requested and not bench.is_left(above):
        if len(above.sent) == bench.enough(FEW):
            return
        bench.require(
            bench.arena.reaches(lambda: above.demand > 0 or bench.is_left(above)),
            f"{probe.requested} elements were requested, {len(probe.elements)} have come out, "
            f"and only {above.spy.requested} were requested from above",
        )
        above.send_next()
        bench.arena.settle()


@check("3.3", real_time=True)
def does_not_recurse_from_element_to_element(bench: OperatorBench) -> None:
    """Takes a stream of 10,000 elements one by one; the stack stays as deep as it is.

    Let an inner request only add to the demand, and the outer one send in a loop.
    """
    wanted = bench.outcome(bench.enough(ENDLESS))

    def look(probe: Probe) -> None:
        frame, depth = sys._getframe(), 0
        while frame.f_back is not None:
            frame, depth = frame.f_back, depth + 1
        if depth > FRAMES:
            got = len(probe.elements)
            bench.fail(f"the stack was {depth} frames deep at element {got}, and growing")

    pipe = bench.pipe(bench.enough(ENDLESS), each=1, on_element=look)
    pipe.below.request(1)
    if not bench.below.comes(pipe.below, len(wanted)) and not bench.arena.is_late:
        bench.expect_out(pipe.below, wanted)  # one that is merely slow has shown enough


@check("3.17")
def serves_demand_without_limit(bench: OperatorBench) -> None:
    """Requests 2**63 - 1 elements, and again with the first; all of the stream comes out.

    Let demand stay at 2**63 - 1 once a sum has reached it.
    """
    wanted = bench.outcome(bench.enough(SOME))
    pipe = bench.pipe(bench.enough(SOME), request=UNBOUNDED, each=UNBOUNDED)
    bench.expect_out(pipe.below, wanted)


@check("4.1")
def lets_out_what_is_expected(bench: OperatorBench) -> None:
    """Takes streams of 0, 1, 2, 7 and 20 elements to random demand; out comes what is expected.

    Compare the operator with ``expected``, element by element; the end of a stream counts, too.
    """
    for count in (0, 1, 2, 7, bench.enough(SOME)):
        dice = random.Random(count)
        elements = bench.elements(count)
        wanted = [] if bench.fails(elements) else bench.out(elements)
        pipe = bench.pipe(count)
        while pipe.below.requested < len(wanted):
            left = len(wanted) - pipe.below.requested
            pipe.below.request(min(dice.randint(1, 4), left))
            if dice.random() < 0.5:
                bench.expect_out(pipe.below, wanted)
        bench.expect_end(pipe.below, elements)
        if not bench.fails(elements):
            bench.expect_out(pipe.below, wanted)


@check("4.1")
def lets_out_what_is_expected_of_a_slow_source(bench: OperatorBench) -> None:
    """Sends element by element, with much demand below; out comes what is expected.

    Do not rely on what the source sends at once: each element may be the last for long.
    """
    wanted = bench.outcome(bench.enough(SOME))
    pipe = bench.led_pipe()
    pipe.below.request(len(wanted) + 1)
    above = bench.above(pipe)
    bench.fill(above, bench.enough(SOME))
    bench.arena.settle()
    bench.expect_beginning(pipe.below, wanted)
    if bench.claims.expected is None:
        bench.expect_out(pipe.below, list(above.sent))
    bench.complete(pipe)
    bench.expect_out(pipe.below, bench.out(list(above.sent)))
    bench.expect_end(pipe.below, above.sent)


@check("4.1")
def lets_out_nothing_else_at_a_cancel(bench: OperatorBench) -> None:
    """Cancels at each element that comes out, with much demand left; up to there all is in place.

    A cancel takes nothing back and adds nothing: stop where you are.
    """
    wanted = bench.outcome(bench.enough(FEW))
    for index in range(1, len(wanted) + 1):
        pipe = bench.pipe(bench.enough(FEW), cancel_at=index)
        pipe.below.request(MANY)
        bench.require(
            bench.below.comes(pipe.below, index),
            f"{len(pipe.below.elements)} elements came out, and not {index}",
        )
        bench.arena.settle()
        bench.expect_beginning(pipe.below, wanted)


@check("4.1", needs="discarded")
def accounts_for_all_it_took(bench: OperatorBench) -> None:
    """Cancels at each element; what was taken was delivered or discarded, and nothing got lost.

    Hand elements that nobody will get to whoever has to know of them.
    """
    discarded = bench.claims.discarded
    assert discarded is not None
    if bench.claims.expected is not None:
        raise NotClaimed("what goes in and what comes out cannot be compared")
    for index in range(FEW):
        pipe = bench.led_pipe()
        pipe.below.request(index + 1)
        above = bench.above(pipe)
        bench.fill(above, FEW)
        pipe.below.cancel()
        bench.arena.settle()
        with bench.arena.expecting("discarded(publisher)", FACTORY):
            gone = len(discarded(pipe.operator))
        taken, delivered = len(above.sent), len(pipe.below.elements)
        bench.require(
            taken == delivered + gone,
            f"{taken} elements went in, {delivered} came out, and {gone} were discarded",
        )
