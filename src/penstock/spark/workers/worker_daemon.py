"""The process from which Spark forks its Python workers: that of pyspark, with four changes.

For each task Spark sends a worker two small messages, and its system holds the second one back
until that of the worker has acknowledged the first. That one waits for 40 ms in case the worker
answers, which it does not. Here it is told not to wait. Sockets in a folder, which an embedded
Spark has where it can, do not wait anyway.

After each task a worker looks for garbage, among all that it has ever imported, for 25 ms. Here
what was imported for the first task is left out.

Told to stop, as all processes of a service are at once, the workers would die while the user's
program drains. Here they do not heed that, and end when the JVM hangs up; see ``stop_signals.py``.

A worker to which the JVM hangs up would print a traceback. Here it just ends, also one that Spark
asks about a source and does not wait for.
"""

from __future__ import annotations

import gc
import io
import os
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from typing import Any, Final

from penstock.spark.private_api import worker_daemon, worker_main, wrap_worker_main
from penstock.spark.session.stop_signals import heard_by_children, unheard_here

__all__ = ["PromptReceipts", "worker"]

TASKS: Final = "pyspark.worker"
QUICKACK: Final[int | None] = getattr(socket, "TCP_QUICKACK", None)  # Linux has it
daemon: Final = worker_daemon()
run_task: Final = daemon.worker


class PromptReceipts(io.RawIOBase):
    """What comes by a connection, each part of which is acknowledged at once."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection
        self._option = None if connection.family == socket.AF_UNIX else QUICKACK

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Wait for the next part."""
        size = self._connection.recv_into(buffer)
        if self._option is not None:
            self._connection.setsockopt(socket.IPPROTO_TCP, self._option, 1)
        return size


def worker(connection: socket.socket, authenticated: bool) -> int:
    """What pyspark calls for each task, or question, in a process of its own."""
    if sys.argv[1:] in ([], [TASKS]):
        wrap_worker_main(partial(read_promptly, connection, main_of_pyspark()))
    with ending_without_jvm():
        code: int = run_task(connection, authenticated)
    keep_what_was_imported()
    return code


@cache
def keep_what_was_imported() -> None:
    """After the first task, once in each worker: there is no garbage in it."""
    gc.collect()
    gc.freeze()


@cache
def main_of_pyspark() -> Callable[[Any, Any], None]:
    """Only after the fork, since it may start threads; called once in each worker."""
    heard_by_children()
    return worker_main()


def read_promptly(
    connection: socket.socket, main: Callable[[Any, Any], None], stream: Any, out: Any
) -> None:
    """Run a task; ``stream``, from which nothing was read ahead, is replaced."""
    with ending_without_jvm():
        try:
            main(io.BufferedReader(PromptReceipts(connection), io.DEFAULT_BUFFER_SIZE * 8), out)
        finally:
            out.flush()


@contextmanager
def ending_without_jvm() -> Iterator[None]:
    """End this process if the JVM hangs up: there is nobody left to be told.

    What a user's function raises is sent to the JVM, and never comes here.
    """
    try:
        yield
    except (EOFError, ConnectionError):
        os._exit(0)


if __name__ == "__main__":
    unheard_here(daemon)
    vars(daemon)["worker"] = worker
    daemon.manager()
