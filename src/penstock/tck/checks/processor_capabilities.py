"""Checks for processors that claim more than the standard asks of everybody."""

from __future__ import annotations

from penstock.tck.checks.suites import PROCESSOR
from penstock.tck.probe import LEAVING
from penstock.tck.processor_fixture import ProcessorFixture, ProcessorPipe


@PROCESSOR.check("4.1", needs="asks_when_asked")
def asks_upstream_once_it_was_asked(fixture: ProcessorFixture) -> None:
    """Connects both sides; nothing is requested from upstream before it is from downstream.

    Do not request in on_subscribe. Request when the first subscriber does.
    """
    processor = fixture.processor()
    (upstream,) = fixture.upstream(processor).streams
    fixture.environment.settle()
    fixture.require(
        upstream.spy.requested == 0,
        f"{upstream.spy.requested} elements were requested, and nobody was subscribed",
    )
    probe = fixture.as_publisher.join(processor)
    fixture.environment.settle()
    fixture.require(
        upstream.spy.requested == 0,
        f"{upstream.spy.requested} elements were requested, and nobody had asked for one",
    )
    probe.request(1)
    fixture.feed(upstream, 1)
    fixture.expect_passed_on(upstream, probe, 1)


@PROCESSOR.check("4.1", needs="cancels_upstream")
def cancels_upstream_when_it_was_cancelled(fixture: ProcessorFixture) -> None:
    """Cancels at each of the first elements, and in signals; upstream is cancelled, once.

    Pass the cancel of the last subscriber on, but not a second one.
    """
    for leaving in LEAVING:
        pipe = fixture.pipe(**leaving)
        pipe.downstream.request(1)
        fixture.fill(pipe.upstream, 1)
        _expect_one_cancel(fixture, pipe)
    for index in range(fixture.as_publisher.at_most(2) + 1):
        pipe = fixture.pipe()
        pipe.downstream.request(index + 1)
        fixture.feed(pipe.upstream, index)
        fixture.expect_passed_on(pipe.upstream, pipe.downstream, index)
        pipe.downstream.cancel()
        _expect_one_cancel(fixture, pipe)


@PROCESSOR.check("4.1", needs="cancels_upstream")
def stays_for_those_who_are_left(fixture: ProcessorFixture) -> None:
    """Cancels one of two subscribers; upstream goes on until the other one cancels.

    Count your subscribers, and cancel upstream with the last one.
    """
    pipe = fixture.pipe(name="stays")
    leaves = fixture.as_publisher.join(pipe.processor, name="leaves")
    if not leaves.ended:
        leaves.cancel()
    fixture.environment.settle()
    fixture.require(
        not pipe.upstream.spy.cancelled, "one of two subscribers left, and the stream was cancelled"
    )
    pipe.downstream.request(1)
    fixture.feed(pipe.upstream, 1)
    fixture.expect_passed_on(pipe.upstream, pipe.downstream, 1)
    pipe.downstream.cancel()
    _expect_cancel(fixture, pipe, "both subscribers left")


@PROCESSOR.check("4.1", needs="takes_unasked")
def keeps_what_comes_unasked(fixture: ProcessorFixture) -> None:
    """Sends 2 elements for which there is no demand; they come out when they are requested.

    Keep elements that come too early, as long as there is room, and send them within demand.
    """
    pipe = fixture.pipe()
    for number in range(2):
        pipe.upstream.send(fixture.claims.element(number))
    fixture.environment.settle()
    for count in (1, 2):
        pipe.downstream.request(1)
        fixture.expect_passed_on(pipe.upstream, pipe.downstream, count)


@PROCESSOR.check("4.1", needs="from_source")
def subscribes_upstream_once_it_has_a_subscriber(fixture: ProcessorFixture) -> None:
    """Gives the processor its source; it subscribes to it with its first subscriber, and once.

    Keep the source, and subscribe to it when the first subscriber has come.
    """
    source = fixture.upstream(elements=fixture.as_publisher.at_most(3, 1), ending="on_complete")
    processor = fixture.processor_from(source)
    fixture.environment.settle()
    fixture.require(not source.streams, "it subscribed to its source before it had a subscriber")
    probe = fixture.as_publisher.join(processor)
    fixture.require(
        fixture.environment.reaches(lambda: bool(source.streams)),
        "it has a subscriber, and has not subscribed to its source",
    )
    probe.request(1)
    fixture.expect_passed_on(source.streams[0], probe, 1)
    times = len(source.streams)
    fixture.require(times == 1, f"it subscribed to its source {times} times")


def _expect_one_cancel(fixture: ProcessorFixture, pipe: ProcessorPipe) -> None:
    _expect_cancel(fixture, pipe, "the only subscriber cancelled")
    pipe.downstream.cancel()
    fixture.environment.settle()
    times = pipe.upstream.spy.cancels
    fixture.require(times == 1, f"upstream was cancelled {times} times")


def _expect_cancel(fixture: ProcessorFixture, pipe: ProcessorPipe, because: str) -> None:
    fixture.require(
        fixture.environment.reaches(lambda: pipe.upstream.spy.cancelled),
        f"{because}, and upstream was not cancelled",
    )
