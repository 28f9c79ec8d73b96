"""Checks of how a subscriber takes the end of its stream: rules 2.3, 2.4, 2.9 and 2.10."""

from __future__ import annotations

from penstock.tck.checks.suites import SUBSCRIBER
from penstock.tck.claims import NotClaimed
from penstock.tck.stream import Stream
from penstock.tck.subscriber_fixture import SubscriberFixture


def _ended_at_rest(fixture: SubscriberFixture, signal: str) -> Stream:
    """A stream that ends when the subscriber has nothing left to do: each call counts from here."""
    stream = fixture.join()
    # In real time nobody knows how long it is busy with an element; so it gets none.
    fixture.feed(stream, fixture.short_of_the_end(2) if fixture.environment.owns_time else 0)
    fixture.pull(stream, 1)
    fixture.await_demand(stream)
    fixture.come_to_rest()
    stream.end(signal, at_rest=True)
    fixture.environment.rest()
    return stream


@SUBSCRIBER.check("2.3")
def calls_nothing_in_on_complete(fixture: SubscriberFixture) -> None:
    """Completes a stream; the subscription and the publisher are not called, on whichever thread.

    Call nothing upstream in ``on_complete``: there is nothing left to cancel or to request.
    """
    _ended_at_rest(fixture, "on_complete")


@SUBSCRIBER.check("2.3")
def calls_nothing_in_on_error(fixture: SubscriberFixture) -> None:
    """Lets a stream fail; the subscription and the publisher are not called, on whichever thread.

    Call nothing upstream in ``on_error``: start again, if at all, later and with a new subscriber.
    """
    _ended_at_rest(fixture, "on_error")


@SUBSCRIBER.check("2.4")
def calls_nothing_once_the_stream_has_completed(fixture: SubscriberFixture) -> None:
    """Completes a stream and lets time pass; the subscription is not called any more.

    Forget the subscription in ``on_complete``, and stop timers and tasks that would use it.
    """
    _ended_at_rest(fixture, "on_complete")
    fixture.come_to_rest()


@SUBSCRIBER.check("2.4")
def calls_nothing_once_the_stream_has_failed(fixture: SubscriberFixture) -> None:
    """Lets a stream fail and lets time pass; the subscription is not called any more.

    Forget the subscription in ``on_error``, and stop timers and tasks that would use it.
    """
    _ended_at_rest(fixture, "on_error")
    fixture.come_to_rest()


@SUBSCRIBER.check("2.4", needs="puppet")
def calls_nothing_for_its_user_once_the_stream_is_over(fixture: SubscriberFixture) -> None:
    """Ends a stream, then has the user request and cancel; the subscription is not called.

    Forget the subscription when the stream ends, so that calls of the user lead nowhere.
    """
    stream = fixture.join()
    if fixture.puppet(stream) is not stream.subject:
        raise NotClaimed("the puppet is not the subscriber itself")
    for signal in ("on_complete", "on_error"):
        stream = _ended_at_rest(fixture, signal)
        fixture.environment.settle()
        _try_to_use(stream)
        fixture.environment.settle()


def _try_to_use(stream: Stream) -> None:
    for call in (lambda: stream.subject.request(1), stream.subject.cancel):
        try:
            call()
        except Exception as error:
            if stream.environment.is_own(error):
                raise
            # It may well tell its user that the stream is over.


@SUBSCRIBER.check("2.9")
def is_ready_for_completion_at_once(fixture: SubscriberFixture) -> None:
    """Sends ``on_complete`` right after ``on_subscribe``; nothing goes wrong.

    Expect a stream without elements, and one that ends before you have asked for anything.
    """
    _end_at_once(fixture, "on_complete")


@SUBSCRIBER.check("2.9")
def is_ready_for_completion_while_it_waits(fixture: SubscriberFixture) -> None:
    """Sends ``on_complete`` in place of elements that were requested; nothing goes wrong.

    Expect fewer elements than you have asked for.
    """
    _end_in_place_of_an_element(fixture, "on_complete")


@SUBSCRIBER.check("2.10")
def is_ready_for_failure_at_once(fixture: SubscriberFixture) -> None:
    """Sends ``on_error`` right after ``on_subscribe``; nothing goes wrong.

    Expect a stream to fail before its first element, and before you have asked for anything.
    """
    _end_at_once(fixture, "on_error")


@SUBSCRIBER.check("2.10")
def is_ready_for_failure_while_it_waits(fixture: SubscriberFixture) -> None:
    """Sends ``on_error`` in place of elements that were requested; nothing goes wrong.

    Expect fewer elements than you have asked for, and do not raise the error that you get.
    """
    _end_in_place_of_an_element(fixture, "on_error")


def _end_at_once(fixture: SubscriberFixture, signal: str) -> None:
    stream = fixture.join()
    stream.end(signal)
    fixture.expect_end(stream, signal)
    fixture.environment.settle()


def _end_in_place_of_an_element(fixture: SubscriberFixture, signal: str) -> None:
    stream = fixture.join()
    fixture.feed(stream, fixture.short_of_the_end(2))
    fixture.pull(stream, 1)
    fixture.await_demand(stream)
    stream.end(signal)
    fixture.expect_end(stream, signal)
    fixture.environment.settle()
