"""Checks for publishers that claim more than the standard asks of everybody."""

from __future__ import annotations

from penstock.api import UNBOUNDED, Publisher
from penstock.demand.timeline import shorten
from penstock.runtime import collect_undelivered
from penstock.tck.bench import PublisherBench
from penstock.tck.checks.publisher_suite import PUBLISHER
from penstock.tck.claims import NotClaimed
from penstock.tck.probe import Probe, Provoked

__all__: list[str] = []


@PUBLISHER.check("1.4", needs="stays_failed")
def fails_newcomers_as_it_failed(bench: PublisherBench) -> None:
    """Subscribes when a stream has failed; the newcomer gets the same error, without a request.

    Remember the error, without its traceback, and hand it to each newcomer behind on_subscribe.
    """
    publisher = bench.failed_publisher()
    first = bench.join(publisher, request=UNBOUNDED, name="first")
    error = bench.expect_error(first, "1.4")
    newcomer = bench.join(publisher, name="newcomer")
    late = bench.expect_error(newcomer, "1.4")
    bench.require(
        type(late) is type(error) and str(late) == str(error),
        f"the newcomer got {shorten(late)} instead of {shorten(error)}",
    )


@PUBLISHER.check("1.5", needs="completes_eagerly")
def completes_without_another_request(bench: PublisherBench) -> None:
    """Requests exactly what streams of 0, 1 and 3 elements have; on_complete comes all the same.

    Look whether the source is empty once the last requested element is sent.
    """
    for elements in {bench.at_most(n) for n in (0, 1, 3)}:
        probe = bench.stream(elements)
        bench.take(probe, elements)
        bench.expect_completion(probe)


@PUBLISHER.check("1.5", needs="stays_completed")
def completes_newcomers_as_it_completed(bench: PublisherBench) -> None:
    """Subscribes when a stream has completed; the newcomer gets on_complete, without a request.

    Remember that the stream has completed, and tell each newcomer behind on_subscribe.
    """
    elements = bench.at_most(2)
    publisher = bench.publisher(elements)
    first = bench.join(publisher, request=elements + 1, name="first")
    bench.expect(first, elements)
    bench.expect_completion(first)
    newcomer = bench.join(publisher, name="newcomer")
    bench.expect_completion(newcomer)


@PUBLISHER.check("2.13", needs="reports_to_hook")
def reports_what_a_subscriber_raises(bench: PublisherBench) -> None:
    """Raises in on_next; the error reaches the hook for undelivered errors, once.

    Call report_undelivered where you catch what a subscriber raises, and nowhere else.
    """
    with collect_undelivered() as reports:
        probe = bench.stream(bench.at_most(3, 1), raises_in="on_next")
        probe.request(2)
        bench.expect(probe, 1)
        bench.arena.settle()
    count = sum(isinstance(report.error, Provoked) for report in reports)
    bench.require(count == 1, f"on_next raised once, and the hook was called {count} times")


@PUBLISHER.check("3.5", needs="closed", explored=True)
def closes_its_source_once(bench: PublisherBench) -> None:
    """Cancels from two threads at once, and once more; the source is closed once.

    Let only the cancel that finds the stream open close the source.
    """
    publisher = bench.publisher(bench.at_most(3, 2))
    probe = bench.join(publisher)
    bench.take(probe, 1)
    bench.arena.together(probe.cancel, probe.cancel)
    probe.cancel()
    bench.arena.settle()
    times = _times_closed(bench, publisher)
    bench.require(times <= 1, f"the source was closed {times} times")


@PUBLISHER.check("3.12", needs="closed")
def closes_its_source_when_cancelled(bench: PublisherBench) -> None:
    """Cancels a stream; its source is closed.

    Close the iterator, the generator or the connection behind a stream that was cancelled.
    """
    publisher = bench.publisher(bench.at_most(3, 2))
    probe = bench.join(publisher)
    bench.take(probe, 1)
    probe.cancel()
    if not bench.arena.reaches(lambda: _times_closed(bench, publisher) > 0):
        bench.fail("the source of a cancelled stream was not closed")


@PUBLISHER.check("3.15", needs="unclosable")
def cancel_returns_normally_when_closing_fails(bench: PublisherBench) -> None:
    """Cancels a stream whose source raises on being closed; nothing of it reaches the caller.

    Catch what close raises, and report it where somebody will see it.
    """
    assert bench.claims.unclosable is not None
    probe = bench.join(bench.made("unclosable()", bench.claims.unclosable))
    bench.take(probe, 1)
    probe.cancel()
    bench.arena.settle()


@PUBLISHER.check("3.14", needs="shuts_down_when_idle")
def shuts_down_with_its_last_subscriber(bench: PublisherBench) -> None:
    """Cancels the only subscription; a newcomer gets a terminal signal, and no element.

    Remember that the publisher has shut down, and tell each newcomer behind on_subscribe.
    """
    publisher = bench.publisher(bench.at_most(5, 3))
    _come_and_go(bench, publisher)
    _expect_to_be_turned_away(bench, publisher)


@PUBLISHER.check("3.14", needs="shuts_down_when_idle")
def stays_while_somebody_is_subscribed(bench: PublisherBench) -> None:
    """Cancels one of two subscriptions; a newcomer is served.

    Shut down when the last subscription is cancelled, not with each.
    """
    if not bench.claims.multicast:
        raise NotClaimed("needs the claim multicast")
    publisher = bench.publisher(bench.at_most(8, 5))
    stays = bench.join(publisher, name="stays")
    leaves = bench.join(publisher, cancel_at=1, name="leaves")
    leaves.request(1)
    stays.request(1)
    bench.expect(leaves, 1)
    bench.arena.settle()
    newcomer = bench.join(publisher, name="newcomer")
    stays.request(2)  # behind the newcomer: a publisher may wait for all that are there
    bench.take(newcomer, 1)
    newcomer.cancel()
    bench.arena.settle()


@PUBLISHER.check("3.14", needs="keep_alive")
def is_kept_alive(bench: PublisherBench) -> None:
    """Cancels the only subscription, but keeps the publisher alive; a newcomer is served.

    Count what keeps the publisher alive like a subscription.
    """
    assert bench.claims.keep_alive is not None
    publisher = bench.publisher(bench.at_most(8, 5))
    with bench.claims.keep_alive(publisher):
        _come_and_go(bench, publisher)
        _expect_to_be_served(bench, publisher)
    if bench.claims.shuts_down_when_idle:
        _expect_to_be_turned_away(bench, publisher)


def _come_and_go(bench: PublisherBench, publisher: Publisher[object]) -> None:
    probe = bench.join(publisher, name="first")
    bench.take(probe, 1)
    probe.cancel()
    bench.arena.settle()


def _expect_to_be_served(bench: PublisherBench, publisher: Publisher[object]) -> None:
    probe = bench.join(publisher, name="newcomer")
    bench.take(probe, 1)
    probe.cancel()
    bench.arena.settle()


def _expect_to_be_turned_away(bench: PublisherBench, publisher: Publisher[object]) -> None:
    probe: Probe = bench.join(publisher, name="newcomer")
    bench.require(
        bench.arena.reaches(lambda: probe.ended),
        "the publisher has shut down, and yet a newcomer got no terminal signal",
    )


def _times_closed(bench: PublisherBench, publisher: Publisher[object]) -> int:
    assert bench.claims.closed is not None
    return bench.claims.closed(publisher)
