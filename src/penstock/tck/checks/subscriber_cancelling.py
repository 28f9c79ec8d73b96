"""Checks of when a subscriber cancels and of what follows: rules 2.5, 2.6, 2.8, 3.6 and 3.7."""

from __future__ import annotations

from penstock.tck.checks.suites import SUBSCRIBER
from penstock.tck.claims import NotClaimed
from penstock.tck.report import FACTORY
from penstock.tck.stream import Stream
from penstock.tck.subscriber_fixture import SubscriberFixture


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
