"""Elements, each with the latest one of another publisher."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow.engine.prefetch_subscriber import EagerSubscriber, subscribe
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, discard, started
from penstock.flow.engine.stage import BY_TIME, Stage
from penstock.flow.operators.inputs import InputElements, close_all

__all__ = ["WithLatestFrom"]


class WithLatestFrom(Stage):
    """Pairs of an element and what another publisher gave last."""

    rerun = BY_TIME
    waits = True
    checked = True

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("with_latest_from")
        self._publisher = publisher
        self.inputs = (publisher,)

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Subscribe to the other publisher at once."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Take all that the other publisher has before each element."""
        subscriber = EagerSubscriber(run, self.name)
        other = InputElements(subscriber.elements(), run)
        main = InputElements(elements, run, sized=run.sized)
        latest, unseen = PENDING, False
        try:
            subscribe(subscriber, self._publisher)
            yield None
            while not run.over:
                run.ended.discard(subscriber)
                if other.peek():
                    if unseen:
                        discard(run, (latest,))
                    latest, unseen = other.take(), True
                elif other.ended and latest is PENDING:
                    return
                elif not main.ready():
                    if main.exhausted:
                        return
                    yield PENDING
                elif latest is PENDING:
                    discard(run, (main.take(),))
                else:
                    unseen = False
                    yield main.take(), latest
        finally:
            run.ended.discard(subscriber)
            close_all((main, other))
            if unseen:
                discard(run, (latest,))
