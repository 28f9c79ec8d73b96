"""Raises an exception in another thread, and leaves no trace of it if the thread does not end."""

from __future__ import annotations

import ctypes
from _thread import get_ident
from collections.abc import Callable
from typing import Any

__all__ = ["interrupt"]

_SOME_INSTRUCTIONS = 1000

_set_exception: Any = ctypes.pythonapi.PyThreadState_SetAsyncExc


class _Received(BaseException):
    """Sent by a thread to itself."""


def interrupt(
    ident: int,
    error: type[BaseException],
    has_ended: Callable[[], object],
    wake: Callable[[], object] | None = None,
) -> bool:
    """Raise ``error`` in a thread as soon as it executes Python code; say if that ended it.

    ``has_ended`` waits for a while; ``wake`` ends what the thread waits for. While an exception
    is on its way to some thread, CPython 3.11 checks for it whenever a traced function is entered,
    in any thread, and never gets on. So both must be functions of C, no Python function is called
    here until the exception is delivered or taken back, and the mark that it leaves is wiped
    out by receiving one.
    """
    target, me = ctypes.c_ulong(ident), ctypes.c_ulong(get_ident())
    try:
        _set_exception(target, ctypes.py_object(error))
        try:
            if wake is not None:
                wake()
        except RuntimeError:
            pass  # it was woken in the meantime
        if has_ended():
            return True
        _set_exception(target, ctypes.py_object())
        _set_exception(me, ctypes.py_object(_Received))
        for _ in range(_SOME_INSTRUCTIONS):
            pass
    except _Received:
        pass
    return False
