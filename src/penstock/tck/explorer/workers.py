"""The system threads of an exploration, on one core: each serves one task after the other.

Only one of them runs at any time, and waking a thread on another core takes several times as long.

To start a thread takes several times as long as to wake one. A thread that has served must look
like a new one to the next task, so it forgets its thread-local data, its context and its hooks. It
returns to the others only when its run is over, and never when an exception was sent into it. On
Python 3.13 thread-local data cannot be forgotten, so that each thread serves but once there.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import sys
import threading
import time
from collections.abc import Callable
from contextvars import Context
from typing import Any, Self, cast

__all__ = [
    "OneCore",
    "Worker",
    "Workers",
]


def _find_core_query() -> Callable[[], Any] | None:
    if not hasattr(os, "sched_setaffinity"):
        return None
    try:
        return ctypes.CDLL(None).sched_getcpu
    except (AttributeError, OSError, TypeError):
        return None


_this_core = _find_core_query()


class OneCore:
    """The core of an exploration: speed only, and nothing at all where the system has no say."""

    def __init__(self) -> None:
        self.number = -1
        self._allowed: set[int] = set()

    def __enter__(self) -> Self:
        if _this_core is not None:
            self._allowed = os.sched_getaffinity(0)
            self.choose()
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Let the system move the calling thread to a core that is idle."""
        _bind(self._allowed)

    def choose(self) -> None:
        """Stay on the core that the calling thread runs on."""
        if _this_core is not None:
            self.number = _this_core()
            _bind({self.number})

    def join(self) -> None:
        """Bring the calling thread to the chosen core."""
        _bind({self.number} & self._allowed)


def _bind(cores: set[int]) -> None:
    if cores:
        try:
            os.sched_setaffinity(0, cores)
        except OSError:
            pass  # the system may not allow it


_EXIT_PATIENCE = 0.2

# Taken before any exploration replaces them.
_monotonic = time.monotonic
_sleep = time.sleep
_start_new_thread = _thread.start_new_thread

_state_of_this_thread: Any = ctypes.pythonapi.PyThreadState_GetDict
_state_of_this_thread.restype = ctypes.c_void_p
_mark = threading.local()


class Worker:
    """A system thread that waits for something to do."""

    def __init__(self, core: OneCore) -> None:
        self.is_as_new = False
        """Whether nothing is left of the task that it served last."""
        self._core = core
        self._number = -1
        self._job: tuple[Callable[[], None], _thread.LockType] | None = None
        self._call = _thread.allocate_lock()
        self._call.acquire()
        self.ident = _start_new_thread(self._serve, ())

    def start(self, body: Callable[[], None], ended: _thread.LockType) -> None:
        """Run ``body`` and then release ``ended``."""
        self._job = body, ended
        self._call.release()

    def dismiss(self) -> None:
        """End the thread, which waits."""
        self._call.release()

    def _serve(self) -> None:
        while self._serve_once():
            pass

    def _serve_once(self) -> bool:
        self._call.acquire()
        job, self._job = self._job, None
        if job is None:
            return False
        if self._number != self._core.number:
            self._core.join()
            self._number = self._core.number
        body, ended = job
        try:
            Context().run(body)
        finally:
            del body, job
            _forget_hooks()
            self.is_as_new = _forget_local_data()
            ended.release()
        return self.is_as_new


class Workers:
    """All threads of one exploration."""

    def __init__(self, core: OneCore) -> None:
        self._core = core
        self._idle: list[Worker] = []
        self._leaving: set[int] = set()

    def hire(self) -> Worker:
        """Return a thread that is free; raises `RuntimeError` when the system has none."""
        return self._idle.pop() if self._idle else Worker(self._core)

    def take_back(self, worker: Worker, intact: bool) -> None:
        """Keep a thread whose task has ended, if it is as good as new."""
        if intact and worker.is_as_new:
            self._idle.append(worker)
        else:
            self._leaving.add(worker.ident)
            if worker.is_as_new:
                worker.dismiss()

    def close(self) -> None:
        """End all threads, and give them a moment to leave the interpreter."""
        while self._idle:
            self.take_back(self._idle.pop(), intact=False)
        limit = _monotonic() + _EXIT_PATIENCE
        while self._leaving & sys._current_frames().keys() and _monotonic() < limit:
            _sleep(0.0005)


def _forget_hooks() -> None:
    """Drop the functions that the calling thread calls now and then."""
    sys.settrace(None)
    sys.setprofile(None)
    sys.set_asyncgen_hooks(None, None)


def _forget_local_data() -> bool:
    """Drop what the calling thread keeps in objects of `threading.local`; say if that worked."""
    _mark.is_used = True
    address = _state_of_this_thread()
    state = cast("dict[Any, Any]", ctypes.cast(address, ctypes.py_object).value)
    for key in [key for key in state if isinstance(key, str) and key.startswith("thread.local.")]:
        del state[key]
    return not hasattr(_mark, "is_used")
