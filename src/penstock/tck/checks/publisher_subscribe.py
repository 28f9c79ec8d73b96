"""Checks for publishers: subscribe, once, twice, and with subscribers of all kinds."""

from __future__ import annotations

from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.runtime import shorten
from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.probe import LEAVING, Probe, Provoked
from penstock.tck.publisher_fixture import PublisherFixture, are_equal

__all__: list[str] = []


@PUBLISHER.check("1.9")
def raises_type_error_for_no_subscriber(fixture: PublisherFixture) -> None:
    """Calls subscribe(None); it raises TypeError, at once.

    Check the argument in subscribe itself, before anything is handed to another thread.
    """
    publisher = fixture.publisher(fixture.at_most(1))
    nobody: Any = None
    try:
        publisher.subscribe(nobody)
    except TypeError:
        return
    except Exception as error:
        fixture.fail(f"subscribe(None) raised {shorten(error)} instead of a TypeError")
    fixture.fail("subscribe(None) returned normally")


@PUBLISHER.check("1.9")
def calls_on_subscribe_first(fixture: PublisherFixture) -> None:
    """Subscribes to streams of 0, 1 and 3 elements; on_subscribe comes, before all else.

    Call on_subscribe before you touch the source, and send nothing until it is back.
    """
    for elements in {fixture.at_most(n) for n in (0, 1, 3)}:
        probe = fixture.stream(elements, request=elements + 1)
        fixture.expect(probe, elements)
        fixture.environment.settle()


@PUBLISHER.check("1.9", needs="failed")
def calls_on_subscribe_before_it_fails(fixture: PublisherFixture) -> None:
    """Subscribes to a publisher that fails; subscribe returns, and on_subscribe comes first.

    Do not let an error of the source leave subscribe: call on_subscribe, then on_error.
    """
    probe = fixture.join(fixture.failed_publisher(), request=UNBOUNDED)
    fixture.expect_error(probe, "1.4")
    fixture.environment.settle()


@PUBLISHER.check("1.9")
def returns_normally_whatever_the_subscriber_raises(fixture: PublisherFixture) -> None:
    """Subscribes subscribers that raise, one in each signal; subscribe returns normally.

    Catch what a subscriber raises, also in the signals that subscribe itself sends.
    """
    fixture.environment.forgive(Provoked)
    elements = fixture.at_most(2)
    for signal in ("on_subscribe", "on_next", "on_complete"):
        probe = fixture.stream(elements, request=elements + 1, raises_in=signal)
        fixture.environment.settle()
    probe = fixture.stream(fixture.at_most(2), raises_in="on_error")
    probe.request(0)
    fixture.environment.settle()


@PUBLISHER.check("1.10")
def does_not_mix_the_streams_of_one_subscriber(fixture: PublisherFixture) -> None:
    """Subscribes the same subscriber twice; it is refused, or gets one stream as it was requested.

    Give each call of subscribe a subscription of its own, with its own demand; do not look up by
    subscriber. Or refuse the second call: on_error with a RuntimeError.
    """
    publisher = fixture.publisher(fixture.at_most(6, 3))
    probe = fixture.join(publisher, takes_two=True)
    fixture.take(probe, 1)
    probe.blame = {"1.1": "1.10", "1.7": "1.10"}
    _subscribe_again(fixture, publisher, probe)
    if not probe.ended:
        probe.request(1)
        fixture.environment.settle()


@PUBLISHER.check("1.10", needs="refuses_same_subscriber")
def refuses_a_subscriber_that_is_subscribed(fixture: PublisherFixture) -> None:
    """Subscribes the same subscriber twice; it gets on_error with a RuntimeError.

    Remember the subscribers by identity, as long as they are subscribed.
    """
    publisher = fixture.publisher(fixture.at_most(6, 3))
    probe = fixture.join(publisher, takes_two=True)
    fixture.take(probe, 1)
    _subscribe_again(fixture, publisher, probe)
    error = fixture.expect_error(probe, "1.10")
    fixture.require(isinstance(error, RuntimeError), f"{shorten(error)} is no RuntimeError")
    fixture.environment.settle()


@PUBLISHER.check("1.11")
def serves_or_refuses_a_second_subscriber(fixture: PublisherFixture) -> None:
    """Subscribes two subscribers; each gets what it requested, or a terminal signal.

    Serve the second subscriber like the first, or refuse it: on_subscribe, then on_error.
    """
    publisher = fixture.publisher(fixture.at_most(10, 2))
    first = fixture.join(publisher, name="first")
    second = fixture.join(publisher, name="second")
    for probe in (first, second):
        if not probe.ended:
            probe.request(2)
    for probe in (first, second):
        served = fixture.comes(probe, 2)
        fixture.require(
            served or probe.ended,
            f"one of two subscribers got {len(probe.elements)} elements of 2, and no end",
        )
    fixture.require(
        bool(first.elements or second.elements), "none of two subscribers got an element"
    )


@PUBLISHER.check("1.11", needs="multicast")
def sends_the_same_to_all(fixture: PublisherFixture) -> None:
    """Takes a stream with two subscribers, one ahead of the other; both get the same elements.

    Keep an element until the slowest subscriber has it, and do not send it to anybody twice.
    """
    elements = fixture.at_most(5, 3)
    publisher = fixture.publisher(elements)
    quick = fixture.join(publisher, name="quick")
    slow = fixture.join(publisher, name="slow")
    quick.request(elements)
    slow.request(1)
    fixture.environment.settle()
    slow.request(elements - 1)
    for probe in (quick, slow):
        fixture.expect(probe, elements)
    fixture.expect_same(quick, slow)


@PUBLISHER.check("1.11", needs="multicast")
def goes_on_when_a_subscriber_leaves(fixture: PublisherFixture) -> None:
    """Cancels one of two subscribers, in on_subscribe or in on_next; the other gets all elements.

    Let each subscription have its own end. Leave out only the subscriber that cancelled.
    """
    elements = fixture.at_most(5, 3)
    for leaving in LEAVING:
        publisher = fixture.publisher(elements)
        stays = fixture.join(publisher, name="stays")
        leaves = fixture.join(publisher, name="leaves", **leaving)
        if leaves.cancelled_after is None:
            leaves.request(1)
        stays.request(1)
        fixture.expect(leaves, leaves.requested)
        fixture.environment.settle()
        stays.request(elements - 1)
        fixture.expect(stays, elements)


@PUBLISHER.check("1.11", needs="multicast", explored=True)
def sends_the_same_to_all_at_once(fixture: PublisherFixture) -> None:
    """Requests for two subscribers from two threads at once; both get the same elements in order.

    Guard what the subscriptions share by a lock, and do not hold it while you signal.
    """
    publisher = fixture.publisher(fixture.at_most(4, 2))
    one = fixture.join(publisher, name="one")
    other = fixture.join(publisher, name="other")
    fixture.environment.together(lambda: one.request(2), lambda: other.request(2))
    for probe in (one, other):
        fixture.expect(probe, 2)
    fixture.expect_same(one, other)


@PUBLISHER.check("1.11", needs="keeps_for_newcomers")
def starts_a_newcomer_with_what_is_kept(fixture: PublisherFixture) -> None:
    """Subscribes while an element is kept for a slow subscriber; the newcomer gets it, too.

    Let a newcomer begin with the oldest element that is kept for somebody.
    """
    elements = fixture.at_most(8, 5)
    publisher = fixture.publisher(elements)
    slow = fixture.join(publisher, name="slow")
    quick = fixture.join(publisher, name="quick")
    slow.request(1)
    quick.request(3)
    fixture.expect(slow, 1)
    fixture.environment.settle()
    newcomer = fixture.join(publisher, name="newcomer")
    newcomer.request(1)
    slow.request(1)
    for probe, count in ((newcomer, 1), (slow, 2)):
        fixture.expect(probe, count)
    started, kept = newcomer.elements[0], slow.elements[1]
    fixture.require(
        any(are_equal(started, element) for element in slow.elements),
        f"the newcomer started with {shorten(started)}, and {shorten(kept)} was still kept",
    )


def _subscribe_again(fixture: PublisherFixture, publisher: Publisher[object], probe: Probe) -> None:
    fixture.timeline.note("subscribe, with the same subscriber")
    fixture.environment.call("the second subscribe", "1.9", lambda: publisher.subscribe(probe))
    fixture.environment.settle()
