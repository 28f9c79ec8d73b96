"""The kit from code: ``verify_publisher(factory)`` and its like."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.tck.kinds import KINDS
from penstock.tck.report import Report

__all__ = ["verify_publisher"]


def verify_publisher(
    factory: Callable[[int], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify publishers: ``factory(n)`` returns one of ``n`` elements.

    ``claims`` are the fields of ``PublisherClaims``. With ``rules`` only those are verified.
    """
    return KINDS["publisher"].verify(factory, claims, rules=rules)
