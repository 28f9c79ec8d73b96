"""Several publishers at a time, or one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.fusion import FusedSegment
from penstock.flow.engine.run_context import Elements, RunContext, started
from penstock.flow.engine.stage import BY_TIME, FROM_START, Origin
from penstock.flow.operators.inputs import InputElements, may_wait, open_input
from penstock.flow.operators.round_robin import RoundRobin

__all__ = ["Merge", "one_after_the_other"]


class Merge(Origin):
    """Portions of given publishers; with a ``concurrency`` of 1 they follow each other."""

    checked = True

    def __init__(
        self,
        name: str,
        publishers: tuple[Publisher[Any], ...],
        concurrency: int,
        *,
        delay_errors: bool = False,
    ) -> None:
        super().__init__(name)
        self.upstreams = self.inputs = publishers
        self.waits = any(map(may_wait, publishers))
        self.rerun = FROM_START if concurrency == 1 else BY_TIME
        self._concurrency = concurrency
        self._delay_errors = delay_errors

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to the first ones at once."""
        return started(self._portions(run, per_output))

    def _portions(self, run: RunContext, per_output: int) -> Elements:
        errors: list[Exception] | None = [] if self._delay_errors else None
        publishers = iter(self.upstreams)
        merging = RoundRobin(
            InputElements(publishers, run, sized=publishers, waits=False),
            lambda publisher: open_input(publisher, run, self.name, per_output),
            run,
            concurrency=self._concurrency,
            waits=self.waits,
            errors=errors,
        )
        run.sized = merging
        try:
            merging.open_first()
            yield None
            yield from merging.portions()
        finally:
            merging.close()
        if errors:
            raise self._summary(errors)

    def _summary(self, errors: list[Exception]) -> Exception:
        failures = errors.copy()
        errors.clear()  # no cycle of an error and the frame that has the list
        if len(failures) == 1:
            return failures[0]
        return ExceptionGroup(f"{self.name}: {len(failures)} inputs failed", failures)


def one_after_the_other(publishers: Iterable[Publisher[Any]]) -> Iterator[Publisher[Any]]:
    """The publishers, with those of another ``concat`` in its place: a long chain is not deep."""
    for publisher in publishers:
        concat = mere_concat(publisher)
        if concat is None:
            yield publisher
        else:
            yield from concat.upstreams


def mere_concat(publisher: Publisher[Any]) -> Merge | None:
    """The origin of a ``concat`` that no operator follows, if ``publisher`` is one."""
    if not isinstance(publisher, BaseFlow):
        return None
    origin, parts = publisher.plan.origin, publisher.plan.segments
    if not isinstance(origin, Merge) or origin.name != "concat" or len(parts) > 1:
        return None
    is_bare = isinstance(parts[0], FusedSegment) and len(parts[0].stages) == 1
    return origin if is_bare else None
