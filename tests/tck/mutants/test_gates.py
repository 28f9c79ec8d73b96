"""Each check can fail: broken implementations fail it, under the rule that they break."""

from __future__ import annotations

import pytest

from tests.quick import quick
from tests.tck.mutants.gates import GATES

KINDS_AND_RULES = [(kind, rule) for kind, gate in GATES.items() for rule in gate.rules]
ENDS = ("publisher", "subscriber")
# Processors and operators are judged by the checks of both ends, too: there, every time.
PROVED_AT_THE_ENDS = {rule for end in ENDS for rule in GATES[end].rules}
EVERY_TIME = [
    (kind, rule) for kind, rule in KINDS_AND_RULES if kind in ENDS or rule not in PROVED_AT_THE_ENDS
]


@pytest.mark.parametrize(("kind", "rule"), quick(KINDS_AND_RULES, EVERY_TIME))
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
