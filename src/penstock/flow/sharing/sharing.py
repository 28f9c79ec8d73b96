"""When a shared run starts and stops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from penstock.api import Publisher, Subscriber
from penstock.flow.sharing.grace import Grace
from penstock.flow.sharing.history import History
from penstock.flow.sharing.hub import Hub
from penstock.reference import BroadcastState

__all__ = ["Recipe", "Sharing"]

T = TypeVar("T")


@dataclass(frozen=True)
class Recipe(Generic[T]):
    """How to share the runs of a publisher.

    ``name``    the operator, for error messages
    ``starts``  with how many subscribers a run starts; ``None`` for when somebody says so
    ``grace``   makes what stops a run that has lost its last subscriber; ``None`` for nothing
    ``limit``   makes the error for a run that gives more than its history can hold
    """

    name: str
    source: Publisher[T]
    history: Callable[[], History]
    starts: int | None = None
    grace: Callable[[], Grace] | None = None
    limit: Callable[[], Exception] | None = None


class Sharing(Generic[T]):
    """The current run of a recipe. A run that may stop by itself is followed by another one."""

    def __init__(self, recipe: Recipe[T]) -> None:
        self.recipe = recipe
        self._lock = threading.RLock()  # held only to take, or replace, the hub
        self._hub = self._new_hub()

    @property
    def hub(self) -> Hub[T]:
        """The current run, or the last one."""
        return self._hub

    def like(self, **changes: Any) -> Recipe[T]:
        """A recipe for other runs of the same source."""
        return replace(self.recipe, **changes)

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Add a subscriber to the current run, and start that with the last one it waits for."""
        hub = self._joined_by(subscriber)
        starts = self.recipe.starts
        if starts is not None and len(hub.members) >= starts:
            hub.connect()

    def connect(self) -> Hub[T]:
        """Start the current run."""
        hub = self._current()
        hub.connect()
        return hub

    def _joined_by(self, subscriber: Subscriber[T]) -> Hub[T]:
        while True:
            hub = self._current()
            if self.recipe.grace is None:
                hub.subscribe(subscriber)
                return hub
            with hub.keep_alive():  # it must not stop between the question and the answer
                if hub.state is BroadcastState.ACTIVE:
                    hub.subscribe(subscriber)
                    return hub

    def _current(self) -> Hub[T]:
        """The run that a newcomer joins."""
        with self._lock:
            if self.recipe.grace is not None and self._hub.state is not BroadcastState.ACTIVE:
                self._hub = self._new_hub()
            return self._hub

    def _new_hub(self) -> Hub[T]:
        recipe = self.recipe
        return Hub(
            recipe.name,
            recipe.source,
            recipe.history(),
            limit=None if recipe.limit is None else recipe.limit(),
            grace=None if recipe.grace is None else recipe.grace(),
        )
