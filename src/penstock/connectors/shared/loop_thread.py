"""An asyncio loop on its own thread."""

from __future__ import annotations

import os
import threading
from asyncio import AbstractEventLoop, Runner, new_event_loop, run_coroutine_threadsafe
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from typing import Any, Final, TypeVar

from penstock.flow.engine.event_loop import event_loop, lend

__all__ = ["LoopThread", "where_a_loop_is"]

T = TypeVar("T")


class LoopThread:
    """A loop that runs until it is closed, on a thread that does not keep the program alive."""

    def __init__(self, name: str) -> None:
        self._runner = Runner(loop_factory=new_event_loop)  # sets no loop for this thread
        self.loop: AbstractEventLoop = self._runner.get_loop()
        self._thread = threading.Thread(target=self._serve, name=name, daemon=True)
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run ``coroutine`` there, and wait for its result."""
        if threading.current_thread() is self._thread:
            coroutine.close()
            raise RuntimeError("a loop cannot wait for itself: call this from another thread")
        return run_coroutine_threadsafe(coroutine, self.loop).result()

    def close(self) -> None:
        """Cancel all that still runs there, and end the thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()

    def _serve(self) -> None:
        with self._runner:
            self.loop.run_forever()


def where_a_loop_is(connector: str, function: Callable[[], T]) -> T:
    """Call ``function`` where it finds an asyncio loop: that of the run, or else one of ours.

    So a connector also works for a subscriber on a thread that has nothing to do with asyncio.
    """
    try:
        event_loop(connector)
    except RuntimeError:
        context = copy_context()
        lend(context, shared_loop_thread)
        return context.run(function)
    return function()


_making: Final = threading.RLock()
_shared: Final[list[LoopThread]] = []

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_shared.clear)  # threads are not forked


def shared_loop_thread() -> AbstractEventLoop:
    """The loop of all sources whose subscribers have none."""
    with _making:
        if not _shared:
            _shared.append(LoopThread("penstock-network"))
        return _shared[0].loop
