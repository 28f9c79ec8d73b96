"""Elements at which a function fails, left out and reported: ``on_error_continue``."""

from __future__ import annotations

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from penstock.flow.base_flow import BaseFlow, stages_of
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.plan import AnyStage
from penstock.flow.engine.stage import EACH_ALONE, FusedStage
from penstock.flow.operators.error_handling import caught
from penstock.flow.operators.transforming import FunctionStage
from penstock.runtime.arguments import ErrorKinds

__all__ = ["OnErrorContinue", "require_covered"]

COVERED = "do_on_next, filter, map or map_not_none"


class OnErrorContinue(FusedStage):
    """An element at which one of the stages before it fails is reported, and goes no further.

    Calls the function that it reports to on the thread that pulls the run.
    """

    rerun = EACH_ALONE

    def __init__(
        self, report: Callable[[Any, Exception], object], only: ErrorKinds, covers: int
    ) -> None:
        super().__init__("on_error_continue", str(covers), (report, only, caught))
        self.covers = covers

    def generate(self, loop: LoopCode, *values: str) -> None:
        """What the stages that it covers wrote is within ``try``."""
        report, only, as_caught = values
        attempted = loop.end_attempt(only)
        loop.line(f"{report}({attempted}, {as_caught}(error))", deeper=1)
        # Whoever keeps the error keeps this frame, by way of that of the function.
        loop.line(f"x = {attempted} = None", deeper=1)
        loop.drop(deeper=1)


def require_covered(flow: BaseFlow[Any]) -> int:
    """How many stages at the end of ``flow`` are covered; ``ValueError`` if none has a function."""
    stages = stages_of(flow)
    covered = list(takewhile(leaves_nothing, reversed(stages)))
    if not any(isinstance(stage, FunctionStage) for stage in covered):
        last = stages[-len(covered) - 1] if len(stages) > len(covered) else flow.plan.origin
        raise ValueError(
            f"on_error_continue goes directly downstream of {COVERED}, whose function may fail, "
            f"not of {last.name}, assembled at {last.site}"
        )
    return len(covered)


def leaves_nothing(stage: AnyStage) -> bool:
    """Whether ``stage`` remembers nothing of an element at which it, or a later one, fails."""
    return isinstance(stage, FusedStage) and stage.forgets
