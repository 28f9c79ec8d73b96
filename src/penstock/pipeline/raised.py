"""What a sink raises, as the error that ends its pipeline."""

from __future__ import annotations

import threading

__all__ = ["SinkExited", "as_error"]


class SinkExited(Exception):
    """A sink has raised what is no ``Exception``, such as ``SystemExit``; that is the cause."""


def as_error(raised: BaseException) -> Exception:
    """What ends the pipeline; a Ctrl-C in the main thread is no fault of a sink, and goes on."""
    if isinstance(raised, Exception):
        return raised
    in_main = threading.current_thread() is threading.main_thread()
    if isinstance(raised, KeyboardInterrupt) and in_main:
        raise raised
    error = SinkExited(f"it raised {raised!r}")
    error.__cause__ = raised
    return error
