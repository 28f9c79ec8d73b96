"""Checks of what a subscriber asks for, and of whom: rules 1.10, 2.1, 3.1, 3.8 and 3.9."""

from __future__ import annotations

from penstock.tck.checks.subscriber_suite import check
from penstock.tck.stream import Stream
from penstock.tck.subscriber_bench import SubscriberBench

PLENTY = 300
"""Demand that no check sets out to use up."""


@check("1.10")
def is_made_anew_for_each_stream(bench: SubscriberBench) -> None:
    """Asks the factory for two subscribers; they are two objects.

    Make a new subscriber for each stream: it is good for one only.
    """
    bench.require(
        bench.subscriber() is not bench.subscriber(), "the factory returned the same object twice"
    )


@check("1.10", needs="joins")
def does_not_join_a_second_time(bench: SubscriberBench) -> None:
    """Lets one stream fail and one complete; the subscriber does not subscribe itself again.

    To start again, pass a new subscriber to ``subscribe``.
    """
    for signal in ("on_error", "on_complete"):
        stream = bench.join()
        bench.feed(stream, bench.short_of_the_end(1))
        bench.arena.rest()
        stream.end(signal, at_rest=True)
        bench.arena.settle()


@check("2.1")
def asks_for_elements(bench: SubscriberBench) -> None:
    """Opens a stream; the subscriber calls ``request``, and processes the element that it gets.

    Call ``subscription.request`` in ``on_subscribe``, or as soon as you can take an element. A
    subscriber that waits for its user has to claim ``puppet``.
    """
    stream = bench.join()
    bench.feed(stream, 1)
    bench.expect_received(stream)


@check("2.1")
def asks_again_when_its_demand_is_used_up(bench: SubscriberBench) -> None:
    """Sends all that was requested, three times over; the subscriber asks again, or it cancels.

    Call ``request`` again once elements are processed. A subscriber that waits for its user has to
    claim ``puppet``.
    """
    stream = bench.join()
    for _ in range(3):
        bench.offer(stream)
        _use_up_demand(stream)
    bench.pull(stream, 1)
    bench.has_demand(stream)


def _use_up_demand(stream: Stream) -> None:
    for _ in range(PLENTY):
        if stream.demand < 1 or stream.spy.cancelled:
            return
        stream.next()


@check("3.1")
def calls_no_subscription_but_its_own(bench: SubscriberBench) -> None:
    """Sends elements to two subscribers in turn; none calls the subscription of the other.

    Keep the subscription in the subscriber that got it, not in a class or a module.
    """
    streams = bench.join(name="first"), bench.join(name="second")
    bench.arena.rest()
    for _ in range(bench.short_of_the_end(2)):
        for stream in streams:
            bench.feed(stream, 1)
            bench.arena.rest()
    for stream in streams:
        stream.complete()


@check("3.8", needs="puppet")
def adds_up_what_its_user_asks_for(bench: SubscriberBench) -> None:
    """Asks the puppet for 3 elements and then for 4; in the end 7 are requested and processed.

    Add each request to those before, and lose none.
    """
    stream = bench.join()
    bench.steer(stream, "request", 3)
    bench.steer(stream, "request", 4)
    _expect_elements(bench, stream, bench.at_most(7))


@check("3.8", needs="puppet_of_many_threads", explored=True)
def adds_up_what_several_threads_ask_for(bench: SubscriberBench) -> None:
    """Asks the puppet for 1, 1 and 2 elements on three threads at once; in the end 4 are requested.

    Change the demand under a lock, or leave each request to one thread.
    """
    stream = bench.join()
    bench.puppet(stream)
    bench.arena.together(*[lambda n=n: bench.steer(stream, "request", n) for n in (1, 1, 2)])
    _expect_elements(bench, stream, bench.at_most(4))


def _expect_elements(bench: SubscriberBench, stream: Stream, elements: int) -> None:
    """Send them as they are requested; the puppet is not asked again."""
    while len(stream.sent) < elements:
        bench.require(
            bench.arena.reaches(lambda: stream.demand > 0),
            f"the user asked for {elements} elements, the subscriber for {stream.spy.requested}",
        )
        stream.next()
    bench.expect_received(stream)


@check("3.9")
def asks_for_positive_numbers_only(bench: SubscriberBench) -> None:
    """Sends elements one after the other; each ``request`` is for an ``int`` of at least 1.

    Leave out a request that comes to zero; round sizes and shares to an ``int`` first.
    """
    stream = bench.join()
    for _ in range(10):
        if bench.arena.is_late or not bench.offer(stream):
            break
        bench.arena.rest()
