"""Each check for processors can fail: broken ones fail it, under the rule that they break."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from penstock.tck.checks.processor import DELEGATED, PROCESSOR
from penstock.tck.kinds import KINDS
from penstock.tck.report import Status
from tests.mutants.processors import claims_of, mutants, rule_of

MUTANTS = mutants()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_fails_a_check_of_the_rule_that_it_breaks(name: str) -> None:
    assert killers(name), f"{name} passes all checks of rule {rule_of(MUTANTS[name])}"


def test_every_check_that_is_for_processors_alone_is_failed_by_a_mutant() -> None:
    own = {check: killed for check, killed in matrix().items() if check not in DELEGATED}
    assert [check for check, killed in own.items() if not killed] == []


def test_checks_of_publishers_and_of_subscribers_see_the_sides_of_a_processor() -> None:
    lent = {check for check, killed in matrix().items() if check in DELEGATED and killed}
    rules = {check.rule for check in PROCESSOR if check.name in lent}
    assert rules >= {"1.1", "1.10", "2.3", "2.5", "2.8", "2.13", "3.5", "3.9", "3.12", "3.13"}


def matrix() -> dict[str, tuple[str, ...]]:
    """The mutants that fail each check."""
    return {
        check.name: tuple(name for name in MUTANTS if check.name in killers(name))
        for check in PROCESSOR
    }


@cache
def killers(name: str) -> frozenset[str]:
    """The checks that a mutant fails, under the rule that it breaks.

    Those that explore many schedules take long, and are asked only if all others let it pass.
    """
    mutant = MUTANTS[name]
    checks = PROCESSOR.about([rule_of(mutant)])
    quick = [check.name for check in checks if not check.explored]
    slow = [check.name for check in checks if check.explored]
    return failed(mutant, quick) or failed(mutant, slow)


def failed(mutant: type[Any], checks: list[str]) -> frozenset[str]:
    if not checks:
        return frozenset()
    report = KINDS["processor"].verify(mutant, claims_of(mutant), checks=checks)
    found = [outcome for outcome in report.outcomes if outcome.status is Status.FAILED]
    return frozenset(outcome.check for outcome in found) & frozenset(checks)
