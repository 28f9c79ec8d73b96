"""All checks for operators: their own, and those of publishers and subscribers for both sides."""

from __future__ import annotations

from typing import Final

from penstock.tck.checks import (
    operator_context,
    operator_elements,
    operator_endings,
    operator_references,
    operator_threads,
)
from penstock.tck.checks.operator_suite import OPERATOR, delegate
from penstock.tck.checks.publisher import PUBLISHER
from penstock.tck.checks.subscriber import SUBSCRIBER

__all__ = ["DELEGATED", "MODULES", "OPERATOR"]

MODULES: Final = (
    operator_elements,
    operator_endings,
    operator_threads,
    operator_references,
    operator_context,
)
"""Where the checks are. To import them is what fills the suite."""

DELEGATED: Final = (*delegate(PUBLISHER, "as_publisher"), *delegate(SUBSCRIBER, "as_subscriber"))
"""The names of the checks that other suites lend."""
