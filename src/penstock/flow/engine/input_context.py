"""The context of one input of a stage: it tells what fails there from what fails elsewhere.

All stages of a run see the same ``ended``, which is enough to look for the end of the flow. A stage
with several inputs also has to know in which of them an error has come, so that it reads that one
ahead and no other. So each input that may wait is opened within a context of its own. What fails
there has failed in those around it, too, up to the run.
"""

from __future__ import annotations

from asyncio import Future
from typing import Any

from penstock.api import UNBOUNDED
from penstock.flow.engine.run_context import RunContext

__all__ = ["InputContext", "UnboundedContext"]


class InputContext(RunContext):
    """A run as one of the inputs of its stages sees it.

    ``failed``, ``sized`` and ``opening`` are its own. All else is that of the run.

    ``woken``  whether what was pending may be there, since somebody has noted that it is not
    """

    __slots__ = (
        "_around", "_demand", "_whole", "discards", "ended", "failed", "opening",
        "prepared", "sized", "waiting_at", "woken",
    )  # fmt: skip

    def __init__(self, around: RunContext) -> None:
        self.woken = True
        self._around = around
        self._whole = around.whole
        self._demand: RunContext = around._demand if isinstance(around, InputContext) else around
        self.ended = around.ended
        self.failed = NestedSet()
        self.failed.around = around.failed
        self.discards = around.discards
        self.waiting_at = around.waiting_at
        self.opening = around.opening
        self.prepared = None
        self.sized = None

    @property
    def whole(self) -> RunContext:
        """The run."""
        return self._whole

    @property
    def over(self) -> bool:
        """Whether nobody wants anything of the run any more."""
        return self._whole.over

    @over.setter
    def over(self, over: bool) -> None:
        self._whole.over = over

    @property
    def wanted(self) -> int:
        """How many elements are wanted at the end of the flow, or by a stage on the way to it."""
        return self._demand.wanted

    def wake(self) -> None:
        """Pull the run again, and this input."""
        self.woken = True  # first: the run may look before this returns
        self._around.wake()

    def leave_after(self, task: Future[Any]) -> None:
        """Anybody who waits for the end of the run waits for ``task``, too."""
        self._whole.leave_after(task)


class UnboundedContext(InputContext):
    """A run as those see it that are upstream of a stage which takes whatever comes.

    From the first element on that is wanted of the run, all are wanted of them.
    """

    __slots__ = ("_begun",)

    def __init__(self, around: RunContext) -> None:
        super().__init__(around)
        self.prepared = around.prepared
        self._demand = self  # for the inputs within
        self._begun = False

    @property
    def wanted(self) -> int:
        """All, once something was wanted."""
        self._begun = self._begun or self._around.wanted > 0
        return UNBOUNDED if self._begun else 0


class NestedSet(set[object]):
    """A set whose elements are also in the one ``around`` it."""

    __slots__ = ("around",)

    around: set[object]

    def add(self, element: object) -> None:
        """Add it here, and then to those around: once the run sees it, so does the input."""
        super().add(element)
        self.around.add(element)

    def discard(self, element: object) -> None:
        """Discard it from those around, and then here."""
        self.around.discard(element)
        super().discard(element)
