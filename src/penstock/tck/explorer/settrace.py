"""Tracing for Python 3.11: `sys.settrace` reports every instruction of the subject."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Self

from penstock.tck.explorer import clocks
from penstock.tck.explorer.inlining import entered_from_c
from penstock.tck.explorer.opcodes import CALL, VISIBLE, switch_table, visible_table
from penstock.tck.explorer.tracing import (
    Level,
    TracedSubject,
    Tracer,
    count_step,
    is_explorers,
    switch_point,
)
from penstock.tck.explorer.untraced import untraced_operations

__all__ = ["SettraceTracer"]

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
