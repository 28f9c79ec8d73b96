"""Locks and conditions whose every wait the scheduler owns."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Protocol

from penstock.tck.explorer.primitives import Primitive
from penstock.tck.explorer.task import TracedThread, current_task

__all__ = ["Condition", "Lock", "RLock"]

_LOCKED_IS_ASKED = hasattr(_thread.RLock, "locked")
"""Whether reentrant locks and conditions say if they are locked: from Python 3.14 on."""


class _Mutex(Primitive):
    """What `Lock` and `RLock` share: one holder, and threads that compete to be the next."""

    exclusive = True

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._holder: TracedThread | None = None
        self._waiting: list[TracedThread] = []

    def _at_fork_reinit(self) -> None:
        self._reset()

    def describe(self) -> str:
        return f"{self.title()}, held by {self._holder.name}" if self._holder else self.title()

    def _acquire(self, me: TracedThread, blocking: bool, timeout: float) -> bool:
        if me is self._run.outsider and self._holder is not me:
            self._reset()  # its holder was unwound when the run ended, and could not release it
        if self._holder is not None:
            if not blocking or timeout == 0:
                return False
            deadline = None if timeout < 0 else self._run.now + timeout
            if not self._run.block(self, self._waiting, deadline):
                return False
        self._holder = me
        if self._waiting:
            self._run.dismiss(self._waiting)
        return True

    def _free(self) -> None:
        self._holder = None
        if self._waiting:
            self._run.invite(self._waiting)

    def _wait_in_line(self, task: TracedThread) -> None:
        """Let a thread that waits elsewhere wait for this lock, which is held, instead."""
        self._run.requeue(task, self, self._waiting)


class Lock(_Mutex):
    """A lock that is not reentrant; any thread may release it."""

    _real = staticmethod(threading.Lock)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        _check_timeout(blocking, timeout)
        me = self._before("acquires")
        acquired = self._acquire(me, blocking, timeout)
        self._after(me, "acquired")
        return acquired

    def __enter__(self) -> bool:
        return self._acquire(self._before("acquires"), True, -1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> None:
        me = self._before("releases", switch=not self._run.exact)
        if self._holder is None:
            raise RuntimeError("release unlocked lock")
        self._free()
        self._after(me, "released")

    def locked(self) -> bool:
        self._before("reads")
        return self._holder is not None

    def _is_owned(self) -> bool:
        return self._holder is not None

    def _release_save(self) -> object:
        self._free()
        return None

    def _acquire_restore(self, saved: object) -> None:
        self._acquire(self._run.current, True, -1)


class RLock(_Mutex):
    """A lock that its holder may acquire again."""

    _real = staticmethod(threading.RLock)

    def _reset(self) -> None:
        super()._reset()
        self._depth = 0

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        _check_timeout(blocking, timeout)
        me = self._before("acquires")
        acquired = self._enter(me, blocking, timeout)
        self._after(me, "acquired")
        return acquired

    def __enter__(self) -> bool:
        me = self._before("acquires")
        if self._holder is not me:
            self._acquire(me, True, -1)
        self._depth += 1
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()

    def release(self) -> None:
        me = self._before("releases", switch=not self._run.exact)
        if self._holder is not me:
            raise RuntimeError("cannot release un-acquired lock")
        self._depth -= 1
        if not self._depth:
            self._free()
        self._after(me, "released")

    if _LOCKED_IS_ASKED:

        def locked(self) -> bool:
            self._before("reads")
            return self._holder is not None

    def _enter(self, me: TracedThread, blocking: bool, timeout: float) -> bool:
        if self._holder is not me and not self._acquire(me, blocking, timeout):
            return False
        self._depth += 1
        return True

    def _is_owned(self) -> bool:
        me = current_task()
        if me is None or me.run is not self._run:
            me = self._run.outsider
        return self._holder is me

    def _release_save(self) -> object:
        depth, self._depth = self._depth, 0
        self._free()
        return depth

    def _acquire_restore(self, saved: object) -> None:
        assert isinstance(saved, int)
        self._acquire(self._run.current, True, -1)
        self._depth = saved


class Lockable(Protocol):
    """What a condition needs of its lock."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool: ...

    def release(self) -> None: ...


class Condition(Primitive):
    """A condition variable; waiters are notified in the order in which they came.

    ``wait_for`` calls its predicate on the thread that waits.
    """

    _real = staticmethod(threading.Condition)

    def __init__(self, lock: Lockable | None = None) -> None:
        self._lock: Any = RLock() if lock is None else lock
        self.calls_subject = not isinstance(self._lock, _Mutex)
        self._reset()
        self.acquire = self._lock.acquire
        self.release = self._lock.release

    def _reset(self) -> None:
        self._waiting: list[TracedThread] = []

    def __enter__(self) -> bool:
        entered: bool = self._lock.__enter__()
        return entered

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._lock.__exit__(kind, error, trace)

    if _LOCKED_IS_ASKED:

        def locked(self) -> bool:
            return bool(self._lock.locked())

    def wait(self, timeout: float | None = None) -> bool:
        me = self._before("waits on")
        self._require_lock("wait on")
        saved = self._give_lock_up()
        if timeout is not None and timeout <= 0:
            if me is not self._run.outsider:
                self._run.point("polls")
            notified = False
        else:
            notified = self._run.block(self, self._waiting, self._deadline(timeout))
        self._take_lock_back(saved)
        return notified

    def wait_for(self, predicate: Callable[[], Any], timeout: float | None = None) -> Any:
        deadline = self._deadline(timeout)
        result = predicate()
        while not result and (deadline is None or self._run.now <= deadline):
            self.wait(None if deadline is None else deadline - self._run.now)
            result = predicate()
            if deadline is not None and self._run.now >= deadline:
                break
        return result

    def notify(self, n: int = 1) -> None:
        # The effect shows when the lock is released, which is a switch point at all levels.
        self._before("notifies", switch=self._run.exact)
        self._require_lock("notify on")
        notified, self._waiting[:n] = self._waiting[:n], []
        if isinstance(self._lock, _Mutex):
            for task in notified:
                self._lock._wait_in_line(task)
        else:
            self._run.wake(notified)

    def notify_all(self) -> None:
        self.notify(len(self._waiting))

    notifyAll = notify_all  # noqa: N815 - the old name in threading

    def _require_lock(self, action: str) -> None:
        if not self._is_owned():
            raise RuntimeError(f"cannot {action} un-acquired lock")

    def _is_owned(self) -> bool:
        if hasattr(self._lock, "_is_owned"):
            return bool(self._lock._is_owned())
        if self._lock.acquire(False):
            self._lock.release()
            return False
        return True

    def _give_lock_up(self) -> object:
        if hasattr(self._lock, "_release_save"):
            saved: object = self._lock._release_save()
            return saved
        self._lock.release()
        return None

    def _take_lock_back(self, saved: object) -> None:
        if hasattr(self._lock, "_acquire_restore"):
            self._lock._acquire_restore(saved)
        else:
            self._lock.acquire()


def _check_timeout(blocking: bool, timeout: float) -> None:
    if timeout != -1 and (timeout < 0 or not blocking):
        # The words of the error differ between versions of Python.
        _thread.allocate_lock().acquire(blocking, timeout)
