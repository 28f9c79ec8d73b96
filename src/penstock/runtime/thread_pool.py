"""A pool of threads as an executor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import TracebackType

from penstock.runtime.executor import Task, run_reporting_all
from penstock.runtime.options import require_count

__all__ = ["ThreadPool"]


class ThreadPool:
    """Runs tasks on ``workers`` threads, started as they are needed.

    Use it in a ``with`` block, or call ``close``. What a task raises goes to the hook for
    undelivered errors.
    """

    def __init__(self, workers: int = 1, *, name: str = "penstock") -> None:
        self._name = name
        self._pool = ThreadPoolExecutor(require_count("workers", workers), thread_name_prefix=name)

    def execute(self, task: Task) -> None:
        """Run ``task`` on one of the threads. ``RuntimeError`` once the pool is closed."""
        try:
            self._pool.submit(run_reporting_all, task)
        except RuntimeError as error:
            raise RuntimeError(f"{self!r} takes no more tasks: {error}") from error

    def close(self, *, wait: bool = True) -> None:
        """Take no more tasks; with ``wait``, return once the accepted ones have run."""
        self._pool.shutdown(wait=wait)

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
