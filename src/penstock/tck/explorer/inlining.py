"""Whether CPython 3.11 entered a Python function directly or by way of C.

The interpreter runs a call from Python to Python without leaving its loop, and does not check for
other threads when such a call returns. When C code lies between, as for a class, a callable
object, ``functools.partial`` or the key of ``sorted``, it does check. Only the interpreter's own
frame knows the difference; Python 3.12 and later report it by `sys.monitoring`.
"""

from __future__ import annotations

import ctypes
import sys
from types import FrameType

__all__ = ["entered_from_c"]

# PyFrameObject: the object's head, f_back, then the pointer to the interpreter's frame.
_INTERPRETER_FRAME = object.__basicsize__ + ctypes.sizeof(ctypes.c_void_p)
# _PyInterpreterFrame: eight pointers and an int, then the flag that C entered it.
_IS_ENTRY = 8 * ctypes.sizeof(ctypes.c_void_p) + ctypes.sizeof(ctypes.c_int)


def entered_from_c(frame: FrameType) -> bool:
    """Say whether C code called the function of ``frame``, which must be running."""
    return _IS_READABLE and _is_entry(frame)


def _is_entry(frame: FrameType) -> bool:
    address = ctypes.c_void_p.from_address(id(frame) + _INTERPRETER_FRAME).value
    return address is not None and ctypes.c_bool.from_address(address + _IS_ENTRY).value


def _is_readable() -> bool:
    """Check the layout above against two calls whose answers are known."""
    if sys.implementation.name != "cpython" or sys.version_info[:2] != (3, 11):
        return False
    if hasattr(sys, "gettotalrefcount"):  # a debug build has larger objects
        return False

    def probe(_: object = None) -> bool:
        return _is_entry(sys._getframe())

    directly = probe()
    by_way_of_c = min(map(probe, (None,)))
    return by_way_of_c and not directly


_IS_READABLE = _is_readable()
