"""Multicast in loops written by hand: subscribers that join and leave by the rules."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Final

from benchmarks.bar import Work
from benchmarks.crossings import ELEMENTS
from benchmarks.parties import Adder
from penstock import UNBOUNDED

__all__ = ["joined_and_left", "joined_at_any_time"]

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


class SharedLoop:
    """What a shared run promises besides the rules, as short as it can be written.

    One may join or leave at any time, and has what comes from then on; the slowest sets the pace,
    so each has its position in what is kept; what is no element, or no subscriber, is refused.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._joined: dict[int, Joined] = {}
        self._others: dict[Joined, None] = {}
        self._readers_at: dict[int, int] = {}
        self._position_of: dict[Joined, int] = {}
        self._end = 0
        self._wanted_until = 0
        self.disturbed = False

    def join(self, subscriber: Adder) -> None:
        """Add one who starts with the next element."""
        subscriber.on_subscribe, subscriber.on_next, subscriber.on_error, subscriber.on_complete  # noqa: B018 - 1.9: it has them
        with self._lock:
            if id(subscriber) in self._joined:
                raise RuntimeError  # 1.10
            self.disturbed = True
            subscription = Joined(subscriber, self._others)
            self._joined[id(subscriber)] = subscription
            self._others[subscription] = None
            self._move(subscription, None, self._end)
        subscription.open()
        with self._lock:
            self._wanted_until = max(self._wanted_until, self._end + subscription.demand)

    def send(self, elements: Iterable[int | None]) -> None:
        """Call each of them with each element, as far as all want it."""
        with self._lock:
            joined = list(self._others)
            self.disturbed = False
        most = min([each.demand for each in joined])
        calls = [each.subscriber.on_next for each in joined if each.subscriber is not None]
        sent = 0
        for x in elements:
            if x is None or self.disturbed or sent == most:
                break
            try:
                for call in calls:
                    call(x)
            except Exception:
                self.disturbed = True  # 2.13
            sent += 1
        with self._lock:
            for each in joined:
                each.demand -= sent
                self._move(each, self._end, self._end + sent)
            self._end += sent

    def complete(self) -> None:
        """All leave."""
        joined = list(self._others)
        for each in joined:
            each.complete()
        with self._lock:
            for each in joined:
                self._move(each, self._position_of.pop(each), None)
            self._joined.clear()

    def _move(self, subscription: Joined, before: int | None, after: int | None) -> None:
        if after is not None:
            self._readers_at[after] = self._readers_at.get(after, 0) + 1
            self._position_of[subscription] = after
        if before is not None:
            self._readers_at[before] -= 1
            if not self._readers_at[before]:
                del self._readers_at[before]


def joined_at_any_time(subscribers: int) -> Work:
    """The same with what a shared run promises."""
    count: Final = ELEMENTS // subscribers

    def run() -> int:
        loop = SharedLoop()
        for _ in range(subscribers):
            loop.join(Adder())
        loop.send(range(count))
        loop.complete()
        return count * subscribers

    return run
