"""The suite that the modules with checks for operators add to, and how others lend to it."""

from __future__ import annotations

from typing import Final

from penstock.tck.check import Suite

__all__ = ["OPERATOR", "check", "delegate"]

OPERATOR: Final = Suite("operator")

check = OPERATOR.check

SUPPLIED: Final[dict[str, str | None]] = dict.fromkeys(("failed", "in_order", "joins", "puppet"))
"""Claims for what the kit sees and does itself, as it has both sides of the operator."""
NOT_FOR_OPERATORS: Final = (
    "closed",
    "only_hands_over",
    "puppet_of_many_threads",
    "received",
    "stops_after",
)
"""Claims that mean nothing for an operator, or that its own checks and ``in_order`` cover."""
COVERED: Final = (
    "calls_its_subscription_one_call_at_a_time",
    "drops_the_subscriber_after_cancel_in_on_next",
    "drops_the_subscriber_after_completion",
    "keeps_the_order",
)
"""Checks that would see nothing which those of operators do not see."""


def delegate(suite: Suite, side: str) -> tuple[str, ...]:
    """Let checks of ``suite`` judge one side of an operator; their names.

    Where operators have a check of the same name of their own, that one stays in its place.
    """
    left_out = {*COVERED, *(check.name for check in OPERATOR)}
    checks = (
        check
        for check in suite
        if check.name not in left_out and check.needs not in NOT_FOR_OPERATORS
    )
    return OPERATOR.add_for_side(side, checks, SUPPLIED)
