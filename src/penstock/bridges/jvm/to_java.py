"""A stream to Java, for each subscriber there: what a publisher of Python sends, on own threads.

One thread waits for what the subscriber in Java requests, and requests it here: the publisher may
send within that call, and take its time. The other thread hands over what has come.
"""

from __future__ import annotations

import threading
from collections import deque
from functools import partial
from typing import Any, Final

import jpype

from penstock.api import Publisher, Subscription
from penstock.bridges.jvm.conversion import error_to_java, held, numbers_of, release, to_columns
from penstock.bridges.jvm.jvm_process import java_class, start_thread
from penstock.core import COMPLETED, BaseSubscriber, require_element, require_error
from penstock.rules import RuleViolation, cite
from penstock.runtime import report_undelivered, shorten

__all__ = [
    "CAPACITY",
    "ToJavaSubscriber",
    "serve_subscribers",
]

CAPACITY: Final = 1024
"""The most elements of a stream that wait to cross, or are asked for to do so."""


class ToJavaSubscriber(BaseSubscriber):
    """One subscriber's stream to Java.

    It has two threads: one subscribes, requests and cancels, the other calls the subscriber in
    Java. Signals of the publisher may come on any thread, and only leave a message.
    """

    __slots__ = ("_arrived", "_java", "_left", "_taken", "_wake_up")

    def __init__(self, java: Any) -> None:
        super().__init__(CAPACITY)
        self._java = java
        self._arrived: deque[Any] = deque()
        self._wake_up = threading.Event()
        self._taken = 0
        self._left = False

    def start(self, publisher: Publisher[Any]) -> None:
        """Subscribe to ``publisher``, and serve the subscriber in Java."""
        start_thread("to Java", self._carry, self._java.cancel)
        start_thread("to Java", partial(self._listen, publisher), self._java.cancel)

    # What the publisher calls.

    def on_subscribe(self, subscription: Subscription) -> None:
        if self.accept(subscription):
            self._wake_up.set()

    def on_next(self, element: Any) -> None:
        require_element(element)
        if self.admit():
            self._arrived.append(element)
        if not self._wake_up.is_set():
            self._wake_up.set()

    def on_error(self, error: Exception) -> None:
        require_error(error)
        self.end(error)
        self._wake_up.set()

    def on_complete(self) -> None:
        self.end(COMPLETED)
        self._wake_up.set()

    # The thread that listens.

    def _listen(self, publisher: Publisher[Any]) -> None:
        try:
            publisher.subscribe(self)
        except Exception as error:
            violation = RuleViolation(
                "1.9", f"subscribe of {shorten(publisher)} raised {shorten(error)}"
            )
            violation.__cause__ = error
            self.fail(violation)
            self._wake_up.set()
        del publisher
        while (wanted := int(self._java.waitForDemand())) >= 0:
            self.refill(wanted=wanted, taken=self._taken)
        self.cancel()
        self._left = True
        self._wake_up.set()

    # The thread that carries.

    def _carry(self) -> None:
        try:
            self._wake_up.wait()  # the publisher subscribes, or fails to
            self._java.open()
            while not self._over():
                self._wake_up.wait()
        except jpype.JClass("java.lang.Throwable") as error:
            report_undelivered(error, cite("2.13", "a subscriber in Java threw"))
            self._java.cancel()  # 2.13: it counts as cancelled

    def _over(self) -> bool:
        """Hand over what has come; whether nothing can follow."""
        self._wake_up.clear()
        ending = self.ending  # read before the elements, which come before it
        if elements := [self._arrived.popleft() for _ in range(len(self._arrived))]:
            self._taken += len(elements)  # before the other thread is told that there is room
            for columns in to_columns(elements):
                self._java.deliver(*columns)
        if self._left:
            self._java.close()
        elif ending is COMPLETED:
            self._java.complete()
        elif ending is not None:
            self._java.fail(error_to_java(ending))
        else:
            return False
        return True


_starting = threading.Lock()
_started = threading.Event()
_closed = threading.Event()


def serve_subscribers() -> None:
    """Start the thread that serves subscribers in Java, unless it runs already."""
    with _starting:
        if not _started.is_set():
            start_thread("events", _serve, _close)
            _started.set()


def _serve() -> None:
    events = java_class("BridgeEvents")
    while not _closed.is_set():
        subscription = events.next()
        if subscription is None:
            release(numbers_of(events.takeReleased()))
        else:
            _start(subscription)
            del subscription  # or it would live until the next one comes


def _start(subscription: Any) -> None:
    try:
        ToJavaSubscriber(subscription).start(held(int(subscription.publisher.identity)))
    except Exception as error:
        report_undelivered(error, "a subscriber in Java cannot be served")


def _close() -> None:
    _closed.set()
    java_class("BridgeEvents").wake()
