"""Checks for publishers: subscribe, once, twice, and with subscribers of all kinds."""

from __future__ import annotations

from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.demand.timeline import shorten
from penstock.tck.bench import PublisherBench, are_equal
from penstock.tck.checks.publisher_suite import PUBLISHER
from penstock.tck.probe import Probe, Provoked

__all__: list[str] = []


@PUBLISHER.check("1.9")
def raises_type_error_for_no_subscriber(bench: PublisherBench) -> None:
    """Calls subscribe(None); it raises TypeError, at once.

    Look at the argument in subscribe itself, before anything is handed to another thread.
    """
    publisher = bench.publisher(bench.at_most(1))
    nobody: Any = None
    try:
        publisher.subscribe(nobody)
    except TypeError:
        return
    except Exception as error:
        bench.fail(f"subscribe(None) raised {shorten(error)} instead of a TypeError")
    bench.fail("subscribe(None) returned normally")


@PUBLISHER.check("1.9")
def calls_on_subscribe_first(bench: PublisherBench) -> None:
    """Subscribes to streams of 0, 1 and 3 elements; on_subscribe comes, before all else.

    Call on_subscribe before you look at the source, and send nothing until it is back.
    """
    for elements in {bench.at_most(n) for n in (0, 1, 3)}:
        probe = bench.stream(elements, request=elements + 1)
        bench.expect(probe, elements)
        bench.arena.settle()


@PUBLISHER.check("1.9", needs="failed")
def calls_on_subscribe_before_it_fails(bench: PublisherBench) -> None:
    """Subscribes to a publisher that fails; subscribe returns, and on_subscribe comes first.

    Do not let an error of the source leave subscribe: call on_subscribe, then on_error.
    """
    probe = bench.join(bench.failed_publisher(), request=UNBOUNDED)
    bench.expect_error(probe, "1.4")
    bench.arena.settle()


@PUBLISHER.check("1.9")
def returns_normally_whatever_the_subscriber_raises(bench: PublisherBench) -> None:
    """Subscribes subscribers that raise, one in each signal; subscribe returns normally.

    Catch what a subscriber raises, also in the signals that subscribe itself sends.
    """
    bench.arena.forgive(Provoked)
    elements = bench.at_most(2)
    for signal in ("on_subscribe", "on_next", "on_complete"):
        probe = bench.stream(elements, request=elements + 1, raises_in=signal)
        bench.arena.settle()
    probe = bench.stream(bench.at_most(2), raises_in="on_error")
    probe.request(0)
    bench.arena.settle()


@PUBLISHER.check("1.10")
def does_not_mix_the_streams_of_one_subscriber(bench: PublisherBench) -> None:
    """Subscribes the same subscriber twice; it is refused, or gets one stream as it was requested.

    Give each call of subscribe a subscription of its own, with its own demand; do not look up by
    subscriber. Or refuse the second call: on_error with a RuntimeError.
    """
    publisher = bench.publisher(bench.at_most(6, 3))
    probe = bench.join(publisher, takes_two=True)
    bench.take(probe, 1)
    probe.blame = {"1.1": "1.10", "1.7": "1.10"}
    _subscribe_again(bench, publisher, probe)
    if not probe.ended:
        probe.request(1)
        bench.arena.settle()


@PUBLISHER.check("1.10", needs="refuses_same_subscriber")
def refuses_a_subscriber_that_is_subscribed(bench: PublisherBench) -> None:
    """Subscribes the same subscriber twice; it gets on_error with a RuntimeError.

    Remember the subscribers by identity, as long as they are subscribed.
    """
    publisher = bench.publisher(bench.at_most(6, 3))
    probe = bench.join(publisher, takes_two=True)
    bench.take(probe, 1)
    _subscribe_again(bench, publisher, probe)
    error = bench.expect_error(probe, "1.10")
    bench.require(isinstance(error, RuntimeError), f"{shorten(error)} is no RuntimeError")
    bench.arena.settle()


@PUBLISHER.check("1.11")
def serves_or_refuses_a_second_subscriber(bench: PublisherBench) -> None:
    """Subscribes two subscribers; each gets what it requested, or a terminal signal.

    Serve the second subscriber like the first, or refuse it: on_subscribe, then on_error.
    """
    publisher = bench.publisher(bench.at_most(10, 2))
    first = bench.join(publisher, name="first")
    second = bench.join(publisher, name="second")
    for probe in (first, second):
        if not probe.ended:
            probe.request(2)
    for probe in (first, second):
        served = bench.comes(probe, 2)
        bench.require(
            served or probe.ended,
            f"one of two subscribers got {len(probe.elements)} elements of 2, and no end",
        )
    bench.require(bool(first.elements or second.elements), "none of two subscribers got an element")


@PUBLISHER.check("1.11", needs="multicast")
def sends_the_same_to_all(bench: PublisherBench) -> None:
    """Takes a stream with two subscribers, one ahead of the other; both get the same sequence.

    Keep an element until the slowest subscriber has it, and do not send it to anybody twice.
    """
    elements = bench.at_most(5, 3)
    publisher = bench.publisher(elements)
    quick = bench.join(publisher, name="quick")
    slow = bench.join(publisher, name="slow")
    quick.request(elements)
    slow.request(1)
    bench.arena.settle()
    slow.request(elements - 1)
    for probe in (quick, slow):
        bench.expect(probe, elements)
    bench.expect_same(quick, slow)


@PUBLISHER.check("1.11", needs="multicast")
def goes_on_when_a_subscriber_leaves(bench: PublisherBench) -> None:
    """Cancels one of two subscribers; the other one gets all elements.

    Let each subscription have its own end. Only who cancelled is to be left out.
    """
    elements = bench.at_most(5, 3)
    publisher = bench.publisher(elements)
    stays = bench.join(publisher, name="stays")
    leaves = bench.join(publisher, cancel_at=1, name="leaves")
    leaves.request(1)
    stays.request(1)
    bench.expect(leaves, 1)
    bench.arena.settle()
    stays.request(elements - 1)
    bench.expect(stays, elements)


@PUBLISHER.check("1.11", needs="multicast", explored=True)
def sends_the_same_to_all_at_once(bench: PublisherBench) -> None:
    """Requests for two subscribers from two threads at once; both get the same sequence.

    Guard what the subscriptions share by a lock, and do not hold it while you signal.
    """
    publisher = bench.publisher(bench.at_most(4, 2))
    one = bench.join(publisher, name="one")
    other = bench.join(publisher, name="other")
    bench.arena.together(lambda: one.request(2), lambda: other.request(2))
    for probe in (one, other):
        bench.expect(probe, 2)
    bench.expect_same(one, other)


@PUBLISHER.check("1.11", needs="keeps_for_newcomers")
def starts_a_newcomer_with_what_is_kept(bench: PublisherBench) -> None:
    """Subscribes while an element is kept for a slow subscriber; the newcomer gets it, too.

    Let a newcomer begin with the oldest element that is kept for somebody.
    """
    elements = bench.at_most(8, 5)
    publisher = bench.publisher(elements)
    slow = bench.join(publisher, name="slow")
    quick = bench.join(publisher, name="quick")
    slow.request(1)
    quick.request(3)
    bench.expect(slow, 1)
    bench.arena.settle()
    newcomer = bench.join(publisher, name="newcomer")
    newcomer.request(1)
    slow.request(1)
    for probe, count in ((newcomer, 1), (slow, 2)):
        bench.expect(probe, count)
    started, kept = newcomer.elements[0], slow.elements[1]
    bench.require(
        any(are_equal(started, element) for element in slow.elements),
        f"the newcomer started with {shorten(started)}, and {shorten(kept)} was still kept",
    )


def _subscribe_again(bench: PublisherBench, publisher: Publisher[object], probe: Probe) -> None:
    bench.timeline.note("subscribe, with the same subscriber")
    bench.arena.call("the second subscribe", "1.9", lambda: publisher.subscribe(probe))
    bench.arena.settle()
