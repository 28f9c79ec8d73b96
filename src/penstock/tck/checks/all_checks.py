"""All checks: the modules that fill the suites, and the checks that suites lend to each other."""

from __future__ import annotations

from typing import Final

from penstock.tck.checks import (
    operator_context,
    operator_elements,
    operator_endings,
    operator_references,
    processor_capabilities,
    processor_passage,
    publisher_capabilities,
    publisher_demand,
    publisher_endings,
    publisher_signals,
    publisher_subscribe,
    subscriber_demand,
    subscriber_endings,
    subscriber_signals,
)
from penstock.tck.checks.suites import OPERATOR, PROCESSOR, PUBLISHER, SUBSCRIBER, Check, Suite

__all__ = [
    "LENT_TO_OPERATORS",
    "LENT_TO_PROCESSORS",
    "MODULES",
    "OPERATOR",
    "PROCESSOR",
    "PUBLISHER",
    "SUBSCRIBER",
]

MODULES: Final = (
    publisher_demand,
    publisher_signals,
    publisher_endings,
    publisher_subscribe,
    publisher_capabilities,
    subscriber_demand,
    subscriber_signals,
    subscriber_endings,
    processor_passage,
    processor_capabilities,
    operator_elements,
    operator_endings,
    operator_references,
    operator_context,
)
"""Where the checks are. To import them is what fills the suites."""

SEEN_OF_PROCESSORS: Final[dict[str, str | None]] = dict.fromkeys(("failed", "received", "in_order"))
"""Claims for what the kit sees itself, as it has the other side of the processor."""
RENAMED: Final = {"closed": "cancels_upstream", "puppet": "cancels_upstream"}
"""Claims that mean something else for a processor."""
NOT_FOR_PROCESSORS: Final = ("joins", "only_hands_over", "puppet_of_many_threads", "stops_after")
"""Claims of subscribers that have no meaning for one with another side."""
NEVER_DECIDED: Final = ("calls_nothing_for_its_user_once_the_stream_is_over",)
"""Checks of subscribers that are their own puppet. No processor is: it is steered from downstream,
and ``calls_nothing_upstream_after_completion`` says the same of its subscribers."""

SEEN_OF_OPERATORS: Final[dict[str, str | None]] = dict.fromkeys(
    ("failed", "in_order", "joins", "puppet")
)
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
    "drops_the_subscriber_after_cancel_within_signals",
    "drops_the_subscriber_after_completion",
    "keeps_the_order",
)
"""Checks that would see nothing which those of operators do not see."""


def _lend_to_processors(suite: Suite, side: str) -> tuple[str, ...]:
    """4.1: a processor obeys the rules of both; its sides are judged by the same checks."""

    def is_fit(check: Check) -> bool:
        return check.needs not in NOT_FOR_PROCESSORS and check.name not in NEVER_DECIDED

    return PROCESSOR.add_for_side(side, filter(is_fit, suite), {**SEEN_OF_PROCESSORS, **RENAMED})


def _lend_to_operators(suite: Suite, side: str) -> tuple[str, ...]:
    """Where operators have a check of the same name of their own, that one stays in its place."""
    left_out = {*COVERED, *(check.name for check in OPERATOR)}

    def is_fit(check: Check) -> bool:
        return check.needs not in NOT_FOR_OPERATORS and check.name not in left_out

    return OPERATOR.add_for_side(side, filter(is_fit, suite), SEEN_OF_OPERATORS)


# The names of the checks that other suites lend.
LENT_TO_PROCESSORS: Final = (
    *_lend_to_processors(PUBLISHER, "as_publisher"),
    *_lend_to_processors(SUBSCRIBER, "as_subscriber"),
)
LENT_TO_OPERATORS: Final = (
    *_lend_to_operators(PUBLISHER, "as_publisher"),
    *_lend_to_operators(SUBSCRIBER, "as_subscriber"),
)
