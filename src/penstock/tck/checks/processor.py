"""All checks for processors."""

from __future__ import annotations

from penstock.tck.checks import processor_claimed, processor_errors, processor_passage
from penstock.tck.checks.processor_suite import DELEGATED, PROCESSOR

__all__ = ["DELEGATED", "MODULES", "PROCESSOR"]

MODULES = (processor_passage, processor_errors, processor_claimed)
"""Where the checks are. To import them is what fills the suite."""
