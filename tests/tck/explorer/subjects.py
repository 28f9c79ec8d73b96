"""Small classes that use threads, some right and some wrong, none of them aware of the explorer."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from time import sleep as pause

LIMIT = 1_000


def plus(left: int, right: int) -> int:
    return left + right


class RacyDemand:
    """Reads, calls, writes: another thread may write between."""

    def __init__(self) -> None:
        self.demand = 0

    def request(self, n: int) -> None:
        before = self.demand
        after = plus(before, n)
        self.demand = after


class AugmentedDemand:
    """Adds in place, with no place to switch between reading and writing under the GIL."""

    def __init__(self) -> None:
        self.demand = 0

    def request(self, n: int) -> None:
        self.demand += n


class CappedDemand:
    """Reads, calls a C function and writes, all in one line."""

    def __init__(self) -> None:
        self.demand = 0

    def request(self, n: int) -> None:
        self.demand = min(self.demand + n, LIMIT)


class MissedSignalDrain:
    """Finds its queue empty under the lock, but gives up its duty under another hold of it."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.queue: deque[int] = deque()
        self.draining = False
        self.delivered: list[int] = []

    def signal(self, element: int) -> None:
        with self.lock:
            self.queue.append(element)
            if self.draining:
                return
            self.draining = True
        while self.deliver_one():
            pass
        with self.lock:
            self.draining = False

    def deliver_one(self) -> bool:
        with self.lock:
            if not self.queue:
                return False
            element = self.queue.popleft()
        self.delivered.append(element)
        return True


class FlagDrain:
    """Gives up its duty right after it found the queue empty: safe only under the GIL."""

    def __init__(self) -> None:
        self.queue: deque[int] = deque()
        self.draining = False
        self.delivered: list[int] = []

    def signal(self, element: int) -> None:
        self.queue.append(element)
        if self.draining:
            return
        self.draining = True
        while self.queue:
            self.delivered.append(self.queue.popleft())
        self.draining = False


class CountingDrain:
    """Counts the signals that it missed, and drains once more for them."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.queue: deque[int] = deque()
        self.missed = 0
        self.delivered: list[int] = []

    def signal(self, element: int) -> None:
        with self.lock:
            self.queue.append(element)
            self.missed += 1
            if self.missed > 1:
                return
        seen = 1
        while seen:
            self.deliver_all()
            with self.lock:
                self.missed -= seen
                seen = self.missed

    def deliver_all(self) -> None:
        while self.queue:
            self.delivered.append(self.queue.popleft())


class TwoAccounts:
    """Takes two locks, in the order in which it is told."""

    def __init__(self) -> None:
        self.left = Lock()
        self.right = Lock()

    def to_right(self) -> None:
        with self.left, self.right:
            pass

    def to_left(self) -> None:
        with self.right, self.left:
            pass


class ConditionPublisher:
    """Emits from its own thread, which waits for demand under a condition."""

    def __init__(self, on_next: Callable[[int], None]) -> None:
        self.on_next = on_next
        self.changed = threading.Condition()
        self.demand = 0
        self.cancelled = False
        self.thread = threading.Thread(target=self.emit_all, daemon=True)
        self.thread.start()

    def request(self, n: int) -> None:
        with self.changed:
            self.demand += n
            self.changed.notify()

    def cancel(self) -> None:
        with self.changed:
            self.cancelled = True
            self.changed.notify()

    def emit_all(self) -> None:
        element = 0
        while True:
            with self.changed:
                while not self.demand and not self.cancelled:
                    self.changed.wait()
                if self.cancelled:
                    return
                self.demand -= 1
            self.on_next(element)
            element += 1


class ForgetfulWorker:
    """Clears its event after it checked for work, and so loses what came between."""

    def __init__(self) -> None:
        self.wake_up = threading.Event()
        self.work: deque[int] = deque()
        self.done: list[int] = []

    def submit(self, element: int) -> None:
        self.work.append(element)
        self.wake_up.set()

    def run(self, count: int) -> None:
        while len(self.done) < count:
            while self.work:
                self.done.append(self.work.popleft())
            if len(self.done) < count:
                self.wake_up.clear()
                self.wake_up.wait()


class CarelessSource:
    """Calls its subscriber from whatever thread requests."""

    def __init__(self, on_next: Callable[[int], None]) -> None:
        self.on_next = on_next

    def request(self, n: int) -> None:
        for element in range(n):
            self.on_next(element)


class SerialCheck:
    """A subscriber that notices calls which overlap."""

    def __init__(self) -> None:
        self.inside = False
        self.overlapped = False

    def on_next(self, element: int) -> None:
        self.overlapped = self.overlapped or self.inside
        self.inside = True
        self.work(element)
        self.inside = False

    def work(self, element: int) -> None:
        """Take a moment, so to speak."""


def deliver_by_pool(workers: int) -> list[int]:
    """Return elements in the order in which a pool delivered them."""
    delivered: list[int] = []
    with ThreadPoolExecutor(workers) as pool:
        for future in [pool.submit(delivered.append, element) for element in range(2)]:
            future.result()
    return delivered


class QueueBridge:
    """Hands elements over through a bounded queue, slowly."""

    def __init__(self) -> None:
        self.queue: queue.Queue[int] = queue.Queue(maxsize=1)
        self.received: list[int] = []

    def send(self, count: int) -> None:
        for element in range(count):
            self.queue.put(element)
            pause(60)

    def receive(self, count: int) -> None:
        while len(self.received) < count:
            self.received.append(self.queue.get(timeout=3600))


class SpinningWaiter:
    """Waits for a flag in a loop, and nobody sets it."""

    def __init__(self) -> None:
        self.flag = False

    def wait(self) -> None:
        while not self.flag:
            pass
