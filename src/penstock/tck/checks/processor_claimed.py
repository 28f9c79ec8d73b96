"""Checks for processors that claim more than the standard asks of everybody."""

from __future__ import annotations

from penstock.tck.checks.processor_suite import check
from penstock.tck.processor_bench import Pipe, ProcessorBench


@check("4.1", needs="asks_when_asked")
def asks_above_once_it_was_asked(bench: ProcessorBench) -> None:
    """Connects both sides; nothing is requested from above until something is from below.

    Do not request in on_subscribe. Request when the first subscriber does.
    """
    processor = bench.processor()
    (above,) = bench.upstream(processor).streams
    bench.arena.settle()
    bench.require(
        above.spy.requested == 0,
        f"{above.spy.requested} elements were requested, and nobody was subscribed",
    )
    probe = bench.below.join(processor)
    bench.arena.settle()
    bench.require(
        above.spy.requested == 0,
        f"{above.spy.requested} elements were requested, and nobody had asked for one",
    )
    probe.request(1)
    bench.feed(above, 1)
    bench.expect_passed_on(above, probe, 1)


@check("4.1", needs="cancels_upstream")
def cancels_above_when_it_was_cancelled(bench: ProcessorBench) -> None:
    """Cancels below at each of the first elements; the stream above is cancelled, once.

    Pass the cancel of the last subscriber on, but not a second one.
    """
    for index in range(bench.below.at_most(2) + 1):
        pipe = bench.pipe()
        pipe.below.request(index + 1)
        bench.feed(pipe.above, index)
        bench.expect_passed_on(pipe.above, pipe.below, index)
        pipe.below.cancel()
        _expect_cancel(bench, pipe, "the only subscriber cancelled")
        pipe.below.cancel()
        bench.arena.settle()
        times = pipe.above.spy.cancels
        bench.require(times == 1, f"the stream above was cancelled {times} times")


@check("4.1", needs="cancels_upstream")
def stays_for_those_who_are_left(bench: ProcessorBench) -> None:
    """Cancels one of two subscribers; the stream above goes on until the other one cancels.

    Count your subscribers, and cancel above with the last one.
    """
    pipe = bench.pipe(name="stays")
    leaves = bench.below.join(pipe.processor, name="leaves")
    if not leaves.ended:
        leaves.cancel()
    bench.arena.settle()
    bench.require(
        not pipe.above.spy.cancelled, "one of two subscribers left, and the stream was cancelled"
    )
    pipe.below.request(1)
    bench.feed(pipe.above, 1)
    bench.expect_passed_on(pipe.above, pipe.below, 1)
    pipe.below.cancel()
    _expect_cancel(bench, pipe, "both subscribers left")


@check("4.1", needs="takes_unasked")
def keeps_what_comes_unasked(bench: ProcessorBench) -> None:
    """Sends 2 elements for which there is no demand; they come out when they are requested.

    Keep elements that come too early, as long as there is room, and send them within demand.
    """
    pipe = bench.pipe()
    for number in range(2):
        pipe.above.send(bench.claims.element(number))
    bench.arena.settle()
    for count in (1, 2):
        pipe.below.request(1)
        bench.expect_passed_on(pipe.above, pipe.below, count)


@check("4.1", needs="from_source")
def subscribes_above_once_it_has_a_subscriber(bench: ProcessorBench) -> None:
    """Gives the processor its source; it subscribes to it with its first subscriber, and once.

    Keep the source, and subscribe to it when the first subscriber has come.
    """
    source = bench.upstream(elements=bench.below.at_most(3, 1), ending="on_complete")
    processor = bench.processor_from(source)
    bench.arena.settle()
    bench.require(not source.streams, "it subscribed to its source before it had a subscriber")
    probe = bench.below.join(processor)
    bench.require(
        bench.arena.reaches(lambda: bool(source.streams)),
        "it has a subscriber, and has not subscribed to its source",
    )
    probe.request(1)
    bench.expect_passed_on(source.streams[0], probe, 1)
    times = len(source.streams)
    bench.require(times == 1, f"it subscribed to its source {times} times")


def _expect_cancel(bench: ProcessorBench, pipe: Pipe, because: str) -> None:
    bench.require(
        bench.arena.reaches(lambda: pipe.above.spy.cancelled),
        f"{because}, and the stream above was not cancelled",
    )
