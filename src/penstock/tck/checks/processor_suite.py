"""The suite for processors: the checks of their two sides, and those that modules add to it."""

from __future__ import annotations

from typing import Final

from penstock.tck.check import Suite
from penstock.tck.checks.publisher import PUBLISHER
from penstock.tck.checks.subscriber import SUBSCRIBER

__all__ = ["DELEGATED", "PROCESSOR", "check"]

PROCESSOR: Final = Suite("processor")

check = PROCESSOR.check

SUPPLIED: Final[dict[str, str | None]] = dict.fromkeys(("failed", "received", "in_order"))
"""Claims for what the kit sees itself, as it has the other side of the processor."""
RENAMED: Final = {"closed": "cancels_upstream", "puppet": "cancels_upstream"}
"""Claims that mean something else for a processor."""
NOT_FOR_PROCESSORS: Final = ("joins", "only_hands_over", "puppet_of_many_threads", "stops_after")
"""Claims of subscribers that have no meaning for one with another side."""
NEVER_DECIDED: Final = ("calls_nothing_for_its_user_once_the_stream_is_over",)
"""Checks of subscribers that are their own puppet. No processor is: it is steered from downstream,
and ``calls_nothing_upstream_after_completion`` says the same of its subscribers."""


def _delegate(suite: Suite, side: str) -> tuple[str, ...]:
    """4.1: a processor obeys the rules of both; its sides are judged by the same checks."""
    checks = (
        check
        for check in suite
        if check.needs not in NOT_FOR_PROCESSORS and check.name not in NEVER_DECIDED
    )
    return PROCESSOR.add_for_side(side, checks, {**SUPPLIED, **RENAMED})


DELEGATED: Final = (*_delegate(PUBLISHER, "as_publisher"), *_delegate(SUBSCRIBER, "as_subscriber"))
"""The names of the checks that other suites lend."""
