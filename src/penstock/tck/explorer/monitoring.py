"""Tracing for Python 3.12 and later: `sys.monitoring` reports just the events that matter.

A C function's return is an event of its own here, and so are calls and jumps. Events are set for
the subject's code alone, when it is first entered.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, MethodType
from typing import Any, Self

from penstock.tck.explorer.tracing import (
    VISIBLE,
    Level,
    TracedSubject,
    Tracer,
    count_step,
    is_explorers,
    switch_point,
    visible_table,
)

assert sys.version_info >= (3, 12)

__all__ = ["MonitoringTracer"]

_EVENTS = sys.monitoring.events
# CALL is what makes C functions report their return.
_LOCAL_EVENTS = {
    Level.GIL: _EVENTS.PY_START | _EVENTS.PY_RESUME | _EVENTS.JUMP | _EVENTS.CALL,
    Level.VISIBLE: _EVENTS.INSTRUCTION,
}
_TOOL_IDS = (4, 3, 5, 1, 0, 2)


class MonitoringTracer(Tracer):
    """Registers callbacks for the whole process; threads outside the run ignore them."""

    def __init__(self, subject: TracedSubject, level: Level) -> None:
        self._subject = subject
        self._level = level
        self._tool = -1
        self._codes: dict[int, tuple[CodeType, bool]] = {}
        self._tables: dict[int, bytes] = {}

    def __enter__(self) -> Self:
        self._tool = _free_tool_id()
        sys.monitoring.use_tool_id(self._tool, "penstock explorer")
        for event, callback in self._callbacks().items():
            sys.monitoring.register_callback(self._tool, event, callback)
        sys.monitoring.set_events(self._tool, _EVENTS.PY_START)
        # Code that an earlier exploration was not interested in must report again.
        sys.monitoring.restart_events()
        return self

    def __exit__(self, *_: object) -> None:
        sys.monitoring.set_events(self._tool, _EVENTS.NO_EVENTS)
        for code, is_subject in self._codes.values():
            if is_subject:
                sys.monitoring.set_local_events(self._tool, code, _EVENTS.NO_EVENTS)
        for event in self._callbacks():
            sys.monitoring.register_callback(self._tool, event, None)
        sys.monitoring.free_tool_id(self._tool)

    def _callbacks(self) -> dict[int, Callable[..., Any]]:
        return {
            _EVENTS.PY_START: self._on_start,
            _EVENTS.PY_RESUME: self._on_resume,
            _EVENTS.JUMP: self._on_jump,
            _EVENTS.C_RETURN: self._on_return,
            _EVENTS.INSTRUCTION: self._on_instruction,
        }

    def _on_start(self, code: CodeType, offset: int) -> Any:
        frame = sys._getframe(1)
        if not self._is_subjects(frame):
            # What the subject calls is entered like its own functions. The rest can be silent.
            if self._level is not Level.GIL or is_explorers(code):
                return sys.monitoring.DISABLE
            if frame.f_back is None or not self._is_subjects(frame.f_back):
                return None
        if self._level is Level.GIL:
            switch_point((id(code), offset))
        return None

    def _is_subjects(self, frame: FrameType) -> bool:
        code = frame.f_code
        known = self._codes.get(id(code))
        if known is None:
            known = self._codes[id(code)] = code, self._subject.owns(frame)
            if known[1]:
                self._instrument(code, frame.f_globals)
        return known[1]

    def _instrument(self, code: CodeType, names: dict[str, Any]) -> None:
        if self._level is Level.VISIBLE:
            self._tables[id(code)] = visible_table(code, names)
        sys.monitoring.set_local_events(self._tool, code, _LOCAL_EVENTS[self._level])

    def _on_resume(self, code: CodeType, offset: int) -> None:
        switch_point((id(code), offset))

    def _on_jump(self, code: CodeType, offset: int, destination: int) -> None:
        if destination <= offset:
            switch_point((id(code), offset))

    def _on_return(self, code: CodeType, offset: int, called: object, _: object) -> None:
        # At the end of a with block the method of a primitive is called like a C function.
        if not (isinstance(called, MethodType) and is_explorers(called.__func__.__code__)):
            switch_point((id(code), offset))

    def _on_instruction(self, code: CodeType, offset: int) -> None:
        kind = self._tables[id(code)][offset]
        if kind == VISIBLE:
            switch_point((id(code), offset))
        elif kind:
            count_step()


def _free_tool_id() -> int:
    for tool in _TOOL_IDS:
        if sys.monitoring.get_tool(tool) is None:
            return tool
    raise RuntimeError("all tools of sys.monitoring are in use; exploring needs one")
