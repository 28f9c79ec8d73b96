"""Errors with nowhere to go: one hook for all of them, so that none is lost in silence.

A subscriber that raises cannot be told of its own error (rule 2.13), a ``close`` that fails after
a cancel has no listener left, a task of a pool has no caller. Each such error reaches the hook
exactly once. By default it is logged to the logger ``penstock``; it never ends the process.
"""

from __future__ import annotations

import logging
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, TypeAlias

__all__ = [
    "Undelivered",
    "collect_undelivered",
    "report_undelivered",
    "set_undelivered_hook",
    "stream_title",
]

logger = logging.getLogger("penstock")

stream_title: Final[ContextVar[str]] = ContextVar("the name of the stream", default="")
"""What the user calls the stream that runs here; errors with nowhere to go say it."""


@dataclass(frozen=True, slots=True)
class Undelivered:
    """An error that nobody is there to receive, and what happened in one sentence."""

    error: BaseException
    what: str

    def __str__(self) -> str:
        first_line = str(self.error).partition("\n")[0]
        return f"{self.what}: {type(self.error).__name__}: {first_line}"


Hook: TypeAlias = Callable[[Undelivered], None]


def log(undelivered: Undelivered) -> None:
    """The default hook: one record of level ERROR with the traceback."""
    logger.error("%s", undelivered, exc_info=undelivered.error)


_hook: Hook = log
_replacing = threading.Lock()


def set_undelivered_hook(hook: Hook | None) -> Hook:
    """Send errors with nowhere to go to ``hook``; ``None`` restores the log. Returns the old one.

    The hook is called on the thread where the error arose and should return soon. An exception
    that it raises is logged together with the error that it was given.
    """
    global _hook
    if hook is not None and not callable(hook):
        raise TypeError(f"the hook must be callable or None, not {type(hook).__name__}")
    with _replacing:
        previous, _hook = _hook, log if hook is None else hook
    return previous


@contextmanager
def collect_undelivered() -> Iterator[list[Undelivered]]:
    """Collect instead of logging, for tests: ``with collect_undelivered() as lost: ...``."""
    collected: list[Undelivered] = []
    previous = set_undelivered_hook(collected.append)
    try:
        yield collected
    finally:
        set_undelivered_hook(previous)


def report_undelivered(error: BaseException, what: str) -> None:
    """Hand an error to the hook. Never raises an ``Exception``."""
    title = stream_title.get()
    undelivered = Undelivered(error, f"{what}, in the flow {title}" if title else what)
    try:
        _hook(undelivered)
    except Exception as failure:
        _log_or_print(Undelivered(failure, "the hook for undelivered errors raised"))
        _log_or_print(undelivered)


def _log_or_print(undelivered: Undelivered) -> None:
    try:
        log(undelivered)
    except Exception:  # not even the log works
        traceback.print_exception(undelivered.error)
