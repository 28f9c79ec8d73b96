"""A pool of threads as an executor."""

from __future__ import annotations

import atexit
import itertools
import queue
import threading
import weakref
from collections import deque
from types import TracebackType
from typing import Final, TypeAlias

from penstock.runtime.arguments import require_int
from penstock.runtime.executor import Task, run_reporting, run_reporting_all

__all__ = ["ThreadPool"]

Tasks: TypeAlias = "queue.SimpleQueue[Task | None]"
Idle: TypeAlias = "deque[None]"


class ThreadPool:
    """Runs tasks on ``workers`` threads, started as they are needed.

    Use it in a ``with`` block, or call ``close``. What a task raises goes to the hook for
    undelivered errors. A pool that is forgotten ends its threads once they have run all tasks, and
    so does the end of the program.

    A task costs half of what it would in a ``concurrent.futures.ThreadPoolExecutor``, since nobody
    waits for its result.
    """

    def __init__(self, workers: int = 1, *, name: str = "penstock") -> None:
        self._name = name
        self._workers = require_int("ThreadPool", "workers", workers)
        self._tasks: Tasks = queue.SimpleQueue()
        self._idle: Idle = deque()
        self._threads: list[threading.Thread] = []
        self._numbers = itertools.count()
        self._closed = False
        # Entered again by the thread that holds it, when a signal handler uses the pool.
        self._lock = threading.RLock()
        weakref.finalize(self, dismiss, self._tasks, self._threads).atexit = False
        POOLS.add(self)

    def execute(self, task: Task) -> None:
        """Run ``task`` on one of the threads. ``RuntimeError`` once the pool is closed."""
        with self._lock:
            if self._closed:
                raise RuntimeError(f"{self!r} takes no more tasks: it is closed")
            self._provide_a_thread()
            self._tasks.put(task)

    def close(self, *, wait: bool = True) -> None:
        """Take no more tasks; with ``wait``, return once the accepted ones have run."""
        with self._lock:
            if not self._closed:
                self._closed = True
                dismiss(self._tasks, self._threads)
        if wait:
            for thread in self._threads:
                if thread.is_alive() and thread is not threading.current_thread():
                    thread.join()

    def _provide_a_thread(self) -> None:
        try:
            self._idle.pop()
        except IndexError:
            if len(self._threads) < self._workers:
                self._start_a_thread()

    def _start_a_thread(self) -> None:
        name = f"{self._name}_{next(self._numbers)}"
        work = (self._tasks, self._idle)
        # A daemon, since a forgotten pool must not keep the program alive; see ``close_all``.
        thread = threading.Thread(target=run_tasks, args=work, name=name, daemon=True)
        try:
            thread.start()
        except RuntimeError as error:  # the system has no thread to give
            if not self._threads:
                raise RuntimeError(f"{self!r} takes no tasks: {error}") from error
        else:
            self._threads.append(thread)

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"ThreadPool({self._name!r})"


def run_tasks(tasks: Tasks, idle: Idle) -> None:
    """What a thread does. It does not know its pool, which may be forgotten meanwhile."""
    while (task := tasks.get()) is not None:
        run_reporting_all(task)
        del task  # or it would live until the next one comes
        idle.append(None)


def dismiss(tasks: Tasks, threads: list[threading.Thread]) -> None:
    """Let each thread end after the tasks that were accepted."""
    for _ in threads:
        tasks.put(None)


POOLS: Final[weakref.WeakSet[ThreadPool]] = weakref.WeakSet()


@atexit.register
def close_all() -> None:
    """The program ends: run what was accepted. A pool that cannot be closed keeps no other open."""
    for pool in list(POOLS):
        run_reporting(pool.close)
