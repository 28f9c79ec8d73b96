"""Multicast in loops written by hand: subscribers that join and leave by the rules."""

from __future__ import annotations

import threading
from typing import Final

from benchmarks.bar import Work
from benchmarks.crossings import ELEMENTS
from benchmarks.parties import Adder
from penstock import UNBOUNDED

__all__ = ["joined_and_left"]

IDLE, RUNNING, AGAIN = range(3)


class Joined:
    """A subscription to a loop: told one thing at a time (1.3), whoever requests (2.7, 3.3)."""

    __slots__ = ("_guard", "_lock", "_others", "_progress", "demand", "over", "subscriber")

    def __init__(self, subscriber: Adder, others: dict[Joined, None]) -> None:
        self.subscriber: Adder | None = subscriber
        self.demand = 0
        self.over = False
        self._others = others
        self._lock = threading.RLock()
        self._guard = threading.RLock()
        self._progress = IDLE

    def request(self, n: int) -> None:
        """Count (3.8), up to all that there can be (3.17), and let the loop know."""
        if self.over:
            return  # 3.6
        if type(n) is not int or n <= 0:
            raise ValueError  # 3.9
        with self._lock:
            self.demand = min(self.demand + n, UNBOUNDED)
        self._wake()

    def cancel(self) -> None:
        """Leave."""
        self.over = True
        self._wake()

    def open(self) -> None:
        """1.9: first of all."""
        assert self.subscriber is not None
        if self._enter():
            try:
                self.subscriber.on_subscribe(self)
            except Exception:
                self.over = True  # 2.13
            self._leave()

    def complete(self) -> None:
        """1.7, and 3.13: nothing is kept."""
        if self._enter():
            subscriber, self.subscriber = self.subscriber, None
            if subscriber is not None and not self.over:
                self.over = True
                try:
                    subscriber.on_complete()
                except Exception:
                    self.over = True  # 2.13
            self._others.pop(self, None)
            self._leave()

    def _wake(self) -> None:
        if self._enter():
            self._leave()

    def _enter(self) -> bool:
        with self._guard:
            if self._progress != IDLE:
                self._progress = AGAIN
                return False
            self._progress = RUNNING
            return True

    def _leave(self) -> None:
        with self._guard:
            self._progress = IDLE
        if self.over:
            self.subscriber = None


def joined_and_left(subscribers: int) -> Work:
    """A loop that calls each of them with each element, after all have joined."""
    count: Final = ELEMENTS // subscribers

    def run() -> int:
        joined: dict[Joined, None] = {}
        lock, known = threading.RLock(), set[int]()
        for _ in range(subscribers):
            subscriber = Adder()
            with lock:
                if id(subscriber) in known:
                    raise RuntimeError  # 1.10
                known.add(id(subscriber))
                subscription = Joined(subscriber, joined)
                joined[subscription] = None
            subscription.open()
        calls = [each.subscriber.on_next for each in joined if each.subscriber is not None]
        for x in range(min(count, *(each.demand for each in joined))):
            for call in calls:
                call(x)
        for each in list(joined):
            each.complete()
        return count * subscribers

    return run
