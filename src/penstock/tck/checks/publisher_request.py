"""Checks for publishers: how request takes its argument, and that it returns, soon and normally."""

from __future__ import annotations

from penstock.api import UNBOUNDED
from penstock.demand.timeline import shorten
from penstock.tck.bench import PublisherBench
from penstock.tck.checks.publisher_suite import PUBLISHER
from penstock.tck.probe import Probe, Provoked

__all__: list[str] = []


@PUBLISHER.check("3.4")
def request_returns_quickly(bench: PublisherBench) -> None:
    """Requests 3 elements one by one; at least one request neither waits nor computes for long.

    Hand slow work to another thread or task, and do not wait for it.
    """
    elements = bench.at_most(3, 1)
    probe = bench.stream(elements)
    stopwatch = bench.stopwatch()
    for _ in range(elements):
        with stopwatch.lap():
            probe.request(1)
        bench.expect(probe, probe.requested)
    stopwatch.require_quick("request(1)")


@PUBLISHER.check("3.9")
def answers_an_illegal_request_by_an_error(bench: PublisherBench) -> None:
    """Requests 0, -1 and -2**63 elements, each of a stream of its own; on_error(ValueError) comes.

    Check the argument first. Signal on_error with a ValueError, whatever demand there is.
    """
    for n in (0, -1, -(2**63)):
        probe = bench.stream(bench.at_most(3, 2))
        bench.take(probe, 1)
        probe.request(n)
        _expect_error_for(bench, probe, n, ValueError)


@PUBLISHER.check("3.9")
def answers_an_illegal_first_request_by_an_error(bench: PublisherBench) -> None:
    """Requests 0 elements before all else; on_error(ValueError) comes.

    Check the argument first, also before the stream has begun to flow.
    """
    elements = bench.at_most(3, 1)
    bench.take(bench.stream(elements), 1)
    probe = bench.stream(elements)
    probe.request(0)
    _expect_error_for(bench, probe, 0, ValueError)


@PUBLISHER.check("3.9")
def answers_an_illegal_request_while_it_sends(bench: PublisherBench) -> None:
    """Requests -1 elements in on_next, with demand left; on_error(ValueError) comes.

    Check the argument in every call, also in one that comes from within on_next.
    """

    def ask_for_less(probe: Probe) -> None:
        if len(probe.elements) == 1:
            probe.request(-1)

    probe = bench.stream(bench.at_most(10, 3), on_element=ask_for_less)
    probe.request(2)
    bench.expect(probe, 1)
    _expect_error_for(bench, probe, -1, ValueError)


@PUBLISHER.check("3.9", needs="explains_illegal_requests")
def names_the_rule_of_an_illegal_request(bench: PublisherBench) -> None:
    """Requests 0 elements; the text of the error names rule 3.9.

    Say in the text of the error that rule 3.9 asks for a number above zero.
    """
    probe = bench.stream(bench.at_most(3, 1))
    probe.request(0)
    error = bench.expect_error(probe, "3.9")
    bench.require("3.9" in str(error), f"{shorten(error)} does not name rule 3.9")


@PUBLISHER.check("3.9", needs="strict_types")
def answers_a_request_of_another_type_by_an_error(bench: PublisherBench) -> None:
    """Requests True, 1.0, "1" and None, each of a stream of its own; on_error(TypeError) comes.

    Look at the type of the argument before you compare it. A bool is an int, but no number here.
    """
    for n in (True, 1.0, "1", None):
        probe = bench.stream(bench.at_most(3, 2), blame={"1.1": "3.9", "3.16": "3.9"})
        bench.take(probe, 1)
        probe.request(n)
        _expect_error_for(bench, probe, n, TypeError)


@PUBLISHER.check("3.16")
def request_returns_normally(bench: PublisherBench) -> None:
    """Requests more than there is, too little, and again when all is over; nothing is raised.

    Signal on_error instead of raising, and do nothing when the stream is over.
    """
    for n in (0, -1):
        probe = bench.stream(bench.at_most(3, 1))
        bench.take(probe, 1)
        for each in (n, n, 1):
            probe.request(each)
            bench.arena.settle()
    probe = bench.stream(bench.at_most(2))
    for n in (UNBOUNDED - 1, 2, 1) if bench.claims.completes else (1, 2):
        probe.request(n)
        bench.arena.settle()


@PUBLISHER.check("3.16")
def request_returns_normally_when_on_next_raises(bench: PublisherBench) -> None:
    """Raises in on_next; nothing of it reaches the caller of request.

    Catch what the subscriber raises, and report it where somebody will see it.
    """
    bench.arena.forgive(Provoked)
    probe = bench.stream(bench.at_most(3, 1), raises_in="on_next")
    probe.request(2)
    bench.expect(probe, 1)
    bench.arena.settle()


@PUBLISHER.check("3.16", needs="failed")
def request_returns_normally_when_the_source_fails(bench: PublisherBench) -> None:
    """Requests all of a stream that fails; nothing is raised.

    Hand what the source raises to on_error, and to nobody else.
    """
    probe = bench.join(bench.failed_publisher())
    probe.request(UNBOUNDED)
    bench.expect_error(probe, "1.4")
    probe.request(1)
    bench.arena.settle()


def _expect_error_for(
    bench: PublisherBench, probe: Probe, n: object, kind: type[Exception]
) -> None:
    if not bench.arena.reaches(lambda: probe.ended):
        bench.fail(f"request({n!r}) was not answered by on_error")
    error = probe.error
    bench.require(
        isinstance(error, kind),
        f"request({n!r}) was answered by {shorten(error)} instead of a {kind.__name__}"
        if error is not None
        else f"request({n!r}) was answered by on_complete",
    )
