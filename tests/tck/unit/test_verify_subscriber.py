"""What a verification of a subscriber says, beside whether the subject keeps the rules."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from penstock.tck.report import FACTORY, Report, RuleStatus
from penstock.tck.verifying import verify_subscriber
from tests.tck.mutants.sound_subscribers import CollectsAll, Manual, OneByOne, TakesOne, TakesThree


def test_what_cannot_be_seen_from_outside_is_listed_as_not_claimed() -> None:
    report = verify_subscriber(OneByOne, rules=["2.6", "2.8", "2.11", "3.8"])
    assert statuses(report) == {RuleStatus.NOT_CLAIMED}
    assert not report.passed


def test_a_puppet_makes_the_rest_of_the_rules_decidable() -> None:
    inside: dict[str, Any] = {
        "puppet": lambda subscriber: subscriber,
        "received": lambda subscriber: subscriber.elements,
    }
    report = verify_subscriber(Manual, rules=["2.6", "2.8", "2.11", "3.8"], **inside)
    verified = {row.rule for row in report.rows if row.status is RuleStatus.VERIFIED}
    assert verified == {"2.6", "2.8", "2.11", "3.8"}


def test_a_check_that_needs_more_elements_than_the_subject_takes_is_not_claimed() -> None:
    report = verify_subscriber(TakesOne, rules=["2.13"])
    outcomes = {outcome.check: outcome for outcome in report.outcomes}
    outcome = outcomes["returns_normally_until_the_stream_completes"]
    assert outcome.status is RuleStatus.NOT_CLAIMED
    assert outcome.detail == "the subject cancelled on its own, after 1 element"
    assert report.passed


def test_a_subscription_that_outlives_its_run_can_still_be_called_without_an_effect() -> None:
    kept: list[Any] = []

    class Keeps(OneByOne):
        def on_subscribe(self, subscription: Any) -> None:
            kept.append(subscription)
            super().on_subscribe(subscription)

    verify_subscriber(Keeps, rules=["2.3"])
    before = [subscription.calls for subscription in kept]
    for subscription in kept:
        subscription.request(0)
        subscription.cancel()
    assert [subscription.calls for subscription in kept] == before


def test_a_stop_that_comes_earlier_than_claimed_is_a_fault() -> None:
    (failure,) = verify_subscriber(TakesThree, rules=["2.6"], stops_after=5).failures
    assert failure.message == "it cancelled after 3 elements, and claims to stop after 5"


@pytest.mark.parametrize(
    ("claims", "message"),
    [
        ({"element": lambda n: 1 / 0}, "element(0) raised ZeroDivisionError"),
        ({"puppet": lambda subscriber: object()}, "has no request"),
        ({"joins": lambda subscriber, publisher: None}, "joins did not call subscribe"),
        ({"received": lambda subscriber: subscriber.nothing}, "received(subscriber) raised Attri"),
    ],
    ids=["element", "puppet", "joins", "received"],
)
def test_a_claim_that_does_not_work_is_no_fault_of_the_subject(
    claims: dict[str, Any], message: str
) -> None:
    failures = verify_subscriber(OneByOne, rules=["2.1"], **claims).failures
    assert {failure.rule for failure in failures} == {FACTORY}
    assert message in failures[0].message


@pytest.mark.parametrize("thing", [None, 3, object()], ids=["None", "int", "object"])
def test_a_factory_that_makes_no_subscriber_is_named_as_the_culprit(thing: object) -> None:
    (failure,) = verify_subscriber(lambda: thing).failures
    assert failure.rule == FACTORY
    assert "which has no on_subscribe, on_next, on_error, on_complete" in failure.message


def test_a_signal_that_never_returns_stops_the_verification() -> None:
    class Hangs(CollectsAll):
        def process(self, element: Any) -> None:
            forever.wait()

    forever = threading.Event()
    report = verify_subscriber(Hangs, rules=["2.1", "2.13"])
    forever.set()
    assert [failure.rule for failure in report.failures] == ["2.13"]
    assert "on_next did not return" in report.failures[0].message


def test_a_subscriber_cannot_claim_to_stop_before_the_first_element() -> None:
    with pytest.raises(ValueError, match="stops_after must be at least 1, not 0"):
        verify_subscriber(OneByOne, stops_after=0)


@pytest.mark.parametrize(
    ("claim", "needed"), [("puppet_of_many_threads", "puppet"), ("in_order", "received")]
)
def test_a_claim_about_another_one_needs_that(claim: str, needed: str) -> None:
    claims: dict[str, Any] = {claim: True}
    with pytest.raises(ValueError, match=f"the claim {claim} needs the claim {needed}"):
        verify_subscriber(OneByOne, **claims)


def test_an_unknown_claim_is_an_error_that_names_the_known_ones() -> None:
    with pytest.raises(TypeError, match="there is no claim 'stop_after'; there are .*stops_after"):
        verify_subscriber(OneByOne, stop_after=3)


def test_a_failure_shows_the_signals_and_the_calls_that_led_to_it() -> None:
    class AsksInOnComplete(OneByOne):
        def on_complete(self) -> None:
            self.request(1)

    failures = verify_subscriber(AsksInOnComplete, rules=["2.3"]).failures
    (failure,) = (each for each in failures if each.check == "calls_nothing_in_on_complete")
    shown = [line.split("  ")[-1] for line in failure.timeline]
    assert shown[-2:] == ["on_complete()", "request(1)"]
    assert "Call nothing upstream" in failure.remedy


def statuses(report: Report) -> set[RuleStatus]:
    return {row.status for row in report.rows}
