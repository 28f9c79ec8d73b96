"""Several publishers at a time, or one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import Any

from penstock.api import Publisher
from penstock.flow.elements import Elements, Host, started
from penstock.flow.fluent import Fluent
from penstock.flow.operators.inputs import Input, may_wait, open_input
from penstock.flow.operators.merging import Merging
from penstock.flow.stage import BY_TIME, FROM_START, Origin
from penstock.flow.weaving import Segment

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
        self.publishers = publishers
        self.waits = any(map(may_wait, publishers))
        self.rerun = FROM_START if concurrency == 1 else BY_TIME
        self._concurrency = concurrency
        self._delay_errors = delay_errors

    @property
    def upstreams(self) -> tuple[Publisher[Any], ...]:
        """All of them."""
        return self.publishers

    def over(self, *upstreams: Publisher[Any]) -> Merge:
        """The same of other publishers."""
        moved = copy(self)
        moved.publishers = upstreams
        return moved

    def open(self, host: Host, each: int) -> Elements:
        """Subscribe to the first ones at once."""
        return started(self._portions(host, each))

    def _portions(self, host: Host, each: int) -> Elements:
        errors: list[Exception] | None = [] if self._delay_errors else None
        publishers = iter(self.publishers)
        merging = Merging(
            Input(publishers, host, sized=publishers, waits=False),
            lambda publisher: open_input(publisher, host, each),
            host,
            concurrency=self._concurrency,
            waits=self.waits,
            errors=errors,
        )
        host.sized = merging
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
            yield from concat.publishers


def mere_concat(publisher: Publisher[Any]) -> Merge | None:
    """The origin of a ``concat`` that no operator follows, if ``publisher`` is one."""
    if not isinstance(publisher, Fluent):
        return None
    origin, parts = publisher.plan.origin, publisher.plan.segments
    if not isinstance(origin, Merge) or origin.name != "concat" or len(parts) > 1:
        return None
    is_bare = isinstance(parts[0], Segment) and len(parts[0].stages) == 1
    return origin if is_bare else None
