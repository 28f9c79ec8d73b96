"""The threads of the bridge, which wait in Java and have to be back before Python ends."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Final

import jpype

from penstock.runtime import report_undelivered

__all__ = ["start_thread"]

_FAREWELL: Final = 20.0
"""Seconds that the threads get to end when the program does; they need them on a busy machine."""

_threads: Final[set[threading.Thread]] = set()
_exits: Final[dict[threading.Thread, Callable[[], object]]] = {}
"""What makes a thread come back from Java."""


def start_thread(name: str, run: Callable[[], object], leave: Callable[[], object]) -> None:
    """Start a thread; ``leave`` makes it come back from Java when the program ends."""
    thread = threading.Thread(
        target=_run_to_the_end, args=([run],), name=f"penstock bridge {name}", daemon=True
    )
    _threads.add(thread)
    _exits[thread] = leave
    try:
        thread.start()
    except RuntimeError:
        _threads.discard(thread)
        del _exits[thread]
        raise


def _run_to_the_end(work: list[Callable[[], object]]) -> None:
    thread = threading.current_thread()
    try:
        _run_reporting(work.pop())
    finally:
        del _exits[thread]
        # The JVM does not notice on its own. All objects of Java have to be released by now: to
        # release one later would attach the thread again.
        jpype.java.lang.Thread.detach()
        _threads.discard(thread)


def _run_reporting(run: Callable[[], object]) -> None:
    try:
        run()
    except BaseException as error:
        report_undelivered(error, "a thread of the bridge to the JVM failed")


@atexit.register
def _leave_all() -> None:
    """A thread that comes back from Java when Python is gone would end the process with a bang."""
    for leave in list(_exits.values()):
        leave()
    end = time.monotonic() + _FAREWELL
    for thread in list(_threads):
        thread.join(max(end - time.monotonic(), 0.0))
