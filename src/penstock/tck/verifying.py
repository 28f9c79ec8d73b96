"""The kit from code: ``verify_publisher(factory)`` and its like."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.tck.kinds import KINDS
from penstock.tck.report import Report

__all__ = [
    "verify_operator",
    "verify_processor",
    "verify_publisher",
    "verify_subscriber",
]


def verify_publisher(
    factory: Callable[[int], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify publishers: ``factory(n)`` returns one of ``n`` elements.

    ``claims`` are the fields of ``PublisherClaims``. With ``rules`` only those are verified.
    """
    return KINDS["publisher"].verify(factory, claims, rules=rules)


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


def verify_processor(
    factory: Callable[[], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify processors: ``factory()`` returns a new one, which sends one element for each it gets.

    The checks of publishers judge its downstream side, those of subscribers its upstream side, and
    those of rules 4.1 and 4.2 what passes through. ``claims`` are the fields of `ProcessorClaims`.
    With ``rules`` only those are verified.
    """
    return KINDS["processor"].verify(factory, claims, rules=rules)


def verify_operator(
    apply: Callable[[Any], Any], *, rules: Collection[str] | None = None, **claims: Any
) -> Report:
    """Verify an operator: ``apply(publisher)`` returns what is downstream of it, a publisher.

    The checks of publishers judge its downstream side, those of subscribers the subscriber that it
    hands to its source, and its own what goes through. ``claims`` are the fields of
    `OperatorClaims`; without ``expected`` what comes out is what went in. With ``rules`` only those
    are verified::

        verify_operator(
            lambda source: Chunks(source, size=3),
            expected=lambda elements: [elements[at : at + 3] for at in range(0, len(elements), 3)],
            prefetch=3,
        )
    """
    return KINDS["operator"].verify(apply, claims, rules=rules)
