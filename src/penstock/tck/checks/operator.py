"""All checks for operators."""

from __future__ import annotations

from penstock.tck.checks import operator_elements, operator_endings, operator_threads
from penstock.tck.checks.operator_suite import OPERATOR

__all__ = ["MODULES", "OPERATOR"]

MODULES = (operator_elements, operator_endings, operator_threads)
"""Where the checks are. To import them is what fills the suite."""
