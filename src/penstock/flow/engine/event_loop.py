"""The asyncio loop of a run: the one that runs where the run is opened, or where it began.

Stages may be pulled on other threads than the one that subscribed, so a run remembers its loop in
its context variables. A thread that waits for a flow lends it a loop of its own, once one is asked
for, see ``blocking.py``.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, _get_running_loop
from collections.abc import Callable
from contextvars import Context, ContextVar
from threading import get_ident
from typing import Final, TypeAlias
from weakref import WeakKeyDictionary

__all__ = ["call_on", "event_loop", "lend", "remember_running_loop", "run_at_times", "running_loop"]

Lender: TypeAlias = Callable[[], AbstractEventLoop]

LENDER: Final[ContextVar[Lender | None]] = ContextVar("the loop of a flow", default=None)

threads: Final[WeakKeyDictionary[AbstractEventLoop, int]] = WeakKeyDictionary()
"""Of loops that run at times: the thread that does so, and may touch them between two times."""


def running_loop() -> AbstractEventLoop | None:
    """The loop that runs on this thread."""
    return _get_running_loop()


def remember_running_loop(context: Context) -> None:
    """Let a run with ``context`` find the loop of this thread, wherever it is pulled."""
    loop = running_loop()
    if loop is not None:
        lend(context, lambda: loop)


def lend(context: Context, lender: Lender) -> None:
    """Let a run with ``context`` use the loop that ``lender`` gives; it may be called anywhere."""
    context.run(LENDER.set, lender)


def event_loop(operator: str) -> AbstractEventLoop:
    """The loop for the coroutines of ``operator``, which is being opened."""
    loop = running_loop()
    if loop is not None:
        return loop
    lender = LENDER.get()
    if lender is None:
        raise RuntimeError(
            f"{operator} needs an asyncio loop, and none runs where the flow was subscribed to: "
            "subscribe within a coroutine, `await` the flow, or use run_sync() or blocking()"
        )
    return lender()


def run_at_times(loop: AbstractEventLoop) -> None:
    """Run a loop until it is stopped; no other thread than this one runs it."""
    threads[loop] = get_ident()
    loop.run_forever()


def may_touch(loop: AbstractEventLoop) -> bool:
    """Whether it is this thread that runs ``loop`` at times, and does not do so now."""
    mine = threads.get(loop) == get_ident()
    return mine and not loop.is_running() and not loop.is_closed()


def call_on(loop: AbstractEventLoop, function: Callable[[], object]) -> None:
    """Call ``function`` on the thread of ``loop``: at once if that is this one, else soon.

    In both cases it has the context variables of this call.
    """
    if running_loop() is loop or may_touch(loop):
        function()
        return
    try:
        loop.call_soon_threadsafe(function)
    except RuntimeError as error:
        raise RuntimeError(f"the asyncio loop takes no more work: {error}") from error
