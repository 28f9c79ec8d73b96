"""A publisher that never sends gets nothing for it: no check passes for want of elements."""

from __future__ import annotations

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
