"""All checks for publishers."""

from __future__ import annotations

from penstock.tck.checks import (
    publisher_cancel,
    publisher_capabilities,
    publisher_demand,
    publisher_ends,
    publisher_request,
    publisher_signals,
    publisher_subscribe,
)
from penstock.tck.checks.suites import PUBLISHER

__all__ = ["MODULES", "PUBLISHER"]

MODULES = (
    publisher_demand,
    publisher_signals,
    publisher_ends,
    publisher_subscribe,
    publisher_request,
    publisher_cancel,
    publisher_capabilities,
)
"""Where the checks are. To import them is what fills the suite."""
