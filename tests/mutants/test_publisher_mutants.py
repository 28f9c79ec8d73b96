"""Each check for publishers can fail: broken ones fail it, under the rule that they break."""

from __future__ import annotations

from functools import cache

import pytest

from penstock.tck.checks.publisher import PUBLISHER
from penstock.tck.report import Status
from penstock.tck.verify import verify_publisher
from tests.mutants.publishers import claims_of, factory_of, mutants, rule_of
from tests.mutants.publishers_demand import NeverSends

MUTANTS = mutants()
RULES = sorted({check.rule for check in PUBLISHER}, key=lambda rule: tuple(rule.split(".")))

NEED_NO_ELEMENT = {
    "raises_type_error_for_no_subscriber",
    "returns_normally_whatever_the_subscriber_raises",
}
"""Checks that are about something else than a stream that flows."""


@pytest.mark.parametrize("rule", RULES)
def test_mutants_fail_the_checks_of_the_rule_that_they_break(rule: str) -> None:
    breaking = [name for name in MUTANTS if rule_of(MUTANTS[name]) == rule]
    found = {name: killers(name) for name in breaking}
    assert [name for name in breaking if not found[name]] == [], "these pass all checks"
    failed = set().union(*found.values())
    checks = [check.name for check in PUBLISHER.about([rule])]
    assert [check for check in checks if check not in failed] == [], "no mutant fails these"


def test_every_mutant_breaks_a_rule_that_has_a_check() -> None:
    assert {rule_of(mutant) for mutant in MUTANTS.values()} == set(RULES)


def test_a_publisher_that_never_sends_fails_every_check_that_needs_an_element() -> None:
    report = verify_publisher(factory_of(NeverSends))
    passed = {each.check for each in report.outcomes if each.status is Status.VERIFIED}
    assert passed == NEED_NO_ELEMENT


def matrix() -> dict[str, tuple[str, ...]]:
    """The mutants that fail each check."""
    return {
        check.name: tuple(name for name in MUTANTS if check.name in killers(name))
        for check in PUBLISHER
    }


@cache
def killers(name: str) -> frozenset[str]:
    """The checks that a mutant fails, under the rule that it breaks."""
    mutant = MUTANTS[name]
    rule = rule_of(mutant)
    report = verify_publisher(factory_of(mutant), rules=[rule], **claims_of(mutant))
    return frozenset(
        outcome.check
        for outcome in report.outcomes
        if outcome.rule == rule and outcome.status is Status.FAILED
    ) - {"preflight"}
