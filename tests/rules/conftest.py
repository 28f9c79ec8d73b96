"""The fixtures of the rule tests."""

from __future__ import annotations

from tests.rules.fixtures import (
    calling_thread_subject,
    engine,
    iteration_subject,
    make_consumer,
    make_receiver,
    processor_subject,
    subject,
    undelivered,
    without_gc,
)

__all__ = [
    "calling_thread_subject",
    "engine",
    "iteration_subject",
    "make_consumer",
    "make_receiver",
    "processor_subject",
    "subject",
    "undelivered",
    "without_gc",
]
