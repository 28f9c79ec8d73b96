"""Checks of a subscriber that works with several threads: rules 2.7 and 2.11."""

from __future__ import annotations

from penstock.tck.checks.suites import SUBSCRIBER
from penstock.tck.subscriber_fixture import SubscriberFixture


@SUBSCRIBER.check("2.7", explored=True)
def calls_its_subscription_one_call_at_a_time(fixture: SubscriberFixture) -> None:
    """Sends elements while others are still processed; calls of the subscription never overlap.

    Call the subscription under a lock that no signal waits for, or on one thread only.
    """
    stream = fixture.join(lingers=True)
    for _ in range(4):
        if not fixture.offer(stream, in_a_burst=True):
            break
    fixture.environment.rest()


@SUBSCRIBER.check("2.7", explored=True)
def calls_its_subscription_one_call_at_a_time_if_that_sends(fixture: SubscriberFixture) -> None:
    """Sends elements from within ``request``; no other thread calls before that has returned.

    Make the first call on the thread that makes the others, not in ``on_subscribe``.
    """
    stream = fixture.join_eager(limit=fixture.at_most(4), lingers=True)
    fixture.pull(stream, stream.limit)
    fixture.require(
        fixture.environment.reaches(lambda: stream.is_exhausted),
        f"only {len(stream.sent)} elements were requested, and cancel was not called",
    )


@SUBSCRIBER.check("2.7", needs="puppet_of_many_threads", explored=True)
def calls_its_subscription_one_call_at_a_time_for_all_users(fixture: SubscriberFixture) -> None:
    """Has the user cancel while another thread requests or sends; calls never overlap.

    Let the calls of users leave a message, and call the subscription where the messages are read.
    """
    stream = fixture.join(lingers=True)
    fixture.environment.together(
        lambda: fixture.steer(stream, "request", 1), lambda: fixture.steer(stream, "cancel")
    )
    stream = fixture.join(lingers=True)
    fixture.pull(stream, 1)
    fixture.await_demand(stream)
    fixture.environment.together(stream.next, lambda: fixture.steer(stream, "cancel"))
    fixture.environment.rest()


@SUBSCRIBER.check("2.11", needs="received", explored=True)
def processes_what_any_thread_hands_over(fixture: SubscriberFixture) -> None:
    """Sends each element on a thread of its own, one after the other; none is lost or doubled.

    Hand elements over by a queue, a lock or an executor, not by a field that two threads share.
    """
    _hand_over(fixture, in_order=False)


@SUBSCRIBER.check("2.11", needs="in_order", explored=True)
def processes_in_order_what_any_thread_hands_over(fixture: SubscriberFixture) -> None:
    """Sends each element on a thread of its own, one after the other; the order is kept.

    Process all elements of a stream on one thread, or one after the other.
    """
    _hand_over(fixture, in_order=True)


def _hand_over(fixture: SubscriberFixture, *, in_order: bool) -> None:
    stream = fixture.join(lingers=True)
    for _ in range(2):
        if not fixture.offer(stream, in_a_burst=True, on_new_thread=True):
            break
    fixture.expect_received(stream, in_order=in_order)
