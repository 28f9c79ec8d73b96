"""Elements that a coroutine makes, within demand."""

from __future__ import annotations

from asyncio import CancelledError, Future, Task, sleep
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final, TypeAlias

from penstock.flow.elements import Elements, Host, PlainHost
from penstock.flow.event_loop import call_on, event_loop
from penstock.flow.intake import PREFETCH, Intake
from penstock.rules import cite
from penstock.runtime import report_undelivered

__all__ = ["Feed", "fed_by"]

TURN: Final = 256
"""So many elements are made before others get a turn on the loop."""

Feeding: TypeAlias = "Callable[[Feed], Awaitable[None]]"
"""A coroutine function that gives elements to a feed; one is wanted when it starts."""


def fed_by(
    coroutine: Feeding, operator: str, host: Host, each: int, prefetch: int = PREFETCH
) -> Elements:
    """The elements that ``coroutine`` makes, in a task on the loop of the run."""
    intake = Intake(host, each, prefetch)
    intake.on_subscribe(Feed(operator, coroutine, intake, host))
    return intake.elements()


class Feed:
    """The subscription to a coroutine, which starts with the first request.

    The coroutine counts what it gives, on the loop's thread; whoever requests counts that on
    another one, perhaps, and lets the coroutine go on where it waits.
    """

    def __init__(self, operator: str, coroutine: Feeding, intake: Intake, host: Host) -> None:
        self._coroutine = coroutine
        self._intake = intake
        self._host = host
        self._loop = event_loop(operator)
        self._task: Task[None] | None = None
        self._waiter: Future[None] | None = None
        self._cancelled = False
        self._requested = 0
        self._given = 0

    def request(self, n: int) -> None:
        """Let the coroutine go on for ``n`` more elements."""
        first = not self._requested
        self._requested += n
        if first or self._waiter is not None:
            try:
                call_on(self._loop, self._start if first else self._go_on)
            except RuntimeError as error:
                self._intake.on_error(error)

    def cancel(self) -> None:
        """Stop the coroutine where it is."""
        self._cancelled = True
        if self._requested:
            try:
                call_on(self._loop, self._stop)
            except RuntimeError:
                pass  # the loop is closed, so the coroutine does not go on

    def give(self, element: object) -> None:
        """Pass an element on; one must be wanted."""
        self._given += 1
        self._intake.on_next(element)

    async def give_all(self, elements: AsyncIterator[Any]) -> None:
        """Pass all elements on, and advance the iterator only when one is wanted."""
        async for element in elements:
            self.give(element)
            if self._given >= self._requested or self._cancelled:
                await self._more()
            elif self._given % TURN == 0:
                await sleep(0)

    async def _more(self) -> None:
        """Wait until another element is wanted; cancelled if that will never be."""
        self._waiter = self._loop.create_future()
        try:
            # Looked at again, now that others see that we wait.
            if self._given >= self._requested or self._cancelled:
                await self._waiter
        finally:
            self._waiter = None

    def _start(self) -> None:
        if not self._cancelled:
            self._task = self._loop.create_task(self._run())
            if isinstance(self._host, PlainHost):  # a subscriber does not wait
                self._host.leave_after(self._task)

    def _go_on(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            await self._coroutine(self)
        except CancelledError as error:
            if not self._cancelled:
                failure = RuntimeError("the task that made the elements was cancelled")
                failure.__cause__ = error
                self._intake.on_error(failure)
        except Exception as error:
            if self._cancelled:
                # 3.15: whoever cancelled must not suffer from a source that cannot be closed.
                report_undelivered(error, cite("3.15", "closing the source of a stream raised"))
            else:
                self._intake.on_error(error)
        else:
            self._intake.on_complete()
