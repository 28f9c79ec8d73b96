"""The tracer for a level on the running version of Python."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from types import ModuleType

from penstock.tck.explorer.tracing import Level, TracedSubject, Tracer

if sys.version_info >= (3, 12):
    from penstock.tck.explorer.monitoring import MonitoringTracer as TracerOfThisPython
else:
    from penstock.tck.explorer.settrace import SettraceTracer as TracerOfThisPython

__all__ = ["tracer_for"]


def tracer_for(level: Level, modules: Sequence[ModuleType]) -> Tracer:
    """Return the tracer of ``level`` for the subject's modules."""
    return Tracer() if level is Level.SYNC else TracerOfThisPython(TracedSubject(modules), level)
