"""Checks of a subscriber that works with several threads: rules 2.7 and 2.11."""

from __future__ import annotations

from penstock.tck.checks.subscriber_suite import check
from penstock.tck.subscriber_bench import SubscriberBench


@check("2.7", explored=True)
def calls_its_subscription_one_call_at_a_time(bench: SubscriberBench) -> None:
    """Sends elements while others are still processed; calls of the subscription never overlap.

    Call the subscription under a lock that no signal waits for, or on one thread only.
    """
    stream = bench.join(lingers=True)
    for _ in range(4):
        if not bench.offer(stream, in_a_burst=True):
            break
    bench.arena.rest()


@check("2.7", explored=True)
def calls_its_subscription_one_call_at_a_time_if_that_sends(bench: SubscriberBench) -> None:
    """Sends elements from within ``request``; no other thread calls before that has returned.

    Make the first call on the thread that makes the others, not in ``on_subscribe``.
    """
    stream = bench.join_eager(limit=bench.at_most(4), lingers=True)
    bench.pull(stream, stream.limit)
    bench.require(
        bench.arena.reaches(lambda: stream.is_exhausted),
        f"only {len(stream.sent)} elements were requested, and cancel was not called",
    )


@check("2.7", needs="puppet_of_many_threads", explored=True)
def calls_its_subscription_one_call_at_a_time_for_all_users(bench: SubscriberBench) -> None:
    """Has the user cancel while another thread requests or sends; calls never overlap.

    Let the calls of users leave a message, and call the subscription where the messages are read.
    """
    stream = bench.join(lingers=True)
    bench.arena.together(
        lambda: bench.steer(stream, "request", 1), lambda: bench.steer(stream, "cancel")
    )
    stream = bench.join(lingers=True)
    bench.pull(stream, 1)
    bench.await_demand(stream)
    bench.arena.together(stream.next, lambda: bench.steer(stream, "cancel"))
    bench.arena.rest()


@check("2.11", needs="received", explored=True)
def processes_what_any_thread_hands_over(bench: SubscriberBench) -> None:
    """Sends each element on a thread of its own, one after the other; none is lost or doubled.

    Hand elements over by a queue, a lock or an executor, not by a field that two threads share.
    """
    _hand_over(bench, in_sequence=False)


@check("2.11", needs="in_sequence", explored=True)
def processes_in_sequence_what_any_thread_hands_over(bench: SubscriberBench) -> None:
    """Sends each element on a thread of its own, one after the other; the sequence is kept.

    Process all elements of a stream on one thread, or one after the other.
    """
    _hand_over(bench, in_sequence=True)


def _hand_over(bench: SubscriberBench, *, in_sequence: bool) -> None:
    stream = bench.join(lingers=True)
    for _ in range(2):
        if not bench.offer(stream, in_a_burst=True, on_new_thread=True):
            break
    bench.expect_received(stream, in_sequence=in_sequence)
