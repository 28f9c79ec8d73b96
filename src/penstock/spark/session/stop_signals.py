"""Who is told that a service is to stop: the user's program, and none of Spark's processes.

A service manager signals all processes of a service at once, and a terminal all that belong to the
foreground. The user's program then drains, for which it needs Spark. So the processes of Spark do
not heed such a signal, and end when their parent does: the JVM when the pipe to its standard input
is closed, and the Python processes when the JVM hangs up.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from subprocess import Popen
from types import ModuleType, SimpleNamespace
from typing import Any, Final

from penstock.spark.private_api import jvm_started_by

__all__ = ["heard_by_children", "unheard_by_jvm", "unheard_here"]

STOP: Final = (signal.SIGTERM, signal.SIGINT)


@contextmanager
def unheard_by_jvm() -> Iterator[None]:
    """Let a JVM that pyspark starts meanwhile ignore the signals, from its very beginning.

    A JVM that is started with a signal ignored leaves it so, and so do those that it starts.
    """
    with jvm_started_by(started_deaf):
        yield


def started_deaf(
    command: Sequence[str], *, preexec_fn: Callable[[], object] | None = None, **options: Any
) -> Popen[bytes]:
    """Start a process that ignores the signals."""

    def prepare() -> None:
        if preexec_fn is not None:
            preexec_fn()
        for number in STOP:
            signal.signal(number, signal.SIG_IGN)

    # It takes no lock that another thread may hold.
    return Popen(command, preexec_fn=prepare, **options)  # noqa: PLW1509 - pyspark's own way


def unheard_here(module: ModuleType) -> None:
    """Do not heed the signals here, nor in processes forked from here, whatever ``module`` does.

    They are not ignored, since a program that a user's function starts would inherit that.
    """

    def set_handler(number: int, handler: Any) -> Any:
        return None if number in STOP else signal.signal(number, handler)

    vars(module)["signal"] = SimpleNamespace(**{**vars(signal), "signal": set_handler})
    for number in STOP:
        signal.signal(number, nothing)
        signal.siginterrupt(number, False)


def heard_by_children() -> None:
    """Let what is forked from this process heed the signals, as a user's function expects it."""
    # Held back meanwhile: one that came before the child heeds it would be lost.
    os.register_at_fork(before=hold_back, after_in_parent=let_through, after_in_child=heed)


def hold_back() -> None:
    """Let the signals wait."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOP)


def let_through() -> None:
    """Let them come."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)


def heed() -> None:
    """As in any new process."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    let_through()


def nothing(number: int, frame: object) -> None:
    """What a signal does that is not heeded."""
