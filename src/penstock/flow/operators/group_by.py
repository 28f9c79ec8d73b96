"""Elements by their keys, and what makes a flow of flows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable
from typing import TYPE_CHECKING, Any

from penstock.flow.base_flow import BaseFlow
from penstock.flow.engine.call_site import Located
from penstock.flow.engine.run_context import Elements, RunContext, close, started
from penstock.flow.engine.stage import Origin
from penstock.flow.operators.substream_router import Substream, SubstreamRouter
from penstock.runtime import shorten

if TYPE_CHECKING:
    from penstock.flow.flow import GroupedFlow

__all__ = [
    "FromSubstream",
    "GroupBy",
    "SplitIntoSubstreams",
]


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


class GroupBy(SplitIntoSubstreams):
    """A flow for each key.

    The key function runs where the router pulls, on one thread at a time.
    """

    def __init__(
        self,
        upstream: BaseFlow[Any],
        key: Callable[[Any], Hashable],
        most: int,
        prefetch: int,
        kind: type[GroupedFlow[Any, Any]],
    ) -> None:
        super().__init__("group_by", upstream, prefetch)
        self.key = key
        self.most = most
        self._kind = kind

    def router(self, run: RunContext) -> SubstreamRouter:
        """What sorts the elements by their keys."""
        return Grouping(self, run)

    def flow_of(self, substream: Substream) -> GroupedFlow[Any, Any]:
        """A group, which knows its key."""
        return self._kind(FromSubstream(self, substream), substream.key)


class Grouping(SubstreamRouter):
    """Puts an element into the substream of its key. Calls the key function within its drain.

    One whose key has no substream waits for room to open one, as long as a reader may still make
    it: any may leave at an element that it has not taken yet.
    """

    def __init__(self, part: GroupBy, run: RunContext) -> None:
        super().__init__(part, run)
        self._key_of = part.key
        self._most = part.most
        self._groups: dict[Hashable, Substream] = {}
        self._newcomer: tuple[Hashable, Any] | None = None

    def _open_substreams(self) -> Collection[Substream]:
        return self._groups.values()

    def _forget(self, substream: Substream) -> None:
        if self._groups.get(substream.key) is substream:
            del self._groups[substream.key]

    def _end(self) -> None:
        self._groups.clear()
        if self._newcomer is not None:
            _, element = self._newcomer
            self._newcomer = None
            self._lose(element)

    def _route(self, element: Any) -> None:
        try:
            key = self._key_of(element)
            group = self._groups.get(key)
        except Exception:
            self._lose(element)
            raise
        if group is not None:
            group.put(element)
        else:
            self._newcomer = key, element
            self.held_up = True  # before checking readers, so that none of them starves unseen

    def _check_events(self) -> None:
        if self._newcomer is None:
            return
        key, element = self._newcomer
        if len(self._groups) >= self._most and not self._outer_left:
            self._require_hope_for(key)
            return
        self._newcomer = None
        self.held_up = False
        if self._outer_left:
            self._lose(element)  # nobody would read the group that it opens
        else:
            group = self._groups[key] = Substream(self, key)
            group.put(element)
            self.outer.put(group)

    def _require_hope_for(self, key: Hashable) -> None:
        """``RuntimeError`` if no group can end by what it has been given."""
        readers = [group for group in self._groups.values() if group.is_read] or [self.outer]
        if all(reader.starves for reader in readers):
            raise RuntimeError(
                f"group_by: {self._most} groups are open, which is max_groups, and the key "
                f"{shorten(key)} has none. Raise max_groups, and the concurrency of a flat_map "
                "downstream; or use a key with fewer values; or let groups end, for example by "
                "take or timeout: a key that comes again opens a new group"
            )
