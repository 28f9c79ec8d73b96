"""Each check can fail: broken implementations fail it, under the rule that they break."""

from __future__ import annotations

import pytest

from tests.mutants.gates import GATES

KINDS_AND_RULES = [(kind, rule) for kind, gate in GATES.items() for rule in gate.rules]


@pytest.mark.parametrize(("kind", "rule"), KINDS_AND_RULES)
def test_no_mutant_passes_all_checks_of_the_rule_that_it_breaks(kind: str, rule: str) -> None:
    assert GATES[kind].survivors(rule) == [], "these pass all checks"
    assert GATES[kind].unproved(rule) == [], "no mutant fails these checks"


@pytest.mark.parametrize("kind", GATES)
def test_every_mutant_breaks_a_rule_that_has_a_check(kind: str) -> None:
    assert {mutant.rule for mutant in GATES[kind].mutants} == set(GATES[kind].rules)


@pytest.mark.parametrize("kind", GATES)
def test_no_two_mutants_have_the_same_name(kind: str) -> None:
    names = [mutant.name for mutant in GATES[kind].mutants]
    assert sorted(set(names)) == sorted(names)
