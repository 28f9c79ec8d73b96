"""Checks for publishers: how request takes its argument, and that it returns, soon and normally."""

from __future__ import annotations

from penstock.api import UNBOUNDED
from penstock.runtime import shorten
from penstock.tck.checks.suites import PUBLISHER
from penstock.tck.probe import Probe, Provoked
from penstock.tck.publisher_fixture import PublisherFixture

__all__: list[str] = []


@PUBLISHER.check("3.4")
def request_returns_quickly(fixture: PublisherFixture) -> None:
    """Requests 3 elements one by one; at least one request neither waits nor computes for long.

    Hand slow work to another thread or task, and do not wait for it.
    """
    elements = fixture.at_most(3, 1)
    probe = fixture.stream(elements)
    stopwatch = fixture.stopwatch()
    for _ in range(elements):
        with stopwatch.lap():
            probe.request(1)
        fixture.expect(probe, probe.requested)
    stopwatch.require_quick("request(1)")


@PUBLISHER.check("3.9")
def answers_an_illegal_request_by_an_error(fixture: PublisherFixture) -> None:
    """Requests 0, -1 and -2**63 elements, each of a stream of its own; on_error(ValueError) comes.

    Check the argument first. Signal on_error with a ValueError, whatever demand there is.
    """
    for n in (0, -1, -(2**63)):
        probe = fixture.stream(fixture.at_most(3, 2))
        fixture.take(probe, 1)
        probe.request(n)
        _expect_error_for(fixture, probe, n, ValueError)


@PUBLISHER.check("3.9")
def answers_an_illegal_first_request_by_an_error(fixture: PublisherFixture) -> None:
    """Requests 0 elements before all else; on_error(ValueError) comes.

    Check the argument first, also before the stream has begun to flow.
    """
    elements = fixture.at_most(3, 1)
    fixture.take(fixture.stream(elements), 1)
    probe = fixture.stream(elements)
    probe.request(0)
    _expect_error_for(fixture, probe, 0, ValueError)


@PUBLISHER.check("3.9")
def answers_an_illegal_request_while_it_sends(fixture: PublisherFixture) -> None:
    """Requests -1 elements in on_next, with demand left; on_error(ValueError) comes.

    Check the argument in every call, also in one that comes from within on_next.
    """

    def ask_for_less(probe: Probe) -> None:
        if len(probe.elements) == 1:
            probe.request(-1)

    probe = fixture.stream(fixture.at_most(10, 3), on_element=ask_for_less)
    probe.request(2)
    fixture.expect(probe, 1)
    _expect_error_for(fixture, probe, -1, ValueError)


@PUBLISHER.check("3.9", needs="explains_illegal_requests")
def names_the_rule_of_an_illegal_request(fixture: PublisherFixture) -> None:
    """Requests 0 elements; the text of the error names rule 3.9.

    Say in the text of the error that rule 3.9 asks for a number above zero.
    """
    probe = fixture.stream(fixture.at_most(3, 1))
    probe.request(0)
    error = fixture.expect_error(probe, "3.9")
    fixture.require("3.9" in str(error), f"{shorten(error)} does not name rule 3.9")


@PUBLISHER.check("3.9", needs="strict_types")
def answers_a_request_of_another_type_by_an_error(fixture: PublisherFixture) -> None:
    """Requests True, 1.0, "1" and None, each of a stream of its own; on_error(TypeError) comes.

    Check the type of the argument before you compare it. A bool is an int, but no number here.
    """
    for n in (True, 1.0, "1", None):
        probe = fixture.stream(fixture.at_most(3, 2), blame={"1.1": "3.9", "3.16": "3.9"})
        fixture.take(probe, 1)
        probe.request(n)
        _expect_error_for(fixture, probe, n, TypeError)


@PUBLISHER.check("3.16")
def request_returns_normally(fixture: PublisherFixture) -> None:
    """Requests more than there is, too little, and again when all is over; nothing is raised.

    Signal on_error instead of raising, and do nothing when the stream is over.
    """
    for n in (0, -1):
        probe = fixture.stream(fixture.at_most(3, 1))
        fixture.take(probe, 1)
        for each in (n, n, 1):
            probe.request(each)
            fixture.environment.settle()
    probe = fixture.stream(fixture.at_most(2))
    for n in (UNBOUNDED - 1, 2, 1) if fixture.claims.completes else (1, 2):
        probe.request(n)
        fixture.environment.settle()


@PUBLISHER.check("3.16")
def request_returns_normally_when_on_next_raises(fixture: PublisherFixture) -> None:
    """Raises in on_next; nothing of it reaches the caller of request.

    Catch what the subscriber raises, and report it where somebody will see it.
    """
    fixture.environment.forgive(Provoked)
    probe = fixture.stream(fixture.at_most(3, 1), raises_in="on_next")
    probe.request(2)
    fixture.expect(probe, 1)
    fixture.environment.settle()


@PUBLISHER.check("3.16", needs="failed")
def request_returns_normally_when_the_source_fails(fixture: PublisherFixture) -> None:
    """Requests all of a stream that fails; nothing is raised.

    Hand what the source raises to on_error, and to nobody else.
    """
    probe = fixture.join(fixture.failed_publisher())
    probe.request(UNBOUNDED)
    fixture.expect_error(probe, "1.4")
    probe.request(1)
    fixture.environment.settle()


def _expect_error_for(
    fixture: PublisherFixture, probe: Probe, n: object, kind: type[Exception]
) -> None:
    if not fixture.environment.reaches(lambda: probe.ended):
        fixture.fail(f"request({n!r}) was not answered by on_error")
    error = probe.error
    fixture.require(
        isinstance(error, kind),
        f"request({n!r}) was answered by {shorten(error)} instead of a {kind.__name__}"
        if error is not None
        else f"request({n!r}) was answered by on_complete",
    )
