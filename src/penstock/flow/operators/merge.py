"""Several publishers as one: ``merge``, ``concat``, ``race``, ``take_until``, ``skip_until`` ..."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.api import UNBOUNDED, Publisher
from penstock.core import COMPLETED
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.fusion import FusedSegment
from penstock.flow.engine.prefetch_subscriber import EagerSubscriber, subscribe
from penstock.flow.engine.run_context import (
    PENDING,
    Elements,
    RunContext,
    close,
    discard,
    started,
)
from penstock.flow.engine.stage import BY_TIME, EACH_ALONE, FROM_START, Origin, Stage
from penstock.flow.operators.combining import Combination
from penstock.flow.operators.inputs import (
    InputElements,
    RoundRobin,
    close_all,
    may_wait,
    open_input,
)

__all__ = [
    "Merge",
    "Race",
    "SkipUntil",
    "StartWith",
    "TakeUntil",
    "Then",
    "one_after_the_other",
    "take_signal",
    "until_wanted",
]


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


class Race(Combination):
    """The elements of whichever input is the first to give anything, even if only its end."""

    rerun = BY_TIME

    def combined(self, inputs: list[InputElements], run: RunContext) -> Elements:
        """Poll one input after the other until one has something."""
        while inputs and not run.over:
            for number, each in enumerate(inputs):
                if self.ready(each) or each.ended:
                    winner = inputs.pop(number)
                    break
            else:
                yield PENDING
                continue
            losers, inputs[:] = inputs[:], [winner]
            close_all(losers)
            yield from winner.rest()
            return


class UntilSignal(Stage):
    """Something changes with the first signal of another publisher."""

    waits = True

    def __init__(self, name: str, publisher: Publisher[Any]) -> None:
        super().__init__(name)
        self._publisher = publisher
        self.inputs = (publisher,)

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Subscribe to the other publisher at once."""
        return started(self.transform(elements, run))


class TakeUntil(UntilSignal):
    """The elements that come before another publisher gives anything, even if only its end."""

    rerun = EACH_ALONE

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Check after each element whether it is over."""
        signal = EagerSubscriber(run, self.name, prefetch=1)
        try:
            subscribe(signal, self._publisher)
            yield None
            if not signal.has_come():
                for x in elements:
                    if run.ended and not run.wanted and x is not PENDING:
                        yield from self._held(x, signal, run)
                    else:
                        yield x
                    if run.ended and signal.has_come():
                        break
            if signal.ending not in (None, COMPLETED):
                raise signal.hand_over_error()
        finally:
            run.ended.discard(signal)
            signal.close()
            close(elements)

    def _held(self, x: Any, signal: EagerSubscriber, run: RunContext) -> Elements:
        """``x`` when it is wanted: downstream it would be in the way of the end."""
        held = deque((x,))
        try:
            while not (run.wanted or signal.has_come()):
                yield PENDING
            if not signal.has_come():
                yield held.popleft()
        finally:
            discard(run, held)


class SkipUntil(UntilSignal):
    """The elements that come once another publisher has given anything, even if only its end."""

    rerun = BY_TIME

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Discard what comes before the signal; after it there is nothing to do."""
        signal = EagerSubscriber(run, self.name, prefetch=1)
        try:
            subscribe(signal, self._publisher)
            yield None
            while not signal.has_come():
                x = next(elements, None)
                if x is None:
                    return
                if x is PENDING:
                    yield x
                else:
                    discard(run, (x,))
                    if run.over:
                        return
            take_signal(signal, run)
            yield from until_wanted(run)
            yield from elements
        finally:
            run.ended.discard(signal)
            signal.close()
            close(elements)


def take_signal(signal: EagerSubscriber, run: RunContext) -> None:
    """Let go of a publisher that has given something, or raise its error."""
    if signal.ending not in (None, COMPLETED):
        raise signal.hand_over_error()
    run.ended.discard(signal)
    signal.close()


def until_wanted(run: RunContext) -> Elements:
    """Wait for demand: a signal needs none, and what follows it must not work ahead of that."""
    while not (run.wanted or run.ended or run.over):
        yield PENDING


class StartWith(Stage):
    """Given elements first."""

    rerun = FROM_START

    def __init__(self, elements: tuple[Any, ...]) -> None:
        super().__init__("start_with")
        self._elements = elements

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """The given elements, then those from upstream."""
        yield from self._elements
        yield from elements


class Then(Stage):
    """The elements of another publisher, once there are no more."""

    inputs_per_output = UNBOUNDED

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("then")
        self.waits = may_wait(publisher)
        self._publisher = publisher
        self.inputs = (publisher,)

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Leave out all elements from upstream, then open the other publisher."""
        for x in elements:
            if run.over:
                return
            if x is PENDING:
                yield x
        others = opened(self._publisher, run, operator=self.name)
        try:
            yield from others
        finally:
            close(others)
