"""Asyncio loops that a run leaves behind: what becomes of their tasks is no fault of anybody."""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any

from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.task import current_task

__all__ = ["quiet_after_its_run"]


def quiet_after_its_run(real_init: Callable[..., None]) -> Callable[..., None]:
    """Return an ``__init__`` of loops that report nothing once their run is over.

    A run that is over unwinds its threads. So tasks are left where they stand, or have failed with
    what unwound them; asyncio would write a message about each of them, at any time later.
    """

    def init(self: AbstractEventLoop, *arguments: Any, **options: Any) -> None:
        real_init(self, *arguments, **options)
        task = current_task()
        if task is not None:
            self.set_exception_handler(reporting_during(task.run))

    return init


def reporting_during(run: ScheduledRun) -> Callable[[AbstractEventLoop, dict[str, Any]], object]:
    """Return a handler that does as usual until ``run`` is over."""

    def report(loop: AbstractEventLoop, context: dict[str, Any]) -> None:
        if not run.aborting:
            loop.default_exception_handler(context)

    return report
