"""What a check is, and the suites that the checks are in, one for each kind of party."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

from penstock.rules import rule as rule_named
from penstock.tck.claims import NotClaimed
from penstock.tck.probe import OUTSIDE, WITHIN

__all__ = [
    "OPERATOR",
    "PROCESSOR",
    "PUBLISHER",
    "SUBSCRIBER",
    "Check",
    "Suite",
]

Function = TypeVar("Function", bound=Callable[..., None])

WITHIN_SIGNALS: Final = "All calls come from within on_subscribe, and then from within on_next."


@dataclass(frozen=True)
class Check:
    """Verifies one rule on one kind of party."""

    rule: str
    name: str
    verifies: str
    remedy: str
    needs: str | None
    explored: bool
    real_time: bool
    run: Callable[[Any], None]


class Suite:
    """The checks for one kind of party, in the order of the rules.

    The docstring of a check says in its first paragraph what it verifies and in its last one what
    to change when it fails. ``needs`` names the claim without which it is not run. ``explored``
    checks are about concurrency and run under many schedules. Those in ``real_time`` are not, and
    take so many steps that one schedule would be too slow.

    With ``within_signals`` the function takes a `Place` as well, and makes two checks: one calls
    the subscription from outside; the other one, whose name ends like that, calls it within
    ``on_subscribe``, and within ``on_next``.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._checks: dict[str, Check] = {}

    def check(
        self,
        rule: str,
        *,
        needs: str | None = None,
        explored: bool = False,
        real_time: bool = False,
        within_signals: bool = False,
    ) -> Callable[[Function], Function]:
        """Add the decorated function to the suite."""
        rule_named(rule)

        def add(function: Function) -> Function:
            verifies, remedy = _paragraphs(function)
            name = function.__name__
            check = Check(rule, name, verifies, remedy, needs, explored, real_time, function)
            if within_signals:
                self._add(replace(check, run=partial(function, place=OUTSIDE)))
                name, verifies = f"{name}_within_signals", f"{verifies} {WITHIN_SIGNALS}"
                run = partial(_run_within_signals, function)
                check = replace(check, name=name, verifies=verifies, run=run)
            self._add(check)
            return function

        return add

    def _add(self, check: Check) -> None:
        if check.name in self._checks:
            raise ValueError(f"there are two checks named {check.name}")
        self._checks[check.name] = check

    def add_for_side(
        self, side: str, checks: Iterable[Check], claims: Mapping[str, str | None]
    ) -> tuple[str, ...]:
        """Let checks of another suite judge one side of a party; their names.

        ``side`` is the attribute of the fixture that they get. ``claims`` says which claim they
        need here in place of another one, and ``None`` where they need no claim.
        """
        return tuple(
            self._add_for_side(side, check, claims.get(check.needs or "", check.needs))
            for check in tuple(checks)
        )

    def _add_for_side(self, side: str, check: Check, needs: str | None) -> str:
        def run(fixture: Any) -> None:
            check.run(getattr(fixture, side))

        self._add(replace(check, needs=needs, run=run))
        return check.name

    def about(self, rules: Iterable[str] | None) -> tuple[Check, ...]:
        """The checks of these rules, or all of them."""
        if rules is None:
            return tuple(self)
        wanted = {rule_named(rule).number for rule in rules}
        return tuple(check for check in self if check.rule in wanted)

    def __iter__(self) -> Iterator[Check]:
        return iter(sorted(self._checks.values(), key=_in_order_of_rules))

    def __len__(self) -> int:
        return len(self._checks)


def _run_within_signals(function: Callable[..., None], fixture: Any) -> None:
    """At one place after the other; what was claimed may not be enough for one of them."""
    reasons = []
    for place in WITHIN:
        try:
            function(fixture, place)
        except NotClaimed as reason:
            reasons.append(reason)
    if len(reasons) == len(WITHIN):
        raise reasons[0]


def _in_order_of_rules(check: Check) -> tuple[int, int]:
    chapter, _, number = check.rule.partition(".")
    return int(chapter), int(number)


def _paragraphs(function: Callable[..., None]) -> tuple[str, str]:
    paragraphs = (inspect.getdoc(function) or "").split("\n\n")
    if len(paragraphs) < 2:
        raise ValueError(f"{function.__name__} must say what it verifies and what to change")
    return " ".join(paragraphs[0].split()), " ".join(paragraphs[-1].split())


PUBLISHER: Final = Suite("publisher")
SUBSCRIBER: Final = Suite("subscriber")
PROCESSOR: Final = Suite("processor")
OPERATOR: Final = Suite("operator")
