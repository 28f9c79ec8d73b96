"""A thread for a call that may never return, and that is ended then if there is a way."""

from __future__ import annotations

import _thread
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import NoReturn

from penstock.tck.explorer.trail import locate_thread
from penstock.tck.explorer.watchdog import interrupt
from penstock.tck.stillness import POLL, Stopwatch

__all__ = ["DisposableThread"]

_WAIT = threading.Condition.wait.__code__


class _Disposed(BaseException):
    """Unwinds a thread whose call is not awaited any more."""


class _Parked(_Disposed):
    """Sent into a thread that swallows everything: it may stay, but must not run on."""

    def __init__(self) -> None:
        _park()


_FORCES = ((_Disposed, 0.05), (_Disposed, 0.2), (_Disposed, 1.0), (_Parked, 0.05))
"""What is sent into a thread, and the seconds that it may take to unwind, on a busy machine."""


class DisposableThread:
    """Runs ``body`` on a daemon thread."""

    def __init__(self, body: Callable[[], object], name: str) -> None:
        self._body = body
        self._ended = _locked()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def returns_within(self, seconds: float) -> bool:
        """Wait for the end of ``body``."""
        stopwatch = Stopwatch()
        while self._thread.is_alive() and stopwatch.elapsed() < seconds:
            self._thread.join(POLL)
        return not self._thread.is_alive()

    @property
    def ident(self) -> int:
        """The identity of the thread, which was started."""
        return self._thread.ident or 0

    @property
    def place(self) -> str:
        """Where the thread is now, in the user's code."""
        return locate_thread(self.ident)

    def end(self) -> bool:
        """Unwind the thread, wherever it is; say if it has ended.

        A thread that executes Python code is ended, and so is one that waits for a condition, an
        event, a semaphore, a future or a queue. Nothing ends one that waits in a function of C,
        such as a lock, a socket or a sleep.
        """
        for error, seconds in _FORCES:
            if not self._thread.is_alive() or self._is_ended_by(error, seconds):
                self._thread.join()  # it has nothing left to do
                return True
        return False

    def _is_ended_by(self, error: type[BaseException], seconds: float) -> bool:
        waiter = _waiter_of(self.ident)
        wake = waiter.release if waiter is not None else None
        return interrupt(self.ident, error, partial(self._ended.acquire, timeout=seconds), wake)

    def _run(self) -> None:
        try:
            self._body()
        except _Disposed:
            pass
        finally:
            self._ended.release()


def _waiter_of(ident: int) -> _thread.LockType | None:
    """Return the lock by which `threading` makes one thread wait that waits for a condition."""
    frame = sys._current_frames().get(ident)
    if frame is None or frame.f_code is not _WAIT:
        return None
    waiter: _thread.LockType | None = frame.f_locals.get("waiter")
    return waiter


def _park() -> NoReturn:
    while True:
        _locked().acquire()


def _locked() -> _thread.LockType:
    lock = _thread.allocate_lock()
    lock.acquire()
    return lock
