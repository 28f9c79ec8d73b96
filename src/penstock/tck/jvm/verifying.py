"""The official kit from code: the same names, factories, claims and reports as in the own kit."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from penstock.tck.jvm.runner import LIMIT, PATIENCE, judge
from penstock.tck.jvm.subject import Subject, subject_of
from penstock.tck.report import Report

__all__ = [
    "verify_processor",
    "verify_publisher",
    "verify_subscriber",
    "verify_subscriber_whitebox",
]


def verify_publisher(
    factory: Callable[[int], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit judge publishers: ``factory(n)`` returns one of ``n`` elements.

    Of the claims of ``PublisherClaims`` it uses ``failed``, which here has to fail without
    being asked for elements, ``multicast``, ``explains_illegal_requests``, ``max_elements`` and
    ``completes``. Each test of the kit may take ``limit`` seconds.
    """
    return _verify(subject_of("publisher", factory, claims, rules=rules), limit)


def verify_subscriber(
    factory: Callable[[], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit judge subscribers by what a publisher sees of them.

    Of the claims of ``SubscriberClaims`` it uses ``element`` and ``puppet``.
    """
    return _verify(subject_of("subscriber", factory, claims, rules=rules), limit)


def verify_subscriber_whitebox(
    factory: Callable[[], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit steer and inspect subscribers.

    That takes the claims ``puppet``, ``received``, ``completed`` and ``failed``.
    """
    return _verify(subject_of("subscriber", factory, claims, whitebox=True, rules=rules), limit)


def verify_processor(
    factory: Callable[[], Any],
    *,
    rules: Collection[str] | None = None,
    limit: float = LIMIT,
    **claims: Any,
) -> Report:
    """Have the official kit judge processors, which pass on each element that they get.

    Of the claims of ``ProcessorClaims`` it uses those that it uses for publishers, and ``element``.
    Without ``failed``, the source upstream of a processor is made to fail.
    """
    return _verify(subject_of("processor", factory, claims, rules=rules), limit)


def _verify(subject: Subject, limit: float) -> Report:
    patience = max(PATIENCE, getattr(subject.claims, "answers_within", 0.0))
    (report,) = judge(lambda: [subject], limit=limit, patience=patience)
    return report
