"""Running a flow on the thread that wants its elements."""

from __future__ import annotations

import threading
from asyncio import AbstractEventLoop, Runner, new_event_loop, wait
from collections.abc import Generator, Iterator
from contextvars import copy_context
from time import monotonic
from types import TracebackType
from typing import Any, Final, Generic, TypeVar

from penstock.api import UNBOUNDED, Publisher
from penstock.core import without_own_frames
from penstock.flow.base_flow import BaseFlow, opened
from penstock.flow.engine.call_site import with_note
from penstock.flow.engine.event_loop import lend, run_at_times, running_loop
from penstock.flow.engine.fusion import FusedOutput
from penstock.flow.engine.prefetch_subscriber import PREFETCH, crossing_to, subscribe
from penstock.flow.engine.run_context import PENDING, Elements, PullingContext, close

__all__ = ["Blocking", "pulled_by", "result_of"]

T_co = TypeVar("T_co", covariant=True)

END: Final = object()


class BlockingContext(PullingContext):
    """The thread that calls, as the run of all stages: it waits where something is pending.

    It lends them an event loop if they ask for one, and runs it while it waits.
    """

    __slots__ = ("_instead", "_lending", "_method", "_runner", "_woken")

    def __init__(self, wanted: int, method: str, instead: str, *, may_pause: bool) -> None:
        super().__init__(wanted, method, may_pause=may_pause)
        self._method = method
        self._instead = instead
        self._woken = threading.Event()
        self._lending = threading.Lock()
        self._runner: Runner | None = None

    def wake(self) -> None:
        """Let the thread go on."""
        self._woken.set()
        loop = self._loop
        if running_loop() is loop:
            self._leave_loop()
        elif loop is not None:
            try:
                loop.call_soon_threadsafe(self._leave_loop)
            except RuntimeError:
                pass  # the run is over, and the loop is closed

    def _leave_loop(self) -> None:
        if self._loop is not None and not self.over:  # else the loop runs for what is being closed
            self._loop.stop()

    def lend_loop(self) -> AbstractEventLoop:
        """A loop that runs whenever this thread waits. May be called from any thread."""
        with self._lending:
            if self._loop is None:
                self._runner = Runner(loop_factory=new_event_loop)
                self._loop = self._runner.get_loop()
                self._woken.set()  # it may wait already, without the loop
            return self._loop

    def elements_of(self, flow: BaseFlow[Any], prefetch: int | None = None) -> Elements:
        """The elements of a flow, without any that is pending."""
        elements: Elements = iter(())
        try:
            elements = pulled_by(self, flow, prefetch)
            for element in elements:
                if element is PENDING:
                    self._wait()
                else:
                    yield element
        except Exception as error:
            without_own_frames(with_note(error))
            raise
        finally:
            self.over = True
            try:
                close(elements)
            finally:
                self._settle()

    def _wait(self) -> None:
        self._refuse_to_block_a_loop()
        self.waits_since = monotonic()
        while not self._woken.is_set():
            if self._loop is None:
                self._woken.wait()
            else:
                run_at_times(self._loop)
        self.waits_since = None
        self._woken.clear()

    def _refuse_to_block_a_loop(self) -> None:
        if running_loop() is not None:
            raise RuntimeError(
                f"{self._method} would block the asyncio loop that runs on this thread; "
                f"use {self._instead}"
            )

    def _settle(self) -> None:
        """Wait for what still has to be closed on the loop, then close the loop."""
        runner, loop = self._runner, self._loop
        if runner is None or loop is None:
            return
        try:
            while self.tasks:
                loop.run_until_complete(wait(tuple(self.tasks)))  # which may end before it starts
        finally:
            runner.close()


def pulled_by(
    run: PullingContext, publisher: Publisher[Any], prefetch: int | None = PREFETCH
) -> Elements:
    """The elements of a publisher for a run that pulls, and cancels, on one thread.

    Those of a flow with its own executor are made ahead: without ``prefetch``, as many as keep both
    threads at work.
    """
    if isinstance(publisher, BaseFlow) and publisher.plan.origin.executor is None:
        run.plan = publisher.plan
        elements = publisher.plan.open(run, sink=FusedOutput.UNINTERRUPTED)
        run.pulls(elements)
        return elements
    if prefetch is None and isinstance(publisher, BaseFlow):
        crossing = crossing_to(run, prefetch)
        subscribe(crossing, publisher)
        return crossing.elements()
    return opened(publisher, run, prefetch=prefetch or PREFETCH)


def result_of(flow: BaseFlow[Any]) -> Any:
    """Run a flow to its end; its last element, or ``None``."""
    caller = BlockingContext(UNBOUNDED, "run_sync()", "`await flow`", may_pause=False)
    elements = caller.elements_of(flow)
    if not flow.plan.waits:
        return last_of(elements)
    context = copy_context()
    lend(context, caller.lend_loop)
    return context.run(last_of, elements)


def last_of(elements: Elements) -> Any:
    """The last one, or ``None`` if there is none."""
    last = None
    for element in elements:
        last = element
    return last


class Blocking(Generic[T_co]):
    """The elements of one run, each waited for by the thread that takes it.

    The run begins with the first element that is taken. It is cancelled when the iteration is left
    in whatever way; use ``with`` where something else keeps the iterator.
    """

    __slots__ = ("_elements",)

    def __init__(self, flow: BaseFlow[T_co], prefetch: int | None) -> None:
        self._elements: Generator[T_co, None, None] = blocking_elements(flow, prefetch)

    def __iter__(self) -> Iterator[T_co]:
        return self._elements  # which closes itself when it is no longer referred to

    def __next__(self) -> T_co:
        return next(self._elements)

    def close(self) -> None:
        """Cancel the run."""
        self._elements.close()

    def __enter__(self) -> Blocking[T_co]:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def blocking_elements(flow: BaseFlow[Any], prefetch: int | None) -> Generator[Any, None, None]:
    """The elements of a flow, pulled in the context in which the iteration began."""
    caller = BlockingContext(prefetch or PREFETCH, "blocking()", "`async for`", may_pause=True)
    elements = caller.elements_of(flow, prefetch)
    if not flow.plan.waits:
        yield from elements
        return
    context = copy_context()
    lend(context, caller.lend_loop)
    try:
        while (element := context.run(next, elements, END)) is not END:
            yield element
    finally:
        context.run(close, elements)
