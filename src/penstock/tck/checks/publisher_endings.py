"""Checks for publishers: how a stream ends, by itself or by a cancel, and that it is over then."""

from __future__ import annotations

from collections.abc import Callable
from weakref import ref

from penstock.api import UNBOUNDED, Publisher
from penstock.runtime import shorten
from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.probe import Probe
from penstock.tck.publisher_fixture import MANY, PublisherFixture

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


# What ``cancel`` does, how often and from wherever it is called.


@PUBLISHER.check("1.8")
def falls_silent_after_a_cancel(fixture: PublisherFixture) -> None:
    """Cancels in on_next, at each of the first elements, with much demand left; the stream stops.

    Check the cancelled mark before each signal, and leave the loop when it is set.
    """
    elements = fixture.at_most(MANY, 1)
    for index in range(1, min(5, elements) + 1):
        probe = fixture.stream(elements, cancel_at=index)
        probe.request(elements)
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


@PUBLISHER.check("3.5")
def cancel_returns_quickly(fixture: PublisherFixture) -> None:
    """Cancels 3 streams; at least one cancel neither waits nor computes for long.

    Leave a mark, and clean up elsewhere. Do not wait for a thread to end.
    """
    stopwatch = fixture.stopwatch()
    for _ in range(3):
        probe = fixture.stream(fixture.at_most(3, 1))
        fixture.take(probe, 1)
        with stopwatch.lap():
            probe.cancel()
        fixture.environment.settle()
    stopwatch.require_quick("cancel()")


@PUBLISHER.check("3.5")
def cancel_does_not_wait_for_a_signal(fixture: PublisherFixture) -> None:
    """Cancels on another thread while on_next is under way; cancel is back before on_next is.

    Hold no lock while you signal that cancel needs, too.
    """

    def cancel_elsewhere(probe: Probe) -> None:
        fixture.environment.aside(probe.cancel)
        is_back = fixture.environment.reaches(lambda: probe.cancelled_after is not None)
        fixture.require(is_back, "cancel() waited until on_next was back")

    fixture.expect(fixture.stream(fixture.at_most(2, 1), request=1, on_element=cancel_elsewhere), 1)


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


@PUBLISHER.check("3.6")
def request_after_cancel_does_nothing(fixture: PublisherFixture) -> None:
    """Cancels at each of the first elements; neither request(1) nor request(0) has an effect then.

    Check the cancelled mark first, before the argument and the demand.
    """
    elements = fixture.at_most(6, 2)
    for index in range(min(4, elements)):
        probe = _cancelled(fixture, elements, index)
        for n in (1, 0, -1):
            with fixture.silence(probe, f"request({n}) after cancel at element {index}"):
                probe.request(n)


@PUBLISHER.check("3.7")
def cancel_after_cancel_does_nothing(fixture: PublisherFixture) -> None:
    """Cancels at each of the first elements, and then again; the second time has no effect.

    Check the cancelled mark first: only the first cancel has something to do.
    """
    elements = fixture.at_most(6, 2)
    for index in range(min(4, elements)):
        probe = _cancelled(fixture, elements, index)
        with fixture.silence(probe, f"request(1) after cancel at element {index}", rule="3.6"):
            probe.request(1)
        probe.blame = {"3.15": "3.7"}
        with fixture.silence(probe, f"a second cancel at element {index}"):
            probe.cancel()
        with fixture.silence(probe, f"request(1) after two cancels at element {index}"):
            probe.request(1)


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


@PUBLISHER.check("3.13")
def drops_the_subscriber_after_cancel(fixture: PublisherFixture) -> None:
    """Cancels from outside, and drops the subscriber; nobody else holds it.

    Clear all that refers to the subscriber: fields, closures, and exceptions that were kept, whose
    traceback refers to all that was on the stack.
    """
    publisher = fixture.publisher(fixture.at_most(5, 2))
    fixture.expect_dropped(_cancelled_from_outside(fixture, publisher))


@PUBLISHER.check("3.13")
def drops_the_subscriber_after_cancel_in_on_next(fixture: PublisherFixture) -> None:
    """Cancels in on_next with demand left, and drops the subscriber; nobody else holds it.

    Leave the sending loop when it is cancelled, and keep no frame of it alive.
    """
    publisher = fixture.publisher(fixture.at_most(5, 3))
    fixture.expect_dropped(_cancelled_in_on_next(fixture, publisher))


@PUBLISHER.check("3.15")
def cancel_returns_normally(fixture: PublisherFixture) -> None:
    """Cancels before, within and after a stream, and in its signals; nothing is raised.

    Catch what goes wrong while you clean up, and report it elsewhere.
    """
    elements = fixture.at_most(3, 1)
    fixture.stream(elements).cancel()
    probe = fixture.stream(elements)
    fixture.take(probe, 1)
    probe.cancel()
    within = fixture.stream(elements, cancel_at=1)
    fixture.take(within, 1)
    over = fixture.stream(elements)
    over.request(0)
    fixture.environment.settle()
    over.cancel()
    fixture.environment.settle()


def _cancelled(fixture: PublisherFixture, elements: int, index: int) -> Probe:
    probe = fixture.stream(elements)
    fixture.take(probe, index)
    probe.cancel()
    fixture.environment.settle()
    return probe


def _cancelled_from_outside(fixture: PublisherFixture, publisher: Publisher[object]) -> ref[Probe]:
    probe = fixture.join(publisher)
    fixture.take(probe, 1)
    probe.cancel()
    return ref(probe)


def _cancelled_in_on_next(fixture: PublisherFixture, publisher: Publisher[object]) -> ref[Probe]:
    probe = fixture.join(publisher, cancel_at=1)
    probe.request(2)
    fixture.expect(probe, 1)
    return ref(probe)
