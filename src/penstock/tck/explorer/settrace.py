"""Tracing for Python 3.11: `sys.settrace` reports every instruction of the subject.

The interpreter runs a call from Python to Python without leaving its loop, and does not check for
other threads when such a call returns. When C code lies between, as for a class, a callable
object, ``functools.partial`` or the key of ``sorted``, it does check. Only the interpreter's own
frame knows the difference; Python 3.12 and later report it by `sys.monitoring`.

With a trace function set, CPython 3.11 reports every function that is entered and takes a slower
way through every instruction, also in code that nobody wants to trace. Most of that is the code of
the explorer. `sys.monitoring`, which later versions have, does not need this.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any, Self

from penstock.tck.explorer import clocks, threads
from penstock.tck.explorer.environment import Environment
from penstock.tck.explorer.locks import Condition, Lock, RLock
from penstock.tck.explorer.primitives import Event, Semaphore, SimpleQueue
from penstock.tck.explorer.tracing import (
    CALL,
    VISIBLE,
    Level,
    TracedSubject,
    Tracer,
    count_step,
    is_explorers,
    switch_point,
    switch_table,
    visible_table,
)

__all__ = ["SettraceTracer"]

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


# None of these may call code of the subject, such as a predicate or a method that it overrides.
_OPERATIONS: Mapping[Any, tuple[str, ...]] = {
    Lock: ("__enter__", "acquire", "release", "locked"),
    RLock: ("__enter__", "acquire", "release"),
    Condition: ("wait", "notify"),
    Event: ("is_set", "set", "clear", "wait"),
    Semaphore: ("__enter__", "acquire", "release"),
    SimpleQueue: ("put", "get", "empty", "qsize"),
    threads: ("_init", "_start", "_join"),
    Environment: ("par", "settle", "advance"),
}


@contextmanager
def untraced_operations() -> Iterator[None]:
    """Within the block, no trace function sees what happens inside the explorer's operations."""
    traced = [
        (owner, name, vars(owner)[name]) for owner, names in _OPERATIONS.items() for name in names
    ]
    for owner, name, operation in traced:
        setattr(owner, name, _untraced(operation))
    try:
        yield
    finally:
        for owner, name, operation in traced:
            setattr(owner, name, operation)


def _untraced(operation: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(operation)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        trace = sys.gettrace()
        if trace is None or getattr(self, "calls_subject", False):
            return operation(self, *arguments, **options)
        sys.settrace(None)
        try:
            return operation(self, *arguments, **options)
        finally:
            sys.settrace(trace)

    return call


_ANYWHERE = sys.maxsize

_TraceFunction = Callable[[FrameType, str, Any], Any]


class SettraceTracer(Tracer):
    """Sets a trace function in each thread of a run."""

    def __init__(self, subject: TracedSubject, level: Level) -> None:
        self._trace = _GilTrace(subject) if level is Level.GIL else _VisibleTrace(subject)
        self._untraced = untraced_operations()

    def __enter__(self) -> Self:
        self._untraced.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        self._untraced.__exit__(*error)

    def begin(self) -> None:
        self._trace.begin()

    def attach(self) -> None:
        sys.settrace(self._trace.on_call)

    def detach(self) -> None:
        sys.settrace(None)


class _Known:
    """What is known about a code object that was entered."""

    __slots__ = ("_code", "_is_clock", "is_explorers", "trace")

    def __init__(self, code: CodeType, trace: _TraceFunction | None) -> None:
        self._code = code
        self._is_clock = code.co_filename == clocks.__file__
        self.trace = trace
        self.is_explorers = is_explorers(code)

    def counts_as_c(self, frame: FrameType) -> bool:
        """Say whether the end of the call is the end of a C call to the caller."""
        return self._is_clock or (not self.is_explorers and entered_from_c(frame))


class _Trace:
    """Finds the trace function for the body of each function that is entered."""

    def __init__(self, subject: TracedSubject) -> None:
        self._subject = subject
        self._known: dict[int, _Known] = {}

    def begin(self) -> None:
        """Prepare for a new run."""

    def on_call(self, frame: FrameType, event: str, _: Any) -> _TraceFunction | None:
        """Serve as the global trace function."""
        known = self._known.get(id(frame.f_code)) or self._meet(frame)
        if known.trace is not None:
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
        return known.trace

    def _meet(self, frame: FrameType) -> _Known:
        code = frame.f_code
        trace = self._local_trace(frame) if self._subject.owns(frame) else None
        known = self._known[id(code)] = _Known(code, trace)
        return known

    def _local_trace(self, frame: FrameType) -> _TraceFunction:
        raise NotImplementedError


class _GilTrace(_Trace):
    """Switches on entry, on arrival of a back jump, and after calls of C functions."""

    def __init__(self, subject: TracedSubject) -> None:
        super().__init__(subject)
        # By frame: up to which offset its next instruction is a place to switch.
        self._pending: dict[int, int] = {}

    def begin(self) -> None:
        self._pending.clear()

    def on_call(self, frame: FrameType, event: str, _: Any) -> _TraceFunction | None:
        known = self._known.get(id(frame.f_code)) or self._meet(frame)
        if self._pending:
            if not known.counts_as_c(frame):
                self._forget_call(frame.f_back)
        elif known.is_explorers:
            return None  # most calls that come here
        if known.trace is not None:
            frame.f_trace_opcodes = True
            frame.f_trace_lines = False
            switch_point(id(frame.f_code))
        elif not known.is_explorers and self._is_subjects(frame.f_back):
            switch_point(id(frame.f_code))
        return known.trace

    def _forget_call(self, caller: FrameType | None) -> None:
        if self._pending.get(id(caller)) == _ANYWHERE:
            del self._pending[id(caller)]

    def _is_subjects(self, frame: FrameType | None) -> bool:
        known = None if frame is None else self._known.get(id(frame.f_code))
        return known is not None and known.trace is not None

    def _local_trace(self, frame: FrameType) -> _TraceFunction:
        table = switch_table(frame.f_code)
        number = len(self._known)
        pending = self._pending

        def trace(frame: FrameType, event: str, _: Any) -> _TraceFunction:
            if event == "opcode":
                offset = frame.f_lasti
                if pending and pending.pop(id(frame), -1) >= offset:
                    switch_point((number, offset))
                kind = table[offset]
                if kind:
                    pending[id(frame)] = _ANYWHERE if kind == CALL else offset
            elif event == "exception":
                # A call that raises does not pass the place where CPython switches.
                pending.pop(id(frame), None)
            return trace

        return trace


class _VisibleTrace(_Trace):
    """Switches before every visible instruction."""

    def _local_trace(self, frame: FrameType) -> _TraceFunction:
        table = visible_table(frame.f_code, frame.f_globals)
        number = len(self._known)

        def trace(frame: FrameType, event: str, _: Any) -> _TraceFunction:
            if event == "opcode":
                kind = table[frame.f_lasti]
                if kind == VISIBLE:
                    switch_point((number, frame.f_lasti))
                elif kind:
                    count_step()
            return trace

        return trace
