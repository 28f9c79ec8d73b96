"""A flow of flows, made of the elements of the flow in front."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from penstock.flow.elements import Elements, Host, close, started
from penstock.flow.fluent import Fluent
from penstock.flow.operators.branches import Branch, Router
from penstock.flow.site import Located
from penstock.flow.stage import Origin

__all__ = ["FromBranch", "Splitting"]


class Splitting(Origin):
    """A flow of flows, made of the elements of the flow in front."""

    checked = True

    def __init__(self, name: str, upstream: Fluent[Any], prefetch: int) -> None:
        super().__init__(name)
        self.upstream = upstream
        self.executor = upstream.plan.origin.executor  # what follows runs where it ran
        self.prefetch = prefetch

    @abstractmethod
    def router(self, host: Host) -> Router:
        """What splits the elements of one run."""

    def flow_of(self, branch: Branch) -> Any:
        """``branch`` as a flow."""
        return Fluent._from(FromBranch(self, branch))

    def open(self, host: Host, each: int) -> Elements:
        """Start at the first pull, when the stages behind are ready; it needs no demand."""
        return started(self._opened(host))

    def _opened(self, host: Host) -> Elements:
        router = self.router(host)
        elements = router.trunk.elements(host)
        host.ended.add(router)  # so that the host pulls without demand
        try:
            yield None
            host.ended.discard(router)
            router.wake()
            yield from elements
        finally:
            host.ended.discard(router)
            close(elements)


class FromBranch(Origin):
    """The elements of a branch, for one reader."""

    checked = True

    def __init__(self, operator: Located, branch: Branch) -> None:
        self.name = operator.name
        self.site = operator.site  # and not the line that happened to pull
        self._branch = branch

    def open(self, host: Host, each: int) -> Elements:
        """Read it, unless somebody else does."""
        return self._branch.elements(host)
