"""Checks of how a subscriber takes the end of its stream, and of when it cancels one itself."""

from __future__ import annotations

from penstock.tck.checks.suites import SUBSCRIBER
from penstock.tck.claims import NotClaimed
from penstock.tck.report import FACTORY
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


# When a subscriber cancels, and what follows: rules 2.5, 2.6, 2.8, 3.6 and 3.7.


@SUBSCRIBER.check("2.5")
def cancels_a_second_subscription(fixture: SubscriberFixture) -> None:
    """Sends ``on_subscribe`` a second time; the new subscription is cancelled, the first is not.

    In ``on_subscribe``, call ``cancel`` on the new subscription if you have one already.
    """
    stream = fixture.join()
    fixture.feed(stream, fixture.short_of_the_end(1))
    fixture.environment.rest()
    _expect_cancel_of_second(fixture, stream)


@SUBSCRIBER.check("2.5")
def cancels_a_second_subscription_that_comes_at_once(fixture: SubscriberFixture) -> None:
    """Sends ``on_subscribe`` twice in a row; the second subscription is cancelled.

    Keep the first subscription before ``on_subscribe`` returns, so that the second finds it.
    """
    _expect_cancel_of_second(fixture, fixture.join())


def _expect_cancel_of_second(fixture: SubscriberFixture, stream: Stream) -> None:
    fixture.need_subscription(stream)
    second = fixture.join_again(stream)
    fixture.require(
        fixture.environment.reaches(lambda: second.spy.cancelled),
        "the second subscription stays open",
    )
    fixture.require(not stream.spy.cancelled, "the first subscription was cancelled")


@SUBSCRIBER.check("2.5")
def goes_on_with_the_first_stream(fixture: SubscriberFixture) -> None:
    """Sends ``on_subscribe`` a second time, then elements; they are requested as before.

    Leave everything that belongs to the first stream as it is.
    """
    stream = fixture.join()
    fixture.environment.rest()
    fixture.need_subscription(stream)
    fixture.join_again(stream)
    fixture.environment.rest()
    fixture.require(not stream.spy.cancelled, "the first subscription was cancelled")
    fixture.feed(stream, fixture.short_of_the_end(3))
    fixture.expect_received(stream)


@SUBSCRIBER.check("2.6", needs="stops_after")
def cancels_when_it_has_enough(fixture: SubscriberFixture) -> None:
    """Sends the number of elements after which the subscriber stops; then it cancels.

    Call ``subscription.cancel`` with the last element that you want.
    """
    stops_after = fixture.claims.stops_after
    assert stops_after is not None
    stream = fixture.join()
    for sent in range(stops_after):
        early = f"it cancelled after {sent} elements, and claims to stop after {stops_after}"
        fixture.require(not stream.spy.cancelled, early)
        fixture.feed(stream, 1)
    fixture.require(
        fixture.environment.reaches(lambda: stream.spy.cancelled),
        f"cancel was not called after {stops_after} elements",
    )


@SUBSCRIBER.check("2.6", needs="puppet")
def cancels_when_its_user_has_enough(fixture: SubscriberFixture) -> None:
    """Tells the puppet to cancel; then the subscription is cancelled.

    Call ``subscription.cancel`` when the user stops, besides what else has to end.
    """
    stream = fixture.join()
    fixture.feed(stream, fixture.short_of_the_end(1))
    fixture.steer(stream, "cancel")
    fixture.require(
        fixture.environment.reaches(lambda: stream.spy.cancelled),
        "cancel of the puppet had no effect",
    )


@SUBSCRIBER.check("2.6", needs="poison")
def cancels_or_goes_on_when_its_own_code_fails(fixture: SubscriberFixture) -> None:
    """Sends an element that the subscriber fails at; it asks for more, or it cancels.

    Catch what your own code raises; then go on with the next element, or call ``cancel``.
    """
    fixture.environment.forgive(Exception)
    stream = _poisoned(fixture)
    for _ in range(10):
        fixture.pull(stream, 1)
        goes_on = fixture.environment.reaches(lambda: stream.demand > 0 or stream.spy.cancelled)
        fixture.require(goes_on, "it stopped at an element that it failed at, and did not cancel")
        if stream.spy.cancelled:
            return
        stream.next()


@SUBSCRIBER.check("2.13", needs="poison")
def returns_normally_when_its_own_code_fails(fixture: SubscriberFixture) -> None:
    """Sends an element that the subscriber fails at; ``on_next`` returns normally.

    Catch what your own code raises; then go on with the next element, or call ``cancel``.
    """
    fixture.environment.forgive(Exception)
    _poisoned(fixture)
    fixture.environment.rest()


def _poisoned(fixture: SubscriberFixture) -> Stream:
    poison = fixture.claims.poison
    assert poison is not None
    stream = fixture.join()
    fixture.feed(stream, fixture.short_of_the_end(1))
    fixture.pull(stream, 1)
    fixture.await_demand(stream)
    stream.send(fixture.environment.call("poison()", FACTORY, poison))
    return stream


@SUBSCRIBER.check("2.8")
def takes_elements_that_were_on_their_way(fixture: SubscriberFixture) -> None:
    """Lets the subscriber cancel and sends what it had requested before; nothing goes wrong.

    After ``cancel``, let ``on_next`` drop the element instead of raising or waiting.
    """
    stream = fixture.cancelled_stream()
    if stream.demand < 1:
        raise NotClaimed("the subject has no demand left when it cancels")
    for _ in range(min(stream.demand, 5)):
        stream.next()
        fixture.environment.rest()


@SUBSCRIBER.check("2.9")
def takes_the_completion_of_a_cancelled_stream(fixture: SubscriberFixture) -> None:
    """Lets the subscriber cancel and sends ``on_complete``, which was on its way.

    Let ``on_complete`` do nothing when the stream is cancelled already.
    """
    fixture.cancelled_stream().complete()
    fixture.environment.rest()


@SUBSCRIBER.check("2.10")
def takes_the_failure_of_a_cancelled_stream(fixture: SubscriberFixture) -> None:
    """Lets the subscriber cancel and sends ``on_error``, which was on its way.

    Let ``on_error`` do nothing when the stream is cancelled already.
    """
    fixture.cancelled_stream().fail()
    fixture.environment.rest()


@SUBSCRIBER.check("3.6", needs="calls_nothing_cancelled")
def requests_nothing_once_it_has_cancelled(fixture: SubscriberFixture) -> None:
    """Lets the subscriber cancel and sends what is left; ``request`` is not called again.

    Forget the subscription when you cancel it.
    """
    stream = _used_up_after_cancel(fixture)
    fixture.require(stream.spy.late_requests == 0, "request was called after cancel")


@SUBSCRIBER.check("3.7", needs="calls_nothing_cancelled")
def cancels_once_only(fixture: SubscriberFixture) -> None:
    """Lets the subscriber cancel and sends what is left; ``cancel`` is not called again.

    Forget the subscription when you cancel it.
    """
    stream = _used_up_after_cancel(fixture)
    fixture.require(stream.spy.cancels == 1, f"cancel was called {stream.spy.cancels} times")


def _used_up_after_cancel(fixture: SubscriberFixture) -> Stream:
    stream = fixture.cancelled_stream()
    for _ in range(min(stream.demand, 5)):
        stream.next()
    fixture.environment.settle()
    return stream
