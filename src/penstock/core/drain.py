"""The drain loop: how signals stay serial without recursion and without a lock held outside."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Final
from weakref import ref

from penstock.runtime import CallingThread, Executor, NewLock, Task
from penstock.runtime.executor import ReentrantLock

__all__ = ["Drain"]

IDLE, RUNNING, AGAIN = range(3)
HERE: Final[Executor] = CallingThread()


def outlived(_: ref[Any]) -> None:
    """A reference that has a callback is cleared first, in every version of Python.

    Without one it may last until all finalizers have run.
    """


class HandOver:
    """A thread that is inside ``execute`` of an executor, and whether it has to call it again."""

    __slots__ = ("again", "thread")

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.again = True


class Drain(ABC):
    """Runs ``_work`` whenever it was woken, on one thread at a time.

    Any thread may call ``wake`` at any time, also from within ``_work``. A thread that finds the
    drain idle runs it; one that finds it running leaves a note, and the running thread does another
    round. So no wake-up is lost, ``_work`` never overlaps with itself (rules 1.3 and 2.7), and a
    signal that leads to another one does not grow the stack (rule 3.3).

    Without an executor the work runs on the thread that wakes. With one, each round is a separate
    task, so that other tasks get their turn, and runs with the context variables of the place where
    the drain was made. What is garbage has its last round on the thread of the garbage collector.
    """

    __slots__ = (
        "__weakref__",
        "_alive",
        "_context",
        "_executor",
        "_handing_over",
        "_progress",
        "_progress_lock",
    )

    def __init__(self, executor: Executor | None = None, new_lock: NewLock = ReentrantLock) -> None:
        self._progress_lock = new_lock()
        self._progress = IDLE
        self._executor = executor
        self._handing_over: HandOver | None = None
        self._context: Context | None = None
        if executor is not None:
            self._context = copy_context()
            self._alive = ref(self, outlived)

    def wake(self) -> None:
        """There may be something to do."""
        if self._progress == AGAIN:
            return  # that round has not begun, so it sees what was left for it before this call
        if self._executor is None:
            self._run_here()
        elif self._find_idle():
            self._hand_over()

    def release(self) -> None:
        """Let a drain that somebody has taken run again, at once if it was woken meanwhile."""
        if self._woken_again():
            self._come_to_rest()
            self.wake()

    @property
    def is_idle(self) -> bool:
        """Whether it neither runs nor is about to."""
        return self._progress == IDLE

    @abstractmethod
    def _work(self) -> None:
        """Do all that can be done now. Must not raise an ``Exception``."""

    def _rejected(self, error: Exception) -> None:
        """The executor took no task; called where the work would have been started."""
        raise error

    def _run_here(self) -> None:
        # Whether we run is a local, set in the same step as the state that others see, so that an
        # interrupt at any place neither leaves the drain stuck nor stops somebody else's round.
        running = False
        try:
            with self._progress_lock:
                if self._progress != IDLE:
                    self._progress = AGAIN
                    return
                self._progress, running = RUNNING, True
            while True:
                self._work()
                with self._progress_lock:
                    if self._progress == RUNNING:
                        self._progress, running = IDLE, False
                        return
                    self._progress = RUNNING
        except BaseException:
            if running:
                self._come_to_rest()
            raise

    def _find_idle(self) -> bool:
        """Take the drain if it is idle; otherwise the thread that has it does another round."""
        with self._progress_lock:
            if self._progress != IDLE:
                self._progress = AGAIN
                return False
            self._progress = RUNNING
            return True

    def _hand_over(self) -> None:
        me = HandOver(threading.get_ident())
        outer = self._handing_over
        if outer is not None and outer.thread == me.thread:
            outer.again = True  # the executor runs tasks inside execute: do not nest deeper
            return
        self._handing_over = me
        try:
            while me.again:
                me.again = False
                self._place().execute(self._one_round())
        except Exception as error:
            try:
                self._rejected(error)
            finally:
                self._come_to_rest()
        except BaseException:
            self._come_to_rest()
            raise
        finally:
            if self._handing_over is me:
                self._handing_over = None

    def _place(self) -> Executor:
        # The collector clears weak references to garbage before it closes the first generator in
        # it, which may wake us. No other thread may then touch what it is about to close.
        assert self._executor is not None
        return self._executor if self._alive() is not None else HERE

    def _one_round(self) -> Task:
        assert self._context is not None
        # A copy for each round: the last one may still be leaving its context on another thread.
        return partial(self._context.copy().run, self._run_one_round)

    def _run_one_round(self) -> None:
        try:
            self._work()
        except BaseException:
            self._come_to_rest()
            raise
        if self._woken_again():
            self._hand_over()

    def _woken_again(self) -> bool:
        with self._progress_lock:
            self._progress = RUNNING if self._progress == AGAIN else IDLE
            return self._progress == RUNNING

    def _come_to_rest(self) -> None:
        with self._progress_lock:
            self._progress = IDLE
