"""Checks of the signals as calls: how long they take, how they end, from several threads."""

from __future__ import annotations

from typing import Any

from penstock.runtime import shorten
from penstock.tck.checks.suites import SUBSCRIBER
from penstock.tck.claims import NotClaimed
from penstock.tck.stream import Cost
from penstock.tck.subscriber_fixture import SubscriberFixture

LONG = 0.1
"""Seconds that no signal should take, whether it waits or computes."""
TRIALS = 3
"""Only what is slow each time is slow; once it may be the machine."""


@SUBSCRIBER.check("2.2")
def takes_elements_without_holding_up_the_publisher(fixture: SubscriberFixture) -> None:
    """Sends elements; ``on_next`` neither waits nor computes for long.

    Leave slow work to a thread, a task or a process, and let ``on_next`` return at once.
    """
    stream = fixture.join()
    costs: list[Cost] = []
    while len(costs) < TRIALS and fixture.offer(stream):
        costs.append(stream.cost)
    if not costs:
        fixture.need_subscription(stream)
    _require_quick(fixture, "on_next", costs)


@SUBSCRIBER.check("2.2")
def begins_and_ends_without_holding_up_the_publisher(fixture: SubscriberFixture) -> None:
    """Opens and ends streams; the signals neither wait nor compute for long.

    Leave slow work to a thread, a task or a process, and let the signals return at once.
    """
    for signal in ("on_complete", "on_error"):
        streams = [fixture.join() for _ in range(TRIALS)]
        _require_quick(fixture, "on_subscribe", [stream.cost for stream in streams])
        for stream in streams:
            fixture.environment.rest()
            stream.end(signal)
        _require_quick(fixture, signal, [stream.cost for stream in streams])


def _require_quick(fixture: SubscriberFixture, signal: str, costs: list[Cost]) -> None:
    computed = min(cost.computed for cost in costs)
    passed = min(cost.passed for cost in costs)
    fixture.require(computed < LONG, f"{signal} computed for {computed:.2f} s")
    fixture.require(passed < LONG, f"{signal} waited and returned after {passed:.2f} s")


@SUBSCRIBER.check("2.2", needs="only_hands_over")
def calls_nothing_from_within_a_signal(fixture: SubscriberFixture) -> None:
    """Sends a whole stream; no signal calls the subscription before it returns.

    Let the signals leave a message, and call the subscription where the messages are read.
    """
    stream = fixture.join()
    fixture.feed(stream, fixture.at_most(3))
    within = stream.spy.called_within
    fixture.require(not within, f"the subscription was called from within {', '.join(within)}")


@SUBSCRIBER.check("2.13")
def returns_normally_until_the_stream_completes(fixture: SubscriberFixture) -> None:
    """Sends elements and then ``on_complete``; each signal returns normally.

    Catch what your own code raises: the publisher cannot help you with it.
    """
    _send_whole_stream(fixture, "on_complete")


@SUBSCRIBER.check("2.13")
def returns_normally_until_the_stream_fails(fixture: SubscriberFixture) -> None:
    """Sends elements and then ``on_error``; each signal returns normally.

    Catch what your own code raises: the publisher cannot help you with it.
    """
    _send_whole_stream(fixture, "on_error")


def _send_whole_stream(fixture: SubscriberFixture, signal: str) -> None:
    stream = fixture.join()
    fixture.feed(stream, fixture.short_of_the_end(3))
    stream.end(signal)
    fixture.environment.rest()


@SUBSCRIBER.check("2.13")
def refuses_a_missing_subscription(fixture: SubscriberFixture) -> None:
    """Calls ``on_subscribe(None)``; it raises ``TypeError``.

    Raise ``TypeError`` in ``on_subscribe`` when the subscription is None.
    """
    subscriber = fixture.subscriber()
    if not hasattr(subscriber, "on_subscribe"):
        raise NotClaimed("the subject leaves on_subscribe to another object")
    _expect_type_error(fixture, "on_subscribe", subscriber)


@SUBSCRIBER.check("2.13")
def refuses_a_missing_element(fixture: SubscriberFixture) -> None:
    """Calls ``on_next(None)``; it raises ``TypeError``.

    Raise ``TypeError`` in ``on_next`` when the element is None, before it goes anywhere else.
    """
    stream = fixture.join()
    fixture.pull(stream, 1)
    fixture.await_demand(stream)
    _expect_type_error(fixture, "on_next", stream.subscriber)


@SUBSCRIBER.check("2.13")
def refuses_a_missing_error(fixture: SubscriberFixture) -> None:
    """Calls ``on_error(None)``; it raises ``TypeError``.

    Raise ``TypeError`` in ``on_error`` when the error is None, before it goes anywhere else.
    """
    _expect_type_error(fixture, "on_error", fixture.join().subscriber)


def _expect_type_error(fixture: SubscriberFixture, signal: str, subscriber: Any) -> None:
    fixture.timeline.note(f"{signal}(None)")
    try:
        getattr(subscriber, signal)(None)
    except TypeError:
        return
    except Exception as error:
        if fixture.environment.is_own(error):
            raise
        fixture.fail(f"{signal}(None) raised {shorten(error)} instead of TypeError")
    fixture.fail(f"{signal}(None) raised no TypeError")


# Several threads: rules 2.7 and 2.11.


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
