"""A guard around a processor."""

from __future__ import annotations

from typing import TypeVar

from penstock.api import Processor
from penstock.guard.publisher import GuardedPublisher
from penstock.guard.reports import PartyReports
from penstock.guard.subscriber import GuardedSubscriber
from penstock.rules import RuleViolation

__all__ = ["GuardedProcessor"]

T = TypeVar("T")
R = TypeVar("R")


class GuardedProcessor(GuardedSubscriber[T], GuardedPublisher[R]):
    """Takes the place of a processor that may break the rules; made by ``guard``.

    Both sides are guarded (rule 4.1). A processor that raises in a signal is cancelled upstream,
    and its subscribers get the violation by ``on_error``.
    """

    def __init__(
        self,
        party: Processor[T, R],
        reports: PartyReports,
        *,
        ends_stream: bool,
        recursion_limit: int,
    ) -> None:
        GuardedSubscriber.__init__(self, party, reports)
        GuardedPublisher.__init__(
            self, party, reports, ends_stream=ends_stream, recursion_limit=recursion_limit
        )

    def _broke(self, violation: RuleViolation) -> None:
        self._fail_streams(violation)
        super()._broke(violation)
