"""Real threads for tests: started together, waited for, and none of their errors lost."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

LIMIT = 60.0
"""Seconds after which a test gives up; only a test that fails ever waits so long."""


def run_together(*calls: Callable[[], object]) -> None:
    """Make each call on a thread of its own, all at once; raises what one of them raises."""
    start = threading.Barrier(len(calls))

    def run(call: Callable[[], object]) -> None:
        start.wait(LIMIT)
        call()

    with ThreadPoolExecutor(len(calls)) as threads:
        for future in [threads.submit(run, call) for call in calls]:
            future.result(LIMIT)


@contextmanager
def running(call: Callable[[], object]) -> Iterator[None]:
    """Make a call on another thread for the time of a block, and wait for it at the end."""
    with ThreadPoolExecutor(1) as threads:
        future = threads.submit(call)
        yield
        future.result(LIMIT)


@contextmanager
def frequent_switches() -> Iterator[None]:
    """Let the interpreter switch threads as often as it can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)
