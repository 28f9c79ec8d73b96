"""Checks for publishers that claim more than the standard asks of everybody."""

from __future__ import annotations

from penstock.api import UNBOUNDED, Publisher
from penstock.runtime import collect_undelivered, shorten
from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.claims import NotClaimed
from penstock.tck.probe import OUTSIDE, WITHIN, Place, Probe, Provoked, elements_before
from penstock.tck.publisher_fixture import PublisherFixture

__all__: list[str] = []


@PUBLISHER.check("1.4", needs="stays_failed")
def fails_newcomers_as_it_failed(fixture: PublisherFixture) -> None:
    """Subscribes when a stream has failed; the newcomer gets the same error, without a request.

    Remember the error, without its traceback, and hand it to each newcomer after on_subscribe.
    """
    publisher = fixture.failed_publisher()
    first = fixture.join(publisher, request=UNBOUNDED, name="first")
    error = fixture.expect_error(first, "1.4")
    newcomer = fixture.join(publisher, name="newcomer")
    late = fixture.expect_error(newcomer, "1.4")
    fixture.require(
        type(late) is type(error) and str(late) == str(error),
        f"the newcomer got {shorten(late)} instead of {shorten(error)}",
    )


@PUBLISHER.check("1.5", needs="completes_eagerly", within_signals=True)
def completes_without_another_request(fixture: PublisherFixture, place: Place) -> None:
    """Requests exactly what streams of 0, 1 and 3 elements have; on_complete comes all the same.

    Check whether the source is empty once the last requested element is sent.
    """
    before = elements_before(place)
    for elements in {fixture.at_most(max(n, before), before) for n in (0, 1, 3)}:

        def ask(probe: Probe, left: int = elements - before) -> None:
            if left:
                probe.request(left)

        probe = fixture.calling(fixture.publisher(elements), place, ask)
        fixture.expect(probe, elements)
        fixture.expect_completion(probe)


@PUBLISHER.check("1.5", needs="stays_completed")
def completes_newcomers_as_it_completed(fixture: PublisherFixture) -> None:
    """Subscribes when a stream has completed; the newcomer gets on_complete, without a request.

    Remember that the stream has completed, and tell each newcomer after on_subscribe.
    """
    elements = fixture.at_most(2)
    publisher = fixture.publisher(elements)
    first = fixture.join(publisher, request=elements + 1, name="first")
    fixture.expect(first, elements)
    fixture.expect_completion(first)
    newcomer = fixture.join(publisher, name="newcomer")
    fixture.expect_completion(newcomer)


@PUBLISHER.check("2.13", needs="reports_to_hook", within_signals=True)
def reports_what_a_subscriber_raises(fixture: PublisherFixture, place: Place) -> None:
    """Raises in on_next; the error reaches the hook for undelivered errors, once.

    Call report_undelivered where you catch what a subscriber raises, and nowhere else.
    """
    publisher = fixture.publisher(fixture.at_most(3, 1))
    with collect_undelivered() as reports:
        probe = fixture.calling(
            publisher, place, lambda probe: probe.request(2), raises_in="on_next"
        )
        fixture.expect(probe, 1)
        fixture.environment.settle()
    count = sum(isinstance(report.error, Provoked) for report in reports)
    fixture.require(count == 1, f"on_next raised once, and the hook was called {count} times")


@PUBLISHER.check("3.5", needs="closed", explored=True)
def closes_its_source_once(fixture: PublisherFixture) -> None:
    """Cancels from two threads at once, and once more; the source is closed once.

    Let only the cancel that finds the stream open close the source.
    """
    publisher = fixture.publisher(fixture.at_most(3, 2))
    probe = fixture.join(publisher)
    fixture.take(probe, 1)
    fixture.environment.together(probe.cancel, probe.cancel)
    probe.cancel()
    fixture.environment.settle()
    times = _times_closed(fixture, publisher)
    fixture.require(times <= 1, f"the source was closed {times} times")


@PUBLISHER.check("3.5", needs="closed")
def closes_its_source_once_within_signals(fixture: PublisherFixture) -> None:
    """Cancels twice in on_subscribe, and twice in on_next; each time the source is closed once.

    Close the source in cancel, or in the loop that finds the stream cancelled, but not in both.
    """

    def cancel_twice(probe: Probe) -> None:
        probe.cancel()
        probe.cancel()

    for place in WITHIN:
        publisher = fixture.publisher(fixture.at_most(3, 2))
        fixture.calling(publisher, place, cancel_twice)
        fixture.environment.settle()
        times = _times_closed(fixture, publisher)
        fixture.require(times <= 1, f"the source was closed {times} times")


@PUBLISHER.check("3.12", needs="closed")
def closes_its_source_when_cancelled(fixture: PublisherFixture) -> None:
    """Cancels a stream, from outside and in on_next; its source is closed.

    Close the iterator, the generator or the connection of a stream that was cancelled.
    """
    places: tuple[Place, ...] = (OUTSIDE, "on_next")  # it need not be open in on_subscribe
    for place in places:
        _expect_to_be_closed(fixture, place)


def _expect_to_be_closed(fixture: PublisherFixture, place: Place) -> None:
    publisher = fixture.publisher(fixture.at_most(3, 2))
    fixture.calling(publisher, place, Probe.cancel, first=1)
    if not fixture.environment.reaches(lambda: _times_closed(fixture, publisher) > 0):
        fixture.fail("the source of a cancelled stream was not closed")


@PUBLISHER.check("3.15", needs="unclosable")
def cancel_returns_normally_when_closing_fails(fixture: PublisherFixture) -> None:
    """Cancels a stream whose source raises on being closed; nothing of it reaches the caller.

    Catch what close raises, and report it where somebody will see it.
    """
    assert fixture.claims.unclosable is not None
    for place in (OUTSIDE, *WITHIN):
        publisher = fixture.made("unclosable()", fixture.claims.unclosable)
        fixture.calling(publisher, place, Probe.cancel, first=1)
        fixture.environment.settle()


@PUBLISHER.check("3.14", needs="shuts_down_when_idle", within_signals=True)
def shuts_down_with_its_last_subscriber(fixture: PublisherFixture, place: Place) -> None:
    """Cancels the only subscription; a newcomer gets a terminal signal, and no element.

    Remember that the publisher has shut down, and tell each newcomer after on_subscribe.
    """
    publisher = fixture.publisher(fixture.at_most(5, 3))
    _come_and_go(fixture, publisher, place)
    _expect_to_be_turned_away(fixture, publisher)


@PUBLISHER.check("3.14", needs="shuts_down_when_idle")
def stays_while_somebody_is_subscribed(fixture: PublisherFixture) -> None:
    """Cancels one of two subscriptions; a newcomer is served.

    Shut down when the last subscription is cancelled, not with each.
    """
    if not fixture.claims.multicast:
        raise NotClaimed("needs the claim multicast")
    publisher = fixture.publisher(fixture.at_most(8, 5))
    stays = fixture.join(publisher, name="stays")
    leaves = fixture.join(publisher, cancel_at=1, name="leaves")
    leaves.request(1)
    stays.request(1)
    fixture.expect(leaves, 1)
    fixture.environment.settle()
    newcomer = fixture.join(publisher, name="newcomer")
    stays.request(2)  # after the newcomer: a publisher may wait for all that are there
    fixture.take(newcomer, 1)
    newcomer.cancel()
    fixture.environment.settle()


@PUBLISHER.check("3.14", needs="keep_alive")
def is_kept_alive(fixture: PublisherFixture) -> None:
    """Cancels the only subscription, but keeps the publisher alive; a newcomer is served.

    Count what keeps the publisher alive like a subscription.
    """
    assert fixture.claims.keep_alive is not None
    publisher = fixture.publisher(fixture.at_most(8, 5))
    with fixture.claims.keep_alive(publisher):
        _come_and_go(fixture, publisher, OUTSIDE)
        _expect_to_be_served(fixture, publisher)
    if fixture.claims.shuts_down_when_idle:
        _expect_to_be_turned_away(fixture, publisher)


def _come_and_go(fixture: PublisherFixture, publisher: Publisher[object], place: Place) -> None:
    fixture.calling(publisher, place, Probe.cancel, first=1, name="first")
    fixture.environment.settle()


def _expect_to_be_served(fixture: PublisherFixture, publisher: Publisher[object]) -> None:
    probe = fixture.join(publisher, name="newcomer")
    fixture.take(probe, 1)
    probe.cancel()
    fixture.environment.settle()


def _expect_to_be_turned_away(fixture: PublisherFixture, publisher: Publisher[object]) -> None:
    probe: Probe = fixture.join(publisher, name="newcomer")
    fixture.require(
        fixture.environment.reaches(lambda: probe.ended),
        "the publisher has shut down, and yet a newcomer got no terminal signal",
    )


def _times_closed(fixture: PublisherFixture, publisher: Publisher[object]) -> int:
    assert fixture.claims.closed is not None
    return fixture.claims.closed(publisher)
