"""Checks with a publisher that answers from within ``request``: rules 3.10 and 3.11."""

from __future__ import annotations

import threading
from typing import Any

from penstock.tck.checks.suites import SUBSCRIBER
from penstock.tck.stream import EagerStream, Stream
from penstock.tck.subscriber_fixture import SubscriberFixture

MANY = 10_000
SOME = 300
"""Fewer where each element takes several turns of threads."""


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
