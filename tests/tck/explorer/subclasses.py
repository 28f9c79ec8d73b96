"""Classes of a subject that derive from those of `threading` and `queue`."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable


class Gate(threading.Condition):
    """A condition with a state of its own."""

    def __init__(self, lock: threading.Lock | None = None) -> None:
        super().__init__(lock)
        self.is_open = False

    def open(self) -> None:
        with self:
            self.is_open = True
            self.notify_all()

    def pass_through(self, timeout: float | None = None) -> bool:
        with self:
            return self.wait_for(lambda: self.is_open, timeout)


class HastyGate(Gate):
    """Reads its state before it takes the lock, and so waits for what has been."""

    def pass_through(self, timeout: float | None = None) -> bool:
        if not self.is_open:
            with self:
                return self.wait(timeout)
        return True


class CountedEvent(threading.Event):
    """An event that knows how often it was set."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def set(self) -> None:
        self.times += 1
        super().set()


class Permits(threading.Semaphore):
    """A semaphore that counts how often it was acquired."""

    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.times = 0

    def acquire(self, blocking: bool = True, timeout: float | None = None) -> bool:
        acquired = super().acquire(blocking, timeout)
        self.times += acquired
        return acquired


class BoundedPermits(threading.BoundedSemaphore):
    """A bounded semaphore by another name."""


class Meeting(threading.Barrier):
    """A barrier by another name."""


class Worker(threading.Thread):
    """A thread that works through its own queue."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.jobs: deque[Callable[[], object]] = deque()
        self.gate = Gate()

    def run(self) -> None:
        while self.gate.pass_through():
            if not self.jobs:
                return
            self.jobs.popleft()()


class Inbox(queue.Queue[int]):
    """A queue by another name."""
