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

    The checks of publishers judge its lower side, those of subscribers the subscriber that it hands
    to its source, and its own what goes through. ``claims`` are the fields of `OperatorClaims`;
    without ``expected`` what comes out is what went in. With ``rules`` only those are verified::

        verify_operator(
            lambda source: Chunks(source, size=3),
            expected=lambda elements: [elements[at : at + 3] for at in range(0, len(elements), 3)],
            prefetch=3,
        )
    """
    return KINDS["operator"].verify(apply, claims, rules=rules)
