"""Upstream is subscribed to when something else has happened."""

from __future__ import annotations

from typing import Any

from penstock.api import Publisher
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.prefetch_subscriber import EagerSubscriber, subscribe
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, close, started
from penstock.flow.engine.stage import EACH_ALONE, Origin
from penstock.flow.operators.merge import take_signal, until_wanted

__all__ = ["DelaySubscription"]


class DelaySubscription(Origin):
    """The elements of upstream, which is opened when another publisher has given anything.

    An origin, and no stage, since upstream of a stage everything is open before that begins.
    """

    rerun = EACH_ALONE
    carries = True

    def __init__(self, upstream: BaseFlow[Any], signal: Publisher[Any]) -> None:
        super().__init__("delay_subscription")
        self.upstreams = (upstream,)
        self.inputs = (upstream, signal)
        self.executor = upstream.plan.origin.executor

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Subscribe to the signal at once, whether or not anything is wanted."""
        return started(self._opening(run, per_output))

    def _opening(self, run: RunContext, per_output: int) -> Elements:
        signal = EagerSubscriber(run, self.name, prefetch=1)
        elements: Elements = iter(())
        try:
            subscribe(signal, self.inputs[1])
            yield None
            while not signal.has_come():
                yield PENDING
            take_signal(signal, run)
            elements = opened(self.upstream, run, per_output, operator=self.name)
            yield from until_wanted(run)
            yield from elements
        finally:
            run.ended.discard(signal)
            signal.close()
            close(elements)
