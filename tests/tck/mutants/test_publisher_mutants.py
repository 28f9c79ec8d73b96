"""A publisher that never sends gets nothing for it: no check passes for want of elements."""

from __future__ import annotations

from penstock.tck.checks.all_checks import PUBLISHER
from penstock.tck.claims import PublisherClaims
from penstock.tck.judge import CheckRun
from penstock.tck.publisher_fixture import PublisherFixture
from penstock.tck.report import RuleStatus
from penstock.tck.verifying import verify_publisher
from tests.tck.mutants.publishers import factory_of
from tests.tck.mutants.publishers_demand import NeverSends

NEED_NO_ELEMENT = {
    "raises_type_error_for_no_subscriber",
    "returns_normally_whatever_the_subscriber_raises",
}
"""Checks that are about something else than a stream that flows."""


def test_a_publisher_that_never_sends_fails_every_check_that_needs_an_element() -> None:
    report = verify_publisher(factory_of(NeverSends))
    passed = {each.check for each in report.outcomes if each.status is RuleStatus.VERIFIED}
    assert passed == NEED_NO_ELEMENT


def test_one_that_never_sends_is_not_taken_for_a_slow_one_when_there_is_no_time_left() -> None:
    (check,) = (
        each for each in PUBLISHER if each.name == "does_not_recurse_from_element_to_element"
    )
    make, claims = factory_of(NeverSends), PublisherClaims()
    run = CheckRun(check, lambda env, rule: PublisherFixture(env, make, claims, rule))
    assert run.in_real_time(0.0).fault == (
        "3.3",
        "1 elements were requested, only 0 came",
    )
