"""Events, semaphores and queues whose every wait the scheduler owns; `locks` has the others.

Each behaves like its namesake in `threading` or `queue`. It belongs to the run that made it: a
thread that an earlier run could not end is unwound when it touches one. Made by a thread that no
run controls, a class here returns the real thing, so that patched names stay harmless elsewhere.

Where a switch may happen around an operation depends on the level of the run, see `Primitive`.
"""

from __future__ import annotations

import sys
import threading
from _thread import get_ident
from collections import deque
from collections.abc import Callable
from queue import Empty
from queue import SimpleQueue as RealSimpleQueue
from types import FrameType, TracebackType
from typing import Any, Self

from penstock.tck.explorer.scheduler import ScheduledRun
from penstock.tck.explorer.task import TracedThread, current_task

__all__ = [
    "BoundedSemaphore",
    "Event",
    "Primitive",
    "Semaphore",
    "SimpleQueue",
]


class Primitive:
    """What all primitives share: their run, a name for reports, and the switch points.

    At level ``gil`` a thread can be switched before what may have to wait and after what took
    effect. At the other levels there is one switch point, before each operation.
    """

    exclusive = False
    calls_subject = False
    """Whether its operations call methods that the subject defines."""
    _real: Callable[..., Any]
    _run: ScheduledRun
    _name = ""

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        task = current_task()
        # What a module makes while it is imported outlives the run, and so must be real.
        if task is None or _is_importing():
            return cls._real(*arguments, **options)
        self = super().__new__(cls)
        self._run = task.run
        return self

    def describe(self) -> str:
        """Say what a thread waits for that waits here."""
        return self.title()

    def title(self) -> str:
        """Name it for a report; numbers follow the order of first use."""
        if not self._name:
            kind = type(self).__name__
            self._name = f"{kind} {self._run.number(kind)}"
        return self._name

    def _before(self, operation: str, *, switch: bool = True) -> TracedThread:
        """Announce an operation; return the task that performs it."""
        run = self._run
        me = run.current
        if run.aborting or me.ident != get_ident():
            return self._foreign_use(operation, switch)
        if switch:
            run.point(operation)
        if run.recorder is not None:
            run.note(me, f"{operation} {self.title()}")
        return me

    def _foreign_use(self, operation: str, switch: bool) -> TracedThread:
        task = current_task()
        if task is None or task.run is self._run:
            return self._run.stranger(self)
        if task.run.aborting:
            # A finalizer, perhaps: to unwind it, or to park it, would stop the garbage collector.
            return self._run.outsider
        # The subject kept it from an earlier run, in a registry for example: begin afresh.
        self._run = task.run
        self._name = ""
        self._reset()
        return self._before(operation, switch=switch)

    def _reset(self) -> None:
        raise NotImplementedError

    def _after(self, me: TracedThread, operation: str) -> None:
        """Let others see the effect before the caller goes on."""
        if self._run.exact and me is not self._run.outsider:
            self._run.point(operation)

    def _deadline(self, timeout: float | None) -> float | None:
        return None if timeout is None else self._run.now + timeout


class Event(Primitive):
    """A flag that threads can wait for."""

    _real = staticmethod(threading.Event)

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._flag = False
        self._waiting: list[TracedThread] = []

    def is_set(self) -> bool:
        self._before("reads")
        return self._flag

    isSet = is_set  # noqa: N815 - the old name in threading

    def set(self) -> None:
        me = self._before("sets")
        self._flag = True
        self._run.wake(self._waiting)
        self._after(me, "set")

    def clear(self) -> None:
        me = self._before("clears")
        self._flag = False
        self._after(me, "cleared")

    def wait(self, timeout: float | None = None) -> bool:
        me = self._before("waits on")
        if self._flag or (timeout is not None and timeout <= 0):
            flag = self._flag
            self._after(me, "read")
            return flag
        return self._run.block(self, self._waiting, self._deadline(timeout))


class Semaphore(Primitive):
    """A counter that blocks at zero."""

    _real: Callable[..., Any] = staticmethod(threading.Semaphore)

    def __init__(self, value: int = 1) -> None:
        if value < 0:
            raise ValueError("semaphore initial value must be >= 0")
        self._initial_value = value
        self._reset()

    def _reset(self) -> None:
        self._value = self._initial_value
        self._waiting: list[TracedThread] = []

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        if not blocking and timeout is not None:
            raise ValueError("can't specify timeout for non-blocking acquire")
        me = self._before("acquires")
        deadline = self._deadline(timeout)
        while not self._value:
            if not blocking or (deadline is not None and deadline <= self._run.now):
                self._after(me, "failed to acquire")
                return False
            self._run.block(self, self._waiting, deadline)
        self._value -= 1
        self._after(me, "acquired")
        return True

    # Not a call of ``acquire``, which a subclass may override: threading has it so, too.
    __enter__ = acquire

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def release(self, n: int = 1) -> None:
        if n < 1:
            raise ValueError("n must be one or more")
        me = self._before("releases")
        self._check_release(n)
        self._value += n
        notified, self._waiting[:n] = self._waiting[:n], []
        self._run.wake(notified)
        self._after(me, "released")

    def _check_release(self, n: int) -> None:
        """Any number of releases is fine for a semaphore without a bound."""


class BoundedSemaphore(Semaphore):
    """A semaphore that refuses to rise above its initial value."""

    _real = staticmethod(threading.BoundedSemaphore)

    def _check_release(self, n: int) -> None:
        if self._value + n > self._initial_value:
            raise ValueError("Semaphore released too many times")


class SimpleQueue(Primitive):
    """An unbounded first-in-first-out queue; takers compete for its elements."""

    _real: Callable[..., Any] = staticmethod(RealSimpleQueue)

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._items: deque[Any] = deque()
        self._waiting: list[TracedThread] = []

    def put(self, item: Any, block: bool = True, timeout: float | None = None) -> None:
        me = self._before("puts into", switch=not self._run.exact)
        self._items.append(item)
        self._run.invite(self._waiting)
        self._after(me, "put")

    def put_nowait(self, item: Any) -> None:
        self.put(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        if block and timeout is not None and timeout < 0:
            raise ValueError("'timeout' must be a non-negative number")
        me = self._before("gets from")
        if not self._items:
            if not block or timeout == 0:
                raise Empty
            if not self._run.block(self, self._waiting, self._deadline(timeout)):
                raise Empty
        item = self._items.popleft()
        if not self._items:
            self._run.dismiss(self._waiting)
        self._after(me, "got")
        return item

    def get_nowait(self) -> Any:
        return self.get(block=False)

    def empty(self) -> bool:
        self._before("reads")
        return not self._items

    def qsize(self) -> int:
        self._before("reads")
        return len(self._items)

    def __class_getitem__(cls, item: Any) -> type[Self]:
        return cls


def _is_importing() -> bool:
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        if frame.f_code.co_name == "<module>":
            return True
        frame = frame.f_back
    return False
