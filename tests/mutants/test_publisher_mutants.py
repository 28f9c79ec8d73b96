"""A publisher that never sends gets nothing for it: no check passes for want of elements."""

from __future__ import annotations

from penstock.tck.report import Status
from penstock.tck.verify import verify_publisher
from tests.mutants.publishers import factory_of
from tests.mutants.publishers_demand import NeverSends

NEED_NO_ELEMENT = {
    "raises_type_error_for_no_subscriber",
    "returns_normally_whatever_the_subscriber_raises",
}
"""Checks that are about something else than a stream that flows."""


def test_a_publisher_that_never_sends_fails_every_check_that_needs_an_element() -> None:
    report = verify_publisher(factory_of(NeverSends))
    passed = {each.check for each in report.outcomes if each.status is Status.VERIFIED}
    assert passed == NEED_NO_ELEMENT
