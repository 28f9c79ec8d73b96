"""Checks for publishers: how a stream ends, by itself or by a cancel, and that it is over then."""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

from penstock.api import UNBOUNDED, Publisher
from penstock.runtime import shorten
from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.probe import OUTSIDE, WITHIN, Place, Probe, elements_before
from penstock.tck.publisher_fixture import MANY, PublisherFixture

__all__: list[str] = []


@PUBLISHER.check("1.4", needs="failed", within_signals=True)
def signals_its_failure(fixture: PublisherFixture, place: Place) -> None:
    """Requests all of a stream that fails; on_error comes, with an exception.

    Catch what the source raises, and hand it to on_error.
    """
    error = _failed(fixture, place).error
    fixture.require(isinstance(error, Exception), f"{shorten(error)} is no Exception")


@PUBLISHER.check("1.5", needs="completes", within_signals=True)
def completes_after_the_last_element(fixture: PublisherFixture, place: Place) -> None:
    """Requests more than there is of streams of 0, 1 and 3 elements; each ends with on_complete.

    Signal on_complete when the source is empty, without waiting for one more request.
    """
    least = elements_before(place)
    for elements in {fixture.at_most(max(n, least), least) for n in (0, 1, 3)}:
        publisher = fixture.publisher(elements)
        fixture.expect_completion(_taken(fixture, publisher, place, elements))


@PUBLISHER.check("1.5", needs="completes")
def completes_when_requested_one_by_one(fixture: PublisherFixture) -> None:
    """Requests one element in each on_next; on_complete comes after the last one.

    Check for the end of the source each time there is demand, and not only when request is called.
    """
    elements = fixture.at_most(5, 1)
    probe = fixture.stream(elements, request=1, each=1)
    fixture.expect(probe, elements)
    fixture.expect_completion(probe)


@PUBLISHER.check("1.6", needs="completes", within_signals=True)
def forgets_demand_after_completion(fixture: PublisherFixture, place: Place) -> None:
    """Calls request, also with 0, and cancel after on_complete; nothing happens.

    Mark the subscription as cancelled before you signal on_complete.
    """
    _expect_nothing_of_calls(fixture, _completed(fixture, _of_two(fixture, place), place))


@PUBLISHER.check("1.6", within_signals=True)
def forgets_demand_after_an_error(fixture: PublisherFixture, place: Place) -> None:
    """Calls request, also with 0, and cancel after on_error; nothing happens.

    Mark the subscription as cancelled before you signal on_error.
    """
    _expect_nothing_of_calls(fixture, _failed_by_request(fixture, _of_three(fixture), place))


@PUBLISHER.check("1.6", needs="completes", within_signals=True)
def drops_the_subscriber_after_completion(fixture: PublisherFixture, place: Place) -> None:
    """Drops a subscriber after on_complete; nobody else holds it.

    Clear all that refers to the subscriber: fields, closures, and exceptions that were kept, whose
    traceback refers to all that was on the stack.
    """
    publisher = _of_two(fixture, place)
    fixture.expect_dropped(ref(_completed(fixture, publisher, place)))


@PUBLISHER.check("1.6", within_signals=True)
def drops_the_subscriber_after_an_error(fixture: PublisherFixture, place: Place) -> None:
    """Drops a subscriber after on_error; nobody else holds it.

    Clear all that refers to the subscriber: fields, closures, and the lists of a publisher.
    """
    publisher = _of_three(fixture)
    fixture.expect_dropped(ref(_failed_by_request(fixture, publisher, place)))


@PUBLISHER.check("1.7", needs="completes", within_signals=True)
def nothing_follows_completion(fixture: PublisherFixture, place: Place) -> None:
    """Listens after on_complete for a second, then requests once more; no signal comes.

    Leave all loops and stop all timers of a stream when you signal on_complete.
    """
    _listen(fixture, _completed(fixture, _of_two(fixture, place), place))


@PUBLISHER.check("1.7", within_signals=True)
def nothing_follows_the_error_for_an_illegal_request(
    fixture: PublisherFixture, place: Place
) -> None:
    """Listens after the on_error for request(-1), then requests once more; no signal comes.

    Treat an illegal request as the end of the stream: neither elements nor on_complete follow.
    """
    _listen(fixture, _failed_by_request(fixture, _of_three(fixture), place))


@PUBLISHER.check("1.7", needs="failed", within_signals=True)
def nothing_follows_its_failure(fixture: PublisherFixture, place: Place) -> None:
    """Listens after the on_error of a stream that fails, then requests once more; no signal comes.

    Leave all loops of a stream when you signal on_error. Above all, do not signal on_complete.
    """
    _listen(fixture, _failed(fixture, place))


# Streams that have come to their end by what was requested at some place.


def _of_two(fixture: PublisherFixture, place: Place) -> Publisher[object]:
    """A publisher of two elements, or as few as there may be."""
    return fixture.publisher(fixture.at_most(2, elements_before(place)))


def _of_three(fixture: PublisherFixture) -> Publisher[object]:
    """A publisher of three elements, or two."""
    return fixture.publisher(fixture.at_most(3, 2))


def _completed(fixture: PublisherFixture, publisher: Publisher[object], place: Place) -> Probe:
    probe = _taken(fixture, publisher, place, fixture.at_most(2))
    fixture.expect_completion(probe, "1.5")
    return probe


def _taken(
    fixture: PublisherFixture, publisher: Publisher[object], place: Place, elements: int
) -> Probe:
    probe = fixture.calling(publisher, place, lambda probe: probe.request(elements + 1))
    fixture.expect(probe, elements)
    return probe


def _failed_by_request(
    fixture: PublisherFixture, publisher: Publisher[object], place: Place
) -> Probe:
    probe = fixture.calling(publisher, place, lambda probe: probe.request(-1), first=1)
    fixture.expect_error(probe, "3.9")
    return probe


def _failed(fixture: PublisherFixture, place: Place) -> Probe:
    publisher = fixture.failed_publisher()
    if place == "on_next":
        probe = fixture.join(publisher, each=UNBOUNDED)
        probe.request(1)  # it may fail before its first element
    else:
        probe = fixture.calling(publisher, place, lambda probe: probe.request(UNBOUNDED))
    fixture.expect_error(probe, "1.4")
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


# What ``cancel`` does, how often and from wherever it is called.


@PUBLISHER.check("1.8")
def falls_silent_after_a_cancel(fixture: PublisherFixture) -> None:
    """Cancels in on_subscribe, or in one of the first on_next, with much demand; the stream stops.

    Check the cancelled mark before each signal, and leave the loop when it is set. Do not clear it
    once on_subscribe is back.
    """
    elements = fixture.at_most(MANY, 1)
    for index in range(min(5, elements) + 1):
        if index:
            probe = fixture.stream(elements, cancel_at=index)
            probe.request(elements)
        else:
            probe = fixture.stream(elements, request=elements, on_start=Probe.cancel)
        fixture.expect(probe, index)
        fixture.expect_stop(probe, elements)
        with fixture.silence(probe, f"cancelled at element {index}"):
            pass


@PUBLISHER.check("1.8", explored=True)
def no_cancel_gets_lost(fixture: PublisherFixture) -> None:
    """Cancels on one thread while another one requests; once all is quiet, nothing more comes.

    Once cancelled, always cancelled: no other state may take the place of this one.
    """
    probe = fixture.stream(fixture.at_most(6, 4))
    fixture.take(probe, 1)
    fixture.environment.together(lambda: probe.request(2), probe.cancel)
    fixture.environment.settle()
    with fixture.silence(probe, "the cancel had settled"):
        probe.request(1)


@PUBLISHER.check("3.5", within_signals=True)
def cancel_returns_quickly(fixture: PublisherFixture, place: Place) -> None:
    """Cancels 3 streams; at least one cancel neither waits nor computes for long.

    Leave a mark, and clean up elsewhere. Do not wait for a thread to end.
    """
    stopwatch = fixture.stopwatch()

    def cancel(probe: Probe) -> None:
        with stopwatch.lap():
            probe.cancel()

    for _ in range(3):
        fixture.calling(fixture.publisher(fixture.at_most(3, 1)), place, cancel, first=1)
        fixture.environment.settle()
    stopwatch.require_quick("cancel()")


@PUBLISHER.check("3.5")
def cancel_does_not_wait_for_a_signal(fixture: PublisherFixture) -> None:
    """Cancels on another thread while a signal is under way; cancel is back before that is.

    Hold no lock while you signal that cancel needs, too.
    """
    for place in WITHIN:

        def cancel_elsewhere(probe: Probe, signal: str = place) -> None:
            fixture.environment.aside(probe.cancel)
            is_back = fixture.environment.reaches(lambda: probe.cancelled_after is not None)
            fixture.require(is_back, f"cancel() waited until {signal} was back")

        fixture.calling(fixture.publisher(fixture.at_most(2, 1)), place, cancel_elsewhere)


@PUBLISHER.check("3.5", explored=True)
def cancel_is_thread_safe(fixture: PublisherFixture) -> None:
    """Cancels from two threads at once, while a third one requests; nothing is raised.

    Guard by a lock what cancel reads and then changes, or make it one atomic step.
    """
    probe = fixture.stream(fixture.at_most(5, 3), blame={"3.15": "3.5", "3.16": "3.5"})
    fixture.take(probe, 1)
    fixture.environment.together(lambda: probe.request(2), probe.cancel, probe.cancel)
    fixture.environment.settle()
    with fixture.silence(probe, "cancelled by two threads"):
        probe.request(1)


@PUBLISHER.check("3.6", within_signals=True)
def request_after_cancel_does_nothing(fixture: PublisherFixture, place: Place) -> None:
    """Cancels at each of the first elements; neither request(1) nor request(0) has an effect then.

    Check the cancelled mark first, before the argument and the demand.
    """

    def cancel_and_ask(probe: Probe) -> None:
        probe.cancel()
        for n in (1, 0, -1):
            probe.request(n)

    _expect_silence(fixture, place, cancel_and_ask, "request after cancel")


@PUBLISHER.check("3.7", within_signals=True)
def cancel_after_cancel_does_nothing(fixture: PublisherFixture, place: Place) -> None:
    """Cancels at each of the first elements, and then again; the second time has no effect.

    Check the cancelled mark first: only the first cancel has something to do.
    """

    def cancel_and_ask(probe: Probe) -> None:
        probe.cancel()
        probe.request(1)

    def cancel_twice_and_ask(probe: Probe) -> None:
        probe.cancel()
        probe.blame = {"3.15": "3.7"}
        probe.cancel()
        probe.request(1)

    _expect_silence(fixture, place, cancel_and_ask, "request after cancel", rule="3.6")
    _expect_silence(fixture, place, cancel_twice_and_ask, "a second cancel")


@PUBLISHER.check("3.12")
def cancel_of_another_thread_stops_the_stream(fixture: PublisherFixture) -> None:
    """Cancels from outside while a long stream flows; it stops long before its end.

    Let the sending loop see the mark that cancel leaves, whichever thread it comes from.
    """
    elements = fixture.at_most(MANY, MANY)
    probe = fixture.stream(elements, lingers=True)
    fixture.take(probe, 1)
    fixture.environment.together(lambda: probe.request(elements - 1), probe.cancel)
    fixture.expect_stop(probe, elements)


@PUBLISHER.check("3.13", within_signals=True)
def drops_the_subscriber_after_cancel(fixture: PublisherFixture, place: Place) -> None:
    """Cancels, and drops the subscriber; nobody else holds it.

    Clear all that refers to the subscriber: fields, closures, and exceptions that were kept, whose
    traceback refers to all that was on the stack. Leave the sending loop, and keep no frame of it.
    """
    first = 2 if place == "on_next" else 1  # there is demand left in on_next
    publisher = fixture.publisher(fixture.at_most(5, 1 + first))
    fixture.expect_dropped(ref(fixture.calling(publisher, place, Probe.cancel, first=first)))


@PUBLISHER.check("3.15")
def cancel_returns_normally(fixture: PublisherFixture) -> None:
    """Cancels before, within and after a stream, and in its signals; nothing is raised.

    Catch what goes wrong while you clean up, and report it elsewhere.
    """
    elements = fixture.at_most(3, 1)
    fixture.stream(elements).cancel()
    for place in (OUTSIDE, *WITHIN):
        fixture.calling(fixture.publisher(elements), place, Probe.cancel, first=1)
    over = fixture.stream(elements)
    over.request(0)
    fixture.environment.settle()
    over.cancel()
    fixture.environment.settle()


def _expect_silence(
    fixture: PublisherFixture,
    place: Place,
    calls: Callable[[Probe], None],
    because: str,
    rule: str = "",
) -> None:
    """The calls cancel the stream, at each of the first elements or in a signal; it is silent."""
    elements = fixture.at_most(6, 2)
    for index in range(min(4, elements)) if place == OUTSIDE else (1,):
        probe = fixture.calling(fixture.publisher(elements), place, calls, first=index)
        at = f"at element {index}" if place == OUTSIDE else f"in {place}"
        fixture.expect_silence(probe, f"{because} {at}", rule)
