"""The kit for processors, from code: ``verify_processor(factory)``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.tck.kinds import KINDS
from penstock.tck.report import Report

__all__ = ["verify_processor"]


def verify_processor(
    factory: Callable[[], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify processors: ``factory()`` returns a new one, which sends one element for each it gets.

    The checks of publishers judge its lower side, those of subscribers its upper side, and those
    of rules 4.1 and 4.2 what passes through. ``claims`` are the fields of `ProcessorClaims`. With
    ``rules`` only those are verified.
    """
    return KINDS["processor"].verify(factory, claims, rules=rules)
