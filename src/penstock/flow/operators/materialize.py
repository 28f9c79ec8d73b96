"""Signals as elements, and back again: ``materialize``, ``dematerialize``."""

from __future__ import annotations

from typing import Any

from penstock.core import COMPLETED
from penstock.core.signals import OnComplete, OnError, OnNext
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, unclosed
from penstock.flow.engine.stage import EACH_ALONE, UNKNOWN, FusedStage, Stage
from penstock.flow.operators.error_handling import caught
from penstock.runtime import shorten

__all__ = ["Dematerialize", "Materialize"]


class Materialize(Stage):
    """Each signal as an element; the end as the last one."""

    rerun = UNKNOWN  # after a restart it would say again how it ended
    checked = True

    def __init__(self) -> None:
        super().__init__("materialize")

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """The last signal needs demand as any element does, and the end after it needs none."""
        ending: OnComplete | OnError = OnComplete()
        try:
            for x in unclosed(elements):
                yield x if x is PENDING else OnNext(x)
        except Exception as error:
            ending = OnError(caught(error))
        if run.over:
            return
        end = object()
        run.end_is_near(end, COMPLETED)
        try:
            yield ending
        finally:
            run.end_is_seen(end)
            del ending  # whose traceback may have this frame


class Dematerialize(FusedStage):
    """Signals that are elements become signals."""

    rerun = EACH_ALONE
    stops = True

    def __init__(self) -> None:
        super().__init__("dematerialize", values=(OnNext, OnComplete, error_in))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """One question for an element, more for what ends the stream."""
        next_signal, completion, error = values
        loop.line(f"if type(x) is not {next_signal}:")
        loop.line(f"if type(x) is {completion}: break", deeper=1)
        loop.line(f"raise {error}(x)", deeper=1)
        loop.become("x.element")


def error_in(signal: Any) -> Exception:
    """The error that ``signal`` is to end the stream with."""
    if isinstance(signal, OnError):
        return signal.error
    return TypeError(
        f"dematerialize needs elements that are OnNext, OnError or OnComplete, "
        f"not {shorten(signal)}"
    )
