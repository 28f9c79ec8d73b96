"""Running a flow in a task of an asyncio loop."""

from __future__ import annotations

from asyncio import AbstractEventLoop, CancelledError, Future, get_running_loop, sleep, wait
from collections.abc import AsyncGenerator
from functools import partial
from itertools import islice
from time import monotonic
from types import TracebackType
from typing import Any, Final, Protocol

from penstock.api import Publisher
from penstock.core import without_own_frames
from penstock.flow.engine.blocking import pulled_by
from penstock.flow.engine.call_site import with_note
from penstock.flow.engine.event_loop import call_on
from penstock.flow.engine.prefetch_subscriber import PREFETCH
from penstock.flow.engine.run_context import PENDING, PullingContext, close
from penstock.flow.engine.stage import Origin
from penstock.runtime import shorten

__all__ = ["awaited", "elements_of"]

TURN: Final = 256
"""So many elements are given before others get a turn on the loop."""


class AwaitedSource(Protocol):
    """What a task awaits itself when an element is pending, instead of being woken."""

    async def advance(self) -> None:
        """Wait for the next element, or the end."""

    async def aclose(self) -> None:
        """The run is over: wait until the source is closed."""


class AwaitingContext(PullingContext):
    """A task, as the run of all stages: it is suspended where something is pending.

    The run lasts as long as the ``async with`` block.
    """

    __slots__ = ("_awaited", "_guard", "_waiter", "_woken", "elements")

    def __init__(
        self,
        flow: Publisher[Any],
        wanted: int,
        *,
        prefetch: int | None = PREFETCH,
        may_pause: bool,
    ) -> None:
        super().__init__(wanted, "the task that awaits it", may_pause=may_pause)
        self._loop: AbstractEventLoop = get_running_loop()
        self._waiter: Future[None] | None = None
        self._woken = False
        self._awaited: AwaitedSource | None = None
        self._guard: Future[None] | None = None
        self.elements = pulled_by(self, flow, prefetch)

    async def __aenter__(self) -> AwaitingContext:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if isinstance(error, Exception):
            without_own_frames(with_note(error))
        self.over = True
        close(self.elements)
        guarded = self._guard is not None and isinstance(error, CancelledError)
        if self._awaited is not None and not guarded:
            await self._awaited.aclose()
        if self._guard is not None:
            self._guard.cancel()  # which closes what is still open
        while self.tasks:
            await wait(self.tasks)

    def waits_only_for(self, origin: Origin) -> bool:
        """Whether nothing but ``origin`` can be pending in this run."""
        return self.plan is not None and self.plan.waits_only_for(origin)

    def wait_for(self, source: AwaitedSource) -> None:
        """Await ``source`` whenever an element is pending: nothing else can be."""
        self._awaited = source
        if self.may_pause:
            self._guard = self._loop.create_task(guard(source))
            self.leave_after(self._guard)

    def wake(self) -> None:
        """Let the task go on."""
        self._woken = True
        waiter = self._waiter
        if waiter is not None:
            try:
                call_on(self._loop, partial(release, waiter))
            except RuntimeError:
                pass  # the loop is closed, so the task that waited is gone, too

    async def woken(self) -> None:
        """Wait until what was pending may be there."""
        if self._awaited is not None:
            self.waits_since = monotonic()
            await self._awaited.advance()
            self.waits_since = None
            return
        if not self._woken:
            self._waiter = self._loop.create_future()
            self.waits_since = monotonic()
            try:
                if not self._woken:  # looked at again, now that others see that we wait
                    await self._waiter
            finally:
                self._waiter = self.waits_since = None
        self._woken = False


async def guard(source: AwaitedSource) -> None:
    """Close ``source`` once this task is cancelled, by the run or by a loop that is shut down.

    An iteration that is left by ``break`` is closed by a task of the loop, and not even that if the
    loop is about to end: it cancels all tasks, and what such a task was closing with it.
    """
    try:
        await get_running_loop().create_future()
    finally:
        await source.aclose()


def release(waiter: Future[None]) -> None:
    """Resume the task that awaits ``waiter``."""
    if not waiter.done():
        waiter.set_result(None)


async def elements_of(
    flow: Publisher[Any], prefetch: int | None = None
) -> AsyncGenerator[Any, None]:
    """The elements of a run of its own; closing this iterator cancels the run."""
    wanted = prefetch or PREFETCH
    async with AwaitingContext(flow, wanted, prefetch=prefetch, may_pause=True) as run:
        goes_on = True
        while goes_on:
            goes_on = False
            for element in islice(run.elements, TURN):
                goes_on = True
                if element is PENDING:
                    await run.woken()
                else:
                    yield element
            await sleep(0)


async def awaited(flow: Publisher[Any]) -> Any:
    """The only element of a flow, or ``None``."""
    result = None
    async with AwaitingContext(flow, wanted=2, may_pause=False) as run:
        for element in run.elements:
            if element is PENDING:
                await run.woken()
            elif result is None:
                result = element
            else:
                raise ValueError(
                    "an awaited flow gives one element, and this one gave a second, "
                    f"{shorten(element)}: await flow.last(), flow.first() or flow.to_list()"
                )
    return result
