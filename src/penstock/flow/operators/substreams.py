"""A flow of flows, made of the elements from upstream."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.call_site import Located
from penstock.flow.engine.run_context import Elements, RunContext, close, started
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.substream_router import Substream, SubstreamRouter

__all__ = ["FromSubstream", "SplitIntoSubstreams"]


class SplitIntoSubstreams(Origin):
    """A flow of flows, made of the elements from upstream."""

    checked = True

    def __init__(self, name: str, upstream: BaseFlow[Any], prefetch: int) -> None:
        super().__init__(name)
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor  # what follows runs where it ran
        self.prefetch = prefetch

    @abstractmethod
    def router(self, run: RunContext) -> SubstreamRouter:
        """What splits the elements of one run."""

    def flow_of(self, substream: Substream) -> Any:
        """``substream`` as a flow."""
        return BaseFlow._from(FromSubstream(self, substream))

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Start at the first pull, when the stages downstream are ready; it needs no demand."""
        return started(self._opened(run))

    def _opened(self, run: RunContext) -> Elements:
        router = self.router(run)
        elements = router.outer.elements(run)
        run.ended.add(router)  # so that the run pulls without demand
        try:
            yield None
            run.ended.discard(router)
            router.wake()
            yield from elements
        finally:
            run.ended.discard(router)
            close(elements)


class FromSubstream(Origin):
    """The elements of a substream, for one reader."""

    checked = True

    def __init__(self, operator: Located, substream: Substream) -> None:
        self.name = operator.name
        self.site = operator.site  # and not the line that happened to pull
        self._substream = substream

    def open(self, run: RunContext, per_output: int) -> Elements:
        """Read it, unless it has a reader already."""
        return self._substream.elements(run)
