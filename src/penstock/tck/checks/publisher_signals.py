"""Checks for publishers: one signal at a time, and subscribers that raise in one."""

from __future__ import annotations

import threading

from penstock.tck.bench import MANY, PublisherBench
from penstock.tck.checks.publisher_suite import PUBLISHER
from penstock.tck.probe import Probe, Provoked

__all__: list[str] = []


class Interrupt(BaseException):
    """Stands for KeyboardInterrupt, which would end the kit itself."""


@PUBLISHER.check("1.3", explored=True)
def sends_one_signal_at_a_time(bench: PublisherBench) -> None:
    """Requests in on_subscribe, in on_next and from two threads, and lingers; no signal overlaps.

    Send all signals of a stream from one place, such as a loop that only one thread is in. Wait
    with the first element until on_subscribe is back.
    """
    elements = bench.at_most(4, 1)
    probe = bench.stream(elements, request=1, each=1, cancel_at=elements, lingers=True)
    bench.arena.together(lambda: probe.request(1), lambda: probe.request(1))
    bench.expect(probe, elements)
    bench.arena.settle()


@PUBLISHER.check("1.3", needs="completes", explored=True)
def completes_in_turn(bench: PublisherBench) -> None:
    """Requests one more element in the last on_next, and lingers; on_complete does not overlap.

    A terminal signal waits its turn, too: send it from the place that sends the elements.
    """
    elements = bench.at_most(2, 1)
    probe = bench.stream(elements, request=1, each=1, lingers=True)
    bench.expect(probe, elements)
    bench.expect_completion(probe, "1.5")
    bench.arena.settle()


@PUBLISHER.check("1.3", explored=True)
def signals_an_illegal_request_in_turn(bench: PublisherBench) -> None:
    """Requests -1 from another thread during on_next; on_error does not overlap with it.

    Leave a note in request, and signal on_error from the place that sends the elements.
    """

    def ask_for_less(probe: Probe) -> None:
        bench.arena.aside(lambda: probe.request(-1))

    probe = bench.stream(bench.at_most(3, 2), on_element=ask_for_less, lingers=True)
    probe.request(1)
    bench.expect(probe, 1)
    bench.expect_error(probe, "3.9")
    bench.arena.settle()


@PUBLISHER.check("1.3", needs="concurrent_requests", explored=True)
def sends_one_signal_at_a_time_to_two_threads(bench: PublisherBench) -> None:
    """Requests from two threads at once and in each on_next; no signal overlaps.

    Send all signals of a stream from one place, such as a loop that only one thread is in.
    """
    elements = bench.at_most(3, 2)
    probe = bench.stream(elements, each=1, cancel_at=elements, lingers=True, overlaps=True)
    bench.arena.together(lambda: probe.request(1), lambda: probe.request(1))
    bench.expect(probe, elements)
    bench.arena.settle()


@PUBLISHER.check("1.3", needs="repeatable", explored=True)
def keeps_the_sequence(bench: PublisherBench) -> None:
    """Requests while elements may be on their way; they come in the sequence of the source.

    Take an element from the source in the place that sends it, so that none can overtake another.
    """
    elements = bench.at_most(3, 2)
    expected = bench.stream(elements)
    bench.take(expected, elements)
    probe = bench.stream(elements, request=1)
    for _ in range(elements - 1):
        probe.request(1)
    bench.expect(probe, elements)
    bench.expect_same(probe, expected)


@PUBLISHER.check("2.12")
def calls_on_subscribe_once(bench: PublisherBench) -> None:
    """Takes a stream from its first element to its end; on_subscribe comes once.

    Call on_subscribe in subscribe, or in a task that it starts, and nowhere else.
    """
    elements = bench.at_most(3, 1)
    probe = bench.stream(elements)
    bench.take(probe, 1)
    bench.take(probe, elements - 1)
    probe.request(1)
    bench.arena.settle()
    if not probe.ended:
        probe.cancel()
        bench.arena.settle()


@PUBLISHER.check("2.13")
def sends_no_none(bench: PublisherBench) -> None:
    """Takes a stream to its end; no signal carries None.

    None is not an element: fail the stream with a TypeError when the source has one.
    """
    elements = bench.at_most(10, 1)
    probe = bench.stream(elements)
    bench.take(probe, elements)
    bench.arena.settle()


@PUBLISHER.check("2.13")
def lets_go_when_on_subscribe_raises(bench: PublisherBench) -> None:
    """Raises in on_subscribe, then requests; no signal comes any more.

    Catch what on_subscribe raises, and treat the subscription as cancelled. Do not signal on_error.
    """
    _see_an_element(bench)
    bench.arena.forgive(Provoked)
    probe = bench.stream(bench.at_most(3, 1), raises_in="on_subscribe")
    bench.arena.settle()
    probe.request(2)
    bench.arena.settle()
    more = probe.signals - 1
    bench.require(not more, f"on_subscribe raised, and yet {more} more signals came")


@PUBLISHER.check("2.13")
def lets_go_when_on_next_raises(bench: PublisherBench) -> None:
    """Raises in on_next with demand left; the stream stops without a terminal signal.

    Catch what on_next raises, and treat the subscription as cancelled. It is no failure of the
    source, so do not signal on_error.
    """
    elements = bench.at_most(MANY, 1)
    bench.arena.forgive(Provoked)
    probe = bench.stream(elements, raises_in="on_next")
    probe.request(elements)
    bench.expect(probe, 1)
    bench.expect_stop(probe, elements)
    bench.require(probe.error is None, "on_next raised, and on_error came")
    with bench.silence(probe, "on_next raised"):
        probe.request(1)


@PUBLISHER.check("2.13", needs="completes")
def lets_go_when_on_complete_raises(bench: PublisherBench) -> None:
    """Raises in on_complete; no signal follows.

    Catch what on_complete raises, and do not signal on_error: the stream is over.
    """
    bench.arena.forgive(Provoked)
    elements = bench.at_most(2)
    probe = bench.stream(elements, raises_in="on_complete", blame={"1.7": "2.13"})
    probe.request(elements + 1)
    bench.expect(probe, elements)
    bench.expect_completion(probe, "1.5")
    with bench.silence(probe, "on_complete raised"):
        probe.request(1)


@PUBLISHER.check("2.13")
def lets_go_when_on_error_raises(bench: PublisherBench) -> None:
    """Provokes on_error by request(0), and raises in it; no signal follows.

    Catch what on_error raises, and do not try again: the stream is over.
    """
    bench.arena.forgive(Provoked)
    probe = bench.stream(bench.at_most(3, 2), raises_in="on_error", blame={"1.7": "2.13"})
    bench.take(probe, 1)
    probe.request(0)
    bench.expect_error(probe, "3.9")
    with bench.silence(probe, "on_error raised"):
        probe.request(1)


@PUBLISHER.check("2.13", needs="passes_interrupts")
def lets_an_interrupt_through(bench: PublisherBench) -> None:
    """Raises something like KeyboardInterrupt in on_next; if it is within request, that raises it.

    Catch Exception, never BaseException, around the signals.
    """
    bench.arena.forgive(Interrupt)
    senders: list[int] = []
    probe = bench.stream(
        bench.at_most(3, 2),
        on_element=lambda _: senders.append(threading.get_ident()),
        raises_in="on_next",
        raises=Interrupt,
    )
    try:
        probe.request(1)
    except Interrupt:
        return
    bench.expect(probe, 1)
    bench.require(
        threading.get_ident() not in senders,
        "on_next raised something like KeyboardInterrupt, and request swallowed it",
    )


def _see_an_element(bench: PublisherBench) -> None:
    """A publisher that never sends is silent for another reason."""
    bench.take(bench.stream(bench.at_most(1, 1)), 1)
