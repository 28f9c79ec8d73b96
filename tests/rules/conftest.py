"""The fixtures of the rule tests, besides those that others use as well."""

from __future__ import annotations

import pytest

from penstock.runtime import Undelivered
from tests.rules.fixtures import (
    calling_thread_subject,
    iteration_subject,
    make_consumer,
    make_receiver,
    processor_subject,
    subject,
)

__all__ = [
    "calling_thread_subject",
    "iteration_subject",
    "make_consumer",
    "make_receiver",
    "processor_subject",
    "subject",
]


@pytest.fixture(autouse=True)
def nothing_undelivered(undelivered: list[Undelivered]) -> None:
    """In all rule tests, what reaches the hook has to be expected there."""
