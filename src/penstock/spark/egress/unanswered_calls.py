"""Calls of Spark's that this program has not answered; none is left when Python ends.

Such a call waits for rows from the JVM, which ends with this program. A thread that comes back from
there into a Python that is ending would complain, and from within C++ abort the process.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from penstock.spark.private_api import own_jvm

__all__ = ["unanswered_call"]

PATIENCE: Final = 10.0
"""Seconds for the JVM to end in good order, which removes its temporary files."""

_calls: Final[set[threading.Event]] = set()


@contextmanager
def unanswered_call() -> Iterator[None]:
    """For as long as it takes to answer, on the thread that was called."""
    call = threading.Event()
    _calls.add(call)
    try:
        yield
    finally:
        _calls.discard(call)
        call.set()


@atexit.register
def await_answers() -> None:
    """Let the JVM end first, if there is a call: then that one fails, while Python still runs."""
    jvm = own_jvm() if _calls else None
    if jvm is None or jvm.stdin is None:
        return
    jvm.stdin.close()  # as it would with Python
    if not all(call.wait(PATIENCE) for call in list(_calls)):
        jvm.kill()
        for call in list(_calls):
            call.wait(PATIENCE)
