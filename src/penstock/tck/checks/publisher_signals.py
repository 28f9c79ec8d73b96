"""Checks for publishers: one signal at a time, and subscribers that raise in one."""

from __future__ import annotations

import threading

from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.probe import Place, Probe, Provoked, elements_before
from penstock.tck.publisher_fixture import MANY, PublisherFixture

__all__: list[str] = []


class Interrupt(BaseException):
    """Stands for KeyboardInterrupt, which would end the kit itself."""


@PUBLISHER.check("1.3", explored=True)
def sends_one_signal_at_a_time(fixture: PublisherFixture) -> None:
    """Requests in on_subscribe, in on_next and from two threads, and lingers; no signal overlaps.

    Send all signals of a stream from one place, such as a loop that only one thread is in. Wait
    with the first element until on_subscribe is back.
    """
    elements = fixture.at_most(4, 1)
    probe = fixture.stream(elements, request=1, each=1, cancel_at=elements, lingers=True)
    fixture.environment.together(lambda: probe.request(1), lambda: probe.request(1))
    fixture.expect(probe, elements)
    fixture.environment.settle()


@PUBLISHER.check("1.3", needs="completes", explored=True)
def completes_in_turn(fixture: PublisherFixture) -> None:
    """Requests one more element in the last on_next, and lingers; on_complete does not overlap.

    A terminal signal waits its turn, too: send it from the place that sends the elements.
    """
    elements = fixture.at_most(2, 1)
    probe = fixture.stream(elements, request=1, each=1, lingers=True)
    fixture.expect(probe, elements)
    fixture.expect_completion(probe, "1.5")
    fixture.environment.settle()


@PUBLISHER.check("1.3", explored=True)
def signals_an_illegal_request_in_turn(fixture: PublisherFixture) -> None:
    """Requests -1 from another thread during on_next; on_error does not overlap with it.

    Leave a note in request, and signal on_error from the place that sends the elements.
    """
    _ask_for_less_elsewhere(fixture, "on_next")


@PUBLISHER.check("1.3", explored=True)
def signals_an_illegal_first_request_in_turn(fixture: PublisherFixture) -> None:
    """Requests -1 from another thread during on_subscribe; on_error does not overlap with it.

    Wait with all other signals until on_subscribe is back, also with on_error.
    """
    _ask_for_less_elsewhere(fixture, "on_subscribe")


def _ask_for_less_elsewhere(fixture: PublisherFixture, place: Place) -> None:
    def ask_for_less(probe: Probe) -> None:
        fixture.environment.aside(lambda: probe.request(-1))

    publisher = fixture.publisher(fixture.at_most(3, 2))
    probe = fixture.calling(publisher, place, ask_for_less, lingers=True)
    fixture.expect_error(probe, "3.9")
    fixture.environment.settle()


@PUBLISHER.check("1.3", needs="concurrent_requests", explored=True)
def sends_one_signal_at_a_time_to_two_threads(fixture: PublisherFixture) -> None:
    """Requests from two threads at once and in each on_next; no signal overlaps.

    Send all signals of a stream from one place, such as a loop that only one thread is in.
    """
    elements = fixture.at_most(3, 2)
    probe = fixture.stream(elements, each=1, cancel_at=elements, lingers=True, overlaps=True)
    fixture.environment.together(lambda: probe.request(1), lambda: probe.request(1))
    fixture.expect(probe, elements)
    fixture.environment.settle()


@PUBLISHER.check("1.3", needs="repeatable", explored=True)
def keeps_the_order(fixture: PublisherFixture) -> None:
    """Requests while elements may be on their way; they come in the order of the source.

    Take an element from the source in the place that sends it, so that none can overtake another.
    """
    elements = fixture.at_most(3, 2)
    expected = fixture.stream(elements)
    fixture.take(expected, elements)
    probe = fixture.stream(elements, request=1)
    for _ in range(elements - 1):
        probe.request(1)
    fixture.expect(probe, elements)
    fixture.expect_same(probe, expected)


@PUBLISHER.check("2.12")
def calls_on_subscribe_once(fixture: PublisherFixture) -> None:
    """Takes a stream from its first element to its end; on_subscribe comes once.

    Call on_subscribe in subscribe, or in a task that it starts, and nowhere else.
    """
    elements = fixture.at_most(3, 1)
    probe = fixture.stream(elements)
    fixture.take(probe, 1)
    fixture.take(probe, elements - 1)
    probe.request(1)
    fixture.environment.settle()
    if not probe.ended:
        probe.cancel()
        fixture.environment.settle()


@PUBLISHER.check("2.13")
def sends_no_none(fixture: PublisherFixture) -> None:
    """Takes a stream to its end; no signal carries None.

    None is not an element: fail the stream with a TypeError when the source has one.
    """
    elements = fixture.at_most(10, 1)
    probe = fixture.stream(elements)
    fixture.take(probe, elements)
    fixture.environment.settle()


@PUBLISHER.check("2.13")
def lets_go_when_on_subscribe_raises(fixture: PublisherFixture) -> None:
    """Raises in on_subscribe, with a request before or after that; no signal comes any more.

    Catch what on_subscribe raises, and treat the subscription as cancelled. Do not signal on_error.
    """
    _see_an_element(fixture)
    fixture.environment.forgive(Provoked)
    for early in (0, 2):
        before: list[int] = []  # 3.10: signals may come from within a request in on_subscribe
        probe = fixture.stream(
            fixture.at_most(3, 1),
            request=early,
            on_start=lambda probe, before=before: before.append(probe.signals),
            raises_in="on_subscribe",
        )
        fixture.environment.settle()
        probe.request(2)
        fixture.environment.settle()
        more = probe.signals - before[0]
        fixture.require(not more, f"on_subscribe raised, and yet {more} more signals came")


@PUBLISHER.check("2.13", within_signals=True)
def lets_go_when_on_next_raises(fixture: PublisherFixture, place: Place) -> None:
    """Raises in on_next with demand left; the stream stops without a terminal signal.

    Catch what on_next raises, and treat the subscription as cancelled. It is no failure of the
    source, so do not signal on_error.
    """
    elements = fixture.at_most(MANY, 1)
    fixture.environment.forgive(Provoked)
    probe = fixture.calling(
        fixture.publisher(elements),
        place,
        lambda probe: probe.request(elements),
        raises_in="on_next",
    )
    fixture.expect(probe, 1)
    fixture.expect_stop(probe, elements)
    fixture.require(probe.error is None, "on_next raised, and on_error came")
    with fixture.silence(probe, "on_next raised"):
        probe.request(1)


@PUBLISHER.check("2.13", needs="completes", within_signals=True)
def lets_go_when_on_complete_raises(fixture: PublisherFixture, place: Place) -> None:
    """Raises in on_complete; no signal follows.

    Catch what on_complete raises, and do not signal on_error: the stream is over.
    """
    fixture.environment.forgive(Provoked)
    elements = fixture.at_most(2, elements_before(place))
    probe = fixture.calling(
        fixture.publisher(elements),
        place,
        lambda probe: probe.request(elements + 1),
        raises_in="on_complete",
        blame={"1.7": "2.13"},
    )
    fixture.expect(probe, elements)
    fixture.expect_completion(probe, "1.5")
    with fixture.silence(probe, "on_complete raised"):
        probe.request(1)


@PUBLISHER.check("2.13", within_signals=True)
def lets_go_when_on_error_raises(fixture: PublisherFixture, place: Place) -> None:
    """Provokes on_error by request(0), and raises in it; no signal follows.

    Catch what on_error raises, and do not try again: the stream is over.
    """
    fixture.environment.forgive(Provoked)
    probe = fixture.calling(
        fixture.publisher(fixture.at_most(3, 2)),
        place,
        lambda probe: probe.request(0),
        first=1,
        raises_in="on_error",
        blame={"1.7": "2.13"},
    )
    fixture.expect_error(probe, "3.9")
    with fixture.silence(probe, "on_error raised"):
        probe.request(1)


@PUBLISHER.check("2.13", needs="passes_interrupts")
def lets_an_interrupt_through(fixture: PublisherFixture) -> None:
    """Raises something like KeyboardInterrupt in on_next; if it is within request, that raises it.

    Catch Exception, never BaseException, around the signals.
    """
    fixture.environment.forgive(Interrupt)
    senders: list[int] = []
    probe = fixture.stream(
        fixture.at_most(3, 2),
        on_element=lambda _: senders.append(threading.get_ident()),
        raises_in="on_next",
        raises=Interrupt,
    )
    try:
        probe.request(1)
    except Interrupt:
        return
    fixture.expect(probe, 1)
    fixture.require(
        threading.get_ident() not in senders,
        "on_next raised something like KeyboardInterrupt, and request swallowed it",
    )


def _see_an_element(fixture: PublisherFixture) -> None:
    """A publisher that never sends is silent for another reason."""
    fixture.take(fixture.stream(fixture.at_most(1, 1)), 1)
