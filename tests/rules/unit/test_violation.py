"""A violation tells which rule was broken, by what, and after which signals."""

from __future__ import annotations

import pickle

import pytest

from penstock.rules import RuleViolation, rule


def test_a_violation_reads_as_the_citation_of_its_rule() -> None:
    violation = RuleViolation("1.7", "on_next(3) came after on_complete")
    assert violation.rule is rule("1.7")
    assert violation.detail == "on_next(3) came after on_complete"
    assert violation.timeline == ()
    assert str(violation) == (
        "on_next(3) came after on_complete (rule 1.7: nothing follows on_error or on_complete)"
    )


def test_a_violation_shows_its_timeline_below() -> None:
    violation = RuleViolation("1.7", "too late", iter(["on_complete", "on_next(3)"]))
    assert violation.timeline == ("on_complete", "on_next(3)")
    assert str(violation).splitlines()[1:] == ["  on_complete", "  on_next(3)"]


def test_a_violation_survives_pickling() -> None:
    violation = RuleViolation("1.7", "too late", ["on_complete"])
    copy = pickle.loads(pickle.dumps(violation))
    assert type(copy) is RuleViolation
    assert str(copy) == str(violation)
    assert copy.rule == violation.rule


def test_a_violation_of_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match=r"there is no rule '9\.9'"):
        RuleViolation("9.9", "something happened")


def test_a_violation_is_a_runtime_error() -> None:
    with pytest.raises(RuntimeError, match=r"rule 1\.7"):
        raise RuleViolation("1.7", "too late")
