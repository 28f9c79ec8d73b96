"""Checks of what a subscriber requests, also of a publisher that answers within ``request``."""

from __future__ import annotations

import threading
from typing import Any

from penstock.tck.checks.suites import SUBSCRIBER
from penstock.tck.stream import EagerStream, Stream
from penstock.tck.subscriber_fixture import SubscriberFixture

PLENTY = 300
"""Demand that no check sets out to use up."""

MANY = 10_000
SOME = 300
"""Fewer where each element takes several turns of threads."""


@SUBSCRIBER.check("1.10")
def is_new_for_each_stream(fixture: SubscriberFixture) -> None:
    """Asks the factory for two subscribers; they are two objects.

    Make a new subscriber for each stream: it is good for one only.
    """
    fixture.require(
        fixture.subscriber() is not fixture.subscriber(),
        "the factory returned the same object twice",
    )


@SUBSCRIBER.check("1.10", needs="joins")
def does_not_join_a_second_time(fixture: SubscriberFixture) -> None:
    """Lets one stream fail and one complete; the subscriber does not subscribe itself again.

    To start again, pass a new subscriber to ``subscribe``.
    """
    for signal in ("on_error", "on_complete"):
        stream = fixture.join()
        fixture.feed(stream, fixture.short_of_the_end(1))
        fixture.environment.rest()
        stream.end(signal, at_rest=True)
        fixture.environment.settle()


@SUBSCRIBER.check("2.1")
def asks_for_elements(fixture: SubscriberFixture) -> None:
    """Opens a stream; the subscriber calls ``request``, and processes the element that it gets.

    Call ``subscription.request`` in ``on_subscribe``, or as soon as you can take an element. A
    subscriber that waits for its user has to claim ``puppet``.
    """
    stream = fixture.join()
    fixture.feed(stream, 1)
    fixture.expect_received(stream)


@SUBSCRIBER.check("2.1")
def asks_again_when_its_demand_is_used_up(fixture: SubscriberFixture) -> None:
    """Sends all that was requested, three times over; the subscriber asks again, or it cancels.

    Call ``request`` again once elements are processed. A subscriber that waits for its user has to
    claim ``puppet``.
    """
    stream = fixture.join()
    for _ in range(3):
        fixture.offer(stream)
        _use_up_demand(stream)
    fixture.pull(stream, 1)
    fixture.has_demand(stream)


def _use_up_demand(stream: Stream) -> None:
    for _ in range(PLENTY):
        if stream.demand < 1 or stream.spy.cancelled:
            return
        stream.next()


@SUBSCRIBER.check("3.1")
def calls_no_subscription_but_its_own(fixture: SubscriberFixture) -> None:
    """Sends elements to two subscribers in turn; none calls the subscription of the other.

    Keep the subscription in the subscriber that got it, not in a class or a module.
    """
    streams = fixture.join(name="first"), fixture.join(name="second")
    fixture.environment.rest()
    for _ in range(fixture.short_of_the_end(2)):
        for stream in streams:
            fixture.feed(stream, 1)
            fixture.environment.rest()
    for stream in streams:
        stream.complete()


@SUBSCRIBER.check("3.8", needs="puppet")
def adds_up_what_its_user_asks_for(fixture: SubscriberFixture) -> None:
    """Asks the puppet for 3 elements and then for 4; in the end 7 are requested and processed.

    Add each request to those before, and lose none.
    """
    stream = fixture.join()
    fixture.steer(stream, "request", 3)
    fixture.steer(stream, "request", 4)
    _expect_elements(fixture, stream, fixture.at_most(7))


@SUBSCRIBER.check("3.8", needs="puppet_of_many_threads", explored=True)
def adds_up_what_several_threads_ask_for(fixture: SubscriberFixture) -> None:
    """Asks the puppet for 1, 1 and 2 elements on three threads at once; in the end 4 are requested.

    Change the demand under a lock, or leave each request to one thread.
    """
    stream = fixture.join()
    fixture.puppet(stream)
    fixture.environment.together(
        *[lambda n=n: fixture.steer(stream, "request", n) for n in (1, 1, 2)]
    )
    _expect_elements(fixture, stream, fixture.at_most(4))


def _expect_elements(fixture: SubscriberFixture, stream: Stream, elements: int) -> None:
    """Send them as they are requested; the puppet is not asked again."""
    while len(stream.sent) < elements:
        fixture.require(
            fixture.environment.reaches(lambda: stream.demand > 0),
            f"the user asked for {elements} elements, the subscriber for {stream.spy.requested}",
        )
        stream.next()
    fixture.expect_received(stream)


@SUBSCRIBER.check("3.9")
def asks_for_positive_numbers_only(fixture: SubscriberFixture) -> None:
    """Sends elements one after the other; each ``request`` is for an ``int`` of at least 1.

    Leave out a request that comes to zero; round sizes and shares to an ``int`` first.
    """
    stream = fixture.join()
    for _ in range(10):
        if fixture.environment.is_late or not fixture.offer(stream):
            break
        fixture.environment.rest()


# A publisher that answers from within ``request``: rules 3.10 and 3.11.


@SUBSCRIBER.check("3.10")
def takes_elements_from_within_request(fixture: SubscriberFixture) -> None:
    """Sends elements before ``request`` returns; they are processed like any others.

    Set all fields before you call ``request``, and hold no lock while you do.
    """
    _expect_served(fixture, 5)


@SUBSCRIBER.check("3.10")
def takes_elements_one_within_the_other(fixture: SubscriberFixture) -> None:
    """Sends an element before ``request`` returns, even if that was called in ``on_next``.

    Call ``request`` last in ``on_next``, and keep nothing in fields across the call.
    """
    _expect_served(fixture, 5, nesting=3)


@SUBSCRIBER.check("3.10")
def takes_many_elements_from_within_request(fixture: SubscriberFixture) -> None:
    """Sends 10,000 elements before ``request`` returns; the stack of the subscriber does not grow.

    Work elements off in a loop, not by a function that calls itself.
    """
    first = _expect_served(fixture, 1)
    calls_at_once = first.spy.callers == {threading.get_native_id()}
    _expect_served(fixture, MANY if calls_at_once else SOME, silent=True)


def _expect_served(fixture: SubscriberFixture, elements: int, **behaviour: Any) -> Stream:
    """A stream that has sent so many elements, or as many as were requested in a second."""
    stream = fixture.join_eager(limit=fixture.at_most(elements), **behaviour)
    fixture.pull(stream, stream.limit)
    end = fixture.environment.now() + 1.0
    while not stream.is_exhausted:
        _expect_more(fixture, stream)
        if fixture.environment.now() > end:
            stream.limit = len(stream.sent)
    fixture.expect_received(stream, in_order=fixture.claims.in_order)
    return stream


def _expect_more(fixture: SubscriberFixture, stream: EagerStream) -> None:
    sent = len(stream.sent)
    fixture.require(
        fixture.environment.reaches(lambda: len(stream.sent) > sent or stream.is_exhausted),
        f"{sent} elements were sent from within request, and then neither request nor cancel came",
    )


@SUBSCRIBER.check("3.11")
def takes_completion_from_within_request(fixture: SubscriberFixture) -> None:
    """Sends ``on_complete`` before ``request`` returns, without elements and after some.

    Expect the stream to be over in each line that follows a call of ``request``.
    """
    _end_within_request(fixture, "on_complete")


@SUBSCRIBER.check("3.11")
def takes_failure_from_within_request(fixture: SubscriberFixture) -> None:
    """Sends ``on_error`` before ``request`` returns, without elements and after some.

    Expect the stream to be over in each line that follows a call of ``request``.
    """
    _end_within_request(fixture, "on_error")


def _end_within_request(fixture: SubscriberFixture, signal: str) -> None:
    for elements in (0, 2):
        _end_after(fixture, fixture.short_of_the_end(elements), signal)


def _end_after(fixture: SubscriberFixture, elements: int, signal: str) -> None:
    stream = fixture.join_eager(limit=elements, ending=signal)
    fixture.pull(stream, elements + 1)
    fixture.require(
        fixture.environment.reaches(lambda: stream.over or stream.spy.cancelled),
        "request was not called, so the stream cannot end from within it",
    )
    fixture.need_subscription(stream)
    fixture.expect_end(stream, signal)
    fixture.environment.settle()
