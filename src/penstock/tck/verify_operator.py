"""The kit for operators, from code: ``verify_operator(apply)``."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.tck.kinds import KINDS
from penstock.tck.report import Report

__all__ = ["verify_operator"]


def verify_operator(
    apply: Callable[[Any], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify an operator: ``apply(publisher)`` returns what is downstream of it, a publisher.

    ``claims`` are the fields of `OperatorClaims`; without a ``model`` what comes out is what went
    in. With ``rules`` only those are verified. What comes out is a publisher like any other, so
    `verify_publisher` can judge it as well.
    """
    return KINDS["operator"].verify(apply, claims, rules=rules)
