"""Elements by their keys."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable
from typing import TYPE_CHECKING, Any

from penstock.demand import shorten
from penstock.flow.elements import Host
from penstock.flow.fluent import Fluent
from penstock.flow.operators.branches import Branch, Router
from penstock.flow.operators.splitting import FromBranch, Splitting

if TYPE_CHECKING:
    from penstock.flow.grouped_flow import GroupedFlow

__all__ = ["GroupBy"]


class GroupBy(Splitting):
    """A flow for each key."""

    def __init__(
        self,
        upstream: Fluent[Any],
        key: Callable[[Any], Hashable],
        most: int,
        prefetch: int,
        kind: type[GroupedFlow[Any, Any]],
    ) -> None:
        super().__init__("group_by", upstream, prefetch)
        self.key = key
        self.most = most
        self._kind = kind

    def router(self, host: Host) -> Router:
        """Look up each element's key."""
        return Grouping(self, host)

    def flow_of(self, branch: Branch) -> GroupedFlow[Any, Any]:
        """A group, which knows its key."""
        return self._kind(FromBranch(self, branch), branch.key)


class Grouping(Router):
    """Puts an element into the branch of its key.

    One whose key has no branch waits for room to open one, as long as a reader may still make it:
    any may leave at an element that it has not taken yet.
    """

    def __init__(self, part: GroupBy, host: Host) -> None:
        super().__init__(part, host)
        self._key_of = part.key
        self._most = part.most
        self._groups: dict[Hashable, Branch] = {}
        self._newcomer: tuple[Hashable, Any] | None = None

    def _open_branches(self) -> Collection[Branch]:
        return self._groups.values()

    def _forget(self, branch: Branch) -> None:
        if self._groups.get(branch.key) is branch:
            del self._groups[branch.key]

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
            self.held_up = True  # before looking at readers, so that none of them starves unseen

    def _look_around(self) -> None:
        if self._newcomer is None:
            return
        key, element = self._newcomer
        if len(self._groups) >= self._most and not self._trunk_left:
            self._require_hope_for(key)
            return
        self._newcomer = None
        self.held_up = False
        if self._trunk_left:
            self._lose(element)  # nobody would read the group that it opens
        else:
            group = self._groups[key] = Branch(self, key)
            group.put(element)
            self.trunk.put(group)

    def _require_hope_for(self, key: Hashable) -> None:
        """``RuntimeError`` if no group can end by what it has been given."""
        readers = [group for group in self._groups.values() if group.is_read] or [self.trunk]
        if all(reader.starves for reader in readers):
            raise RuntimeError(
                f"group_by: {self._most} groups are open, which is max_groups, and the key "
                f"{shorten(key)} has none. Raise max_groups, and the concurrency of a flat_map "
                "behind it; or use a key with fewer values; or let groups end, for example by "
                "take or timeout: a key that comes again opens a new group"
            )
