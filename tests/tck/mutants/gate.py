"""The gate that no mutant may pass: a check of the rule that it breaks must fail it."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any
from unittest.mock import patch

from penstock.tck import judge, publisher_fixture
from penstock.tck.checks.suites import Check
from penstock.tck.judge import Experience, Judge
from penstock.tck.preflight import Preflight
from penstock.tck.report import RuleStatus
from penstock.tck.verifying import KINDS

PATIENT = 2.0
"""Seconds for the schedules of one check: a busy machine gets through fewer in the same time."""
VERY_PATIENT = 20.0
"""Seconds for a single schedule that takes longer than that."""
BRIEF = 0.01
"""Seconds of processor time for a call: mutants that compute for long need not do so for longer."""


@dataclass(frozen=True)
class Mutant:
    """A broken implementation, what it claims, and the rule that it breaks."""

    name: str
    rule: str
    factory: Callable[..., Any]
    claims: Mapping[str, Any] = field(default_factory=dict)
    checks: Collection[str] | None = None
    """The names of the checks that see its fault, if others check another side of it."""

    def is_seen_by(self, check: Check) -> bool:
        """Whether a check is about what is broken."""
        return check.rule == self.rule and (self.checks is None or check.name in self.checks)


class Gate:
    """All mutants of one kind of party, before all checks of that kind."""

    def __init__(self, kind: str, mutants: Iterable[Mutant]) -> None:
        self.kind = KINDS[kind]
        self.mutants = tuple(mutants)
        self.rules = tuple(dict.fromkeys(check.rule for check in self.kind.suite))
        self._failures: dict[str, dict[str, frozenset[str]]] = {}

    def matrix(self) -> dict[str, tuple[str, ...]]:
        """The mutants that fail each check."""
        return {
            check.name: tuple(
                name for name, checks in self.failures(check.rule).items() if check.name in checks
            )
            for check in self.kind.suite
        }

    def survivors(self, rule: str) -> list[str]:
        """The mutants that break a rule and pass all checks of it."""
        return [name for name, checks in self.failures(rule).items() if not checks]

    def unproved(self, rule: str) -> list[str]:
        """The checks of a rule that no mutant fails."""
        proved = frozenset[str]().union(*self.failures(rule).values())
        return [check.name for check in self.kind.suite.about([rule]) if check.name not in proved]

    def failures(self, rule: str) -> dict[str, frozenset[str]]:
        """For each mutant that breaks a rule the checks of it that it fails."""
        if rule not in self._failures:
            self._failures[rule] = self._find_failures(rule)
        return self._failures[rule]

    def _find_failures(self, rule: str) -> dict[str, frozenset[str]]:
        """Those checks that explore many schedules take long.

        Once a mutant has failed such a check, it is asked only about mutants that pass all others.
        """
        checks = self.kind.suite.about([rule])
        quick = [check for check in checks if not check.explored]
        slow = [check for check in checks if check.explored]
        breaking = [mutant for mutant in self.mutants if mutant.rule == rule]
        found = {mutant.name: self._failed(mutant, quick) for mutant in breaking}
        proved: frozenset[str] = frozenset()
        for mutant in sorted(breaking, key=lambda each: bool(found[each.name])):
            failed = found[mutant.name]
            left = [check for check in slow if not failed or check.name not in proved]
            found[mutant.name] = failed | self._failed(mutant, left)
            proved |= found[mutant.name]
        return found

    def _failed(self, mutant: Mutant, checks: Collection[Check]) -> frozenset[str]:
        """Those of the checks that a mutant fails, each under its own rule."""
        names = [check.name for check in checks if mutant.is_seen_by(check)]
        if not names:
            return frozenset()
        with (
            patch.object(judge, "EXPLORED_BUDGET", PATIENT),
            patch.object(judge, "REPLAY_BUDGET", VERY_PATIENT),
            patch.object(publisher_fixture, "QUICK_COMPUTATION", BRIEF),
        ):
            outcomes = self._judge(mutant).judge(self.kind.select(None, names))
        return frozenset(each.check for each in outcomes if each.status is RuleStatus.FAILED)

    def _judge(self, mutant: Mutant) -> Judge:
        """One that needs no preflight, which takes longer than most checks: mutants do work."""
        known = Experience(Preflight(controllable=True), parties={type(mutant)})
        return self.kind.judge(mutant.factory, mutant.claims, known)


def broken_in(module: str) -> dict[str, Any]:
    """What a module defines whose docstring opens with a rule, by name."""
    return {
        name: value
        for name, value in vars(import_module(module)).items()
        if getattr(value, "__module__", None) == module and rule_of(value)
    }


def rule_of(party: object) -> str:
    """The rule that its docstring opens with, or nothing if that says no rule."""
    match = re.match(r"(\d\.\d+): ", getattr(party, "__doc__", None) or "")
    return match[1] if match else ""
