"""Checks for publishers: how a stream ends, and that it is over then."""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

from penstock.api import UNBOUNDED, Publisher
from penstock.runtime import shorten
from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.probe import Probe
from penstock.tck.publisher_fixture import PublisherFixture

__all__: list[str] = []


@PUBLISHER.check("1.4", needs="failed")
def signals_its_failure(fixture: PublisherFixture) -> None:
    """Requests all of a stream that fails; on_error comes, with an exception.

    Catch what the source raises, and hand it to on_error.
    """
    probe = fixture.join(fixture.failed_publisher())
    if not probe.ended:
        probe.request(UNBOUNDED)
    error = fixture.expect_error(probe, "1.4")
    fixture.require(isinstance(error, Exception), f"{shorten(error)} is no Exception")


@PUBLISHER.check("1.5", needs="completes")
def completes_after_the_last_element(fixture: PublisherFixture) -> None:
    """Requests more than there is of streams of 0, 1 and 3 elements; each ends with on_complete.

    Signal on_complete when the source is empty, without waiting for one more request.
    """
    for elements in {fixture.at_most(n) for n in (0, 1, 3)}:
        probe = fixture.stream(elements)
        probe.request(elements + 1)
        fixture.expect(probe, elements)
        fixture.expect_completion(probe)


@PUBLISHER.check("1.5", needs="completes")
def completes_when_requested_one_by_one(fixture: PublisherFixture) -> None:
    """Requests one element in each on_next; on_complete comes after the last one.

    Check for the end of the source each time there is demand, and not only when request is called.
    """
    elements = fixture.at_most(5, 1)
    probe = fixture.stream(elements, request=1, each=1)
    fixture.expect(probe, elements)
    fixture.expect_completion(probe)


@PUBLISHER.check("1.6", needs="completes")
def forgets_demand_after_completion(fixture: PublisherFixture) -> None:
    """Calls request, also with 0, and cancel after on_complete; nothing happens.

    Mark the subscription as cancelled before you signal on_complete.
    """
    probe = _completed(fixture, fixture.publisher(fixture.at_most(2)))
    _expect_nothing_of_calls(fixture, probe)


@PUBLISHER.check("1.6")
def forgets_demand_after_an_error(fixture: PublisherFixture) -> None:
    """Calls request, also with 0, and cancel after on_error; nothing happens.

    Mark the subscription as cancelled before you signal on_error.
    """
    probe = _failed_by_request(fixture, fixture.publisher(fixture.at_most(3, 2)))
    _expect_nothing_of_calls(fixture, probe)


@PUBLISHER.check("1.6", needs="completes")
def drops_the_subscriber_after_completion(fixture: PublisherFixture) -> None:
    """Drops a subscriber after on_complete; nobody else holds it.

    Clear all that refers to the subscriber: fields, closures, and exceptions that were kept, whose
    traceback refers to all that was on the stack.
    """
    publisher = fixture.publisher(fixture.at_most(2))
    _expect_to_be_dropped(fixture, publisher, _completed)


@PUBLISHER.check("1.6")
def drops_the_subscriber_after_an_error(fixture: PublisherFixture) -> None:
    """Drops a subscriber after on_error; nobody else holds it.

    Clear all that refers to the subscriber: fields, closures, and the lists of a publisher.
    """
    publisher = fixture.publisher(fixture.at_most(3, 2))
    _expect_to_be_dropped(fixture, publisher, _failed_by_request)


@PUBLISHER.check("1.7", needs="completes")
def nothing_follows_completion(fixture: PublisherFixture) -> None:
    """Listens after on_complete for a second, then requests once more; no signal comes.

    Leave all loops and stop all timers of a stream when you signal on_complete.
    """
    probe = _completed(fixture, fixture.publisher(fixture.at_most(2)))
    _listen(fixture, probe)


@PUBLISHER.check("1.7")
def nothing_follows_the_error_for_an_illegal_request(fixture: PublisherFixture) -> None:
    """Listens after the on_error for request(-1), then requests once more; no signal comes.

    Treat an illegal request as the end of the stream: neither elements nor on_complete follow.
    """
    probe = _failed_by_request(fixture, fixture.publisher(fixture.at_most(3, 2)))
    _listen(fixture, probe)


@PUBLISHER.check("1.7", needs="failed")
def nothing_follows_its_failure(fixture: PublisherFixture) -> None:
    """Listens after the on_error of a stream that fails, then requests once more; no signal comes.

    Leave all loops of a stream when you signal on_error. Above all, do not signal on_complete.
    """
    probe = fixture.join(fixture.failed_publisher())
    if not probe.ended:
        probe.request(UNBOUNDED)
    fixture.expect_error(probe, "1.4")
    _listen(fixture, probe)


def _completed(fixture: PublisherFixture, publisher: Publisher[object]) -> Probe:
    elements = fixture.at_most(2)
    probe = fixture.join(publisher)
    if not probe.ended:
        probe.request(elements + 1)
    fixture.expect(probe, elements)
    fixture.expect_completion(probe, "1.5")
    return probe


def _failed_by_request(fixture: PublisherFixture, publisher: Publisher[object]) -> Probe:
    probe = fixture.join(publisher)
    fixture.take(probe, 1)
    probe.request(-1)
    fixture.expect_error(probe, "3.9")
    return probe


def _listen(fixture: PublisherFixture, probe: Probe) -> None:
    # The probe itself objects to whatever comes.
    fixture.environment.settle()
    probe.request(10)
    fixture.environment.settle()


def _expect_nothing_of_calls(fixture: PublisherFixture, probe: Probe) -> None:
    fixture.environment.settle()
    probe.blame = {"1.7": "1.6"}
    for n in (1, 0):
        probe.request(n)
        fixture.environment.settle()
    probe.cancel()
    fixture.environment.settle()


def _expect_to_be_dropped(
    fixture: PublisherFixture,
    publisher: Publisher[object],
    end: Callable[[PublisherFixture, Publisher[object]], Probe],
) -> None:
    subscriber = ref(end(fixture, publisher))
    fixture.expect_dropped(subscriber)
