"""When a shared run starts and stops."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from penstock.api import Publisher, Subscriber
from penstock.flow.multicast.broadcast import BroadcastState
from penstock.flow.multicast.grace_period import GracePeriod
from penstock.flow.multicast.replay_history import ReplayHistory
from penstock.flow.multicast.shared_run import SharedRun

__all__ = ["Sharing", "SharingOptions"]

T = TypeVar("T")


@dataclass(frozen=True)
class SharingOptions(Generic[T]):
    """How to share the runs of a publisher.

    ``name``    the operator, for error messages
    ``starts``  with how many subscribers a run starts; ``None`` for when ``connect`` is called
    ``grace``   makes what stops a run that has lost its last subscriber; ``None`` for nothing
    ``limit``   makes the error for a run that gives more than its history can hold
    """

    name: str
    source: Publisher[T]
    history: Callable[[], ReplayHistory]
    starts: int | None = None
    grace: Callable[[], GracePeriod] | None = None
    limit: Callable[[], Exception] | None = None


class Sharing(Generic[T]):
    """The current shared run. One that may stop with its last subscriber is followed by another."""

    def __init__(self, options: SharingOptions[T]) -> None:
        self.options = options
        self._lock = threading.RLock()  # held only to take, or replace, the run
        self._shared_run = self._new_run()

    @property
    def shared_run(self) -> SharedRun[T]:
        """The current run, or the last one."""
        return self._shared_run

    def like(self, **changes: Any) -> SharingOptions[T]:
        """Options for other runs of the same source."""
        return replace(self.options, **changes)

    def subscribe(self, subscriber: Subscriber[T]) -> None:
        """Add a subscriber to the current run, and start that with the last one it waits for."""
        run = self._joined_by(subscriber)
        starts = self.options.starts
        if starts is not None and len(run.subscriptions) >= starts:
            run.connect()

    def connect(self) -> SharedRun[T]:
        """Start the current run."""
        run = self._current()
        run.connect()
        return run

    def _joined_by(self, subscriber: Subscriber[T]) -> SharedRun[T]:
        while True:
            run = self._current()
            if self.options.grace is None:
                run.subscribe(subscriber)
                return run
            with run.keep_alive():  # it must not stop between the check and the subscription
                if run.state is BroadcastState.ACTIVE:
                    run.subscribe(subscriber)
                    return run

    def _current(self) -> SharedRun[T]:
        """The run that a newcomer joins."""
        with self._lock:
            run = self._shared_run
            if self.options.grace is not None and run.state is not BroadcastState.ACTIVE:
                run = self._shared_run = self._new_run()
            return run

    def _new_run(self) -> SharedRun[T]:
        options = self.options
        return SharedRun(
            options.name,
            options.source,
            options.history(),
            limit=None if options.limit is None else options.limit(),
            grace=None if options.grace is None else options.grace(),
        )
