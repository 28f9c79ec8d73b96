"""The kit for subscribers, from code: ``verify_subscriber(factory)``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.tck.kinds import KINDS
from penstock.tck.report import Report

__all__ = ["verify_subscriber"]


def verify_subscriber(
    factory: Callable[[], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify subscribers: ``factory()`` returns a new one.

    ``claims`` are the fields of `SubscriberClaims`. With ``rules`` only those are verified.

    Without claims the kit sees what a publisher sees. These open the box, so that it can steer the
    subscriber and see what it has processed::

        verify_subscriber(
            Printer,
            puppet=lambda printer: printer.controls,  # has request(n) and cancel()
            received=lambda printer: printer.lines,
            completed=lambda printer: printer.is_done,
            failed=lambda printer: printer.error,
        )
    """
    return KINDS["subscriber"].verify(factory, claims, rules=rules)
