"""Elements up to a signal of another publisher."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.core import COMPLETED
from penstock.flow.engine.prefetch_subscriber import EagerSubscriber, subscribe
from penstock.flow.engine.run_context import Elements, RunContext, close, started
from penstock.flow.engine.stage import EACH_ALONE, Stage

__all__ = ["TakeUntil"]


class TakeUntil(Stage):
    """The elements that come before another publisher gives anything, even if only its end."""

    rerun = EACH_ALONE
    waits = True

    def __init__(self, publisher: Publisher[Any]) -> None:
        super().__init__("take_until")
        self._publisher = publisher
        self.inputs = (publisher,)

    def apply(self, elements: Elements, run: RunContext) -> Elements:
        """Subscribe to the other publisher at once."""
        return started(self.transform(elements, run))

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Check after each element whether it is over."""
        signal = EagerSubscriber(run, self.name, prefetch=1)
        try:
            subscribe(signal, self._publisher)
            yield None
            if not signal.has_come():
                for x in elements:
                    yield x
                    if signal.has_come():
                        break
            if signal.ending not in (None, COMPLETED):
                raise signal.hand_over_error()
        finally:
            run.ended.discard(signal)
            signal.close()
            close(elements)
