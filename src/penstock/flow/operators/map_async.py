"""Calls that are awaited, some of them at once."""

from __future__ import annotations

import inspect
from asyncio import CancelledError, Task
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any, Final

from penstock.core import COMPLETED
from penstock.flow.engine.event_loop import call_on, event_loop
from penstock.flow.engine.run_context import PENDING, Elements, RunContext, WaitState, discard
from penstock.flow.engine.stage import BY_TIME, IN_ORDER, Stage
from penstock.runtime import report_undelivered, shorten

__all__ = ["MapAsync"]

END: Final = object()


class MapAsync(Stage):
    """The results of a coroutine function, at most ``concurrency`` of them awaited at once.

    The function is called, and awaited, in tasks on the thread of the run's asyncio loop.
    """

    waits = True

    def __init__(
        self, function: Callable[[Any], Awaitable[Any]], concurrency: int, *, ordered: bool
    ) -> None:
        super().__init__("map_async")
        self._function = function
        self._concurrency = concurrency
        self._ordered = ordered
        self.rerun = IN_ORDER if ordered else BY_TIME

    def transform(self, elements: Elements, run: RunContext) -> Elements:
        """Keep calls going, and give what they return."""
        calls = PendingCalls(self._call, run, self.name, ordered=self._ordered)
        try:
            while True:
                self._start_calls(calls, elements)
                if calls.ready:
                    yield calls.result()
                elif calls.going or calls.ending is None:
                    yield PENDING
                elif calls.ending is COMPLETED:
                    return
                else:
                    raise calls.ending
        finally:
            calls.close()

    def _start_calls(self, calls: PendingCalls, elements: Elements) -> None:
        while calls.open and len(calls.going) < self._concurrency:
            try:
                element = next(elements, END)
            except Exception as error:
                calls.end(error)  # after the results of what came before it
                return
            if element is PENDING:
                return
            if element is END:
                calls.end(COMPLETED)
            else:
                calls.start(element)

    async def _call(self, element: Any) -> Any:
        awaitable = self._function(element)
        if not inspect.isawaitable(awaitable):
            raise TypeError(
                f"map_async: the function returned {shorten(awaitable)}, which cannot be awaited; "
                "use map for a function that is no coroutine function"
            )
        return await awaitable


class PendingCall:
    """An element, and what comes of it."""

    __slots__ = ("done", "element", "error", "result", "task")

    def __init__(self, element: Any) -> None:
        self.element = element
        self.task: Task[Any] | None = None
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None


class PendingCalls:
    """The calls of one run whose results are not delivered yet.

    They begin and end on the loop's thread; all else happens on the thread that pulls the run.

    ``going``   all of them
    ``line``    those that are to be delivered, in that order
    ``ending``  how upstream ended, or ``None``
    ``failed``  whether one of them raised
    """

    def __init__(
        self,
        call: Callable[[Any], Coroutine[Any, Any, Any]],
        run: RunContext,
        operator: str,
        *,
        ordered: bool,
    ) -> None:
        self._call = call
        self._run = run
        self._loop = event_loop(operator)
        self._ordered = ordered
        self._closed = False
        self.going: set[PendingCall] = set()
        self.line: deque[PendingCall] = deque()
        self.ending: Exception | None = None
        self.failed = False
        run.waiting_at[self] = operator

    def wait_state(self, operator: str | None) -> WaitState:
        """How many calls go on, and how many results are there."""
        done = sum(call.done for call in self.line.copy())
        calls = len(self.going) - done
        return WaitState(
            operator, f"waits for {calls} of its calls", buffered=done, ended=not calls
        )

    @property
    def open(self) -> bool:
        """Whether another call may be started."""
        return self.ending is None and not self.failed

    def start(self, element: Any) -> None:
        """Start a call with ``element``."""
        call = PendingCall(element)
        self.going.add(call)
        if self._ordered:
            self.line.append(call)
        call_on(self._loop, partial(self._begin, call))

    def end(self, ending: Exception) -> None:
        """No more elements come."""
        self.ending = ending
        self._run.end_is_near(self, ending)

    @property
    def ready(self) -> bool:
        """Whether the next result is there."""
        return bool(self.line) and self.line[0].done

    def result(self) -> Any:
        """The next result; raises what the call raised."""
        call = self.line.popleft()
        self.going.discard(call)
        if call.error is not None:
            raise call.error
        return call.result

    def close(self) -> None:
        """The run is over: cancel the calls that still go on."""
        self._closed = True
        self.ending = None  # an error refers to the frame that refers to this object
        self._run.end_is_seen(self)
        self._run.waiting_at.pop(self, None)
        for call in self.going:
            if not call.done:
                discard(self._run, (call.element,))
            elif call.error is None:
                discard(self._run, (call.result,))
            else:
                report_late(call.error)
        if self.going:
            try:
                call_on(self._loop, self._cancel)
            except RuntimeError:
                pass  # the loop is closed, so none of them goes on

    # On the loop's thread.

    def _begin(self, call: PendingCall) -> None:
        if not self._closed:
            call.task = self._loop.create_task(self._call(call.element))
            call.task.add_done_callback(partial(self._done, call))

    def _done(self, call: PendingCall, task: Task[Any]) -> None:
        if task.cancelled():
            call.error = None if self._closed else cancelled_elsewhere()
        else:
            call.error = task.exception()
            call.result = None if call.error is not None else task.result()
        call.task = None
        if self._closed:
            if call.error is not None:
                report_late(call.error)
            return
        self.failed = self.failed or call.error is not None
        call.done = True
        if not self._ordered:
            self.line.append(call)
        self._run.wake()

    def _cancel(self) -> None:
        for call in self.going:
            if call.task is not None:
                call.task.cancel()
                self._run.leave_after(call.task)
        self.going.clear()


def cancelled_elsewhere() -> RuntimeError:
    """The error of a call that was cancelled by other code than the flow."""
    error = RuntimeError("map_async: a call was cancelled, and not by the flow")
    error.__cause__ = CancelledError()
    return error


def report_late(error: BaseException) -> None:
    """Tell the hook of an error that nobody is there to receive; an interrupt was raised before."""
    if isinstance(error, Exception):
        report_undelivered(error, "a call of map_async failed after the stream was over")
