"""A stream from Java: what its publisher sends, taken over by a thread of Python."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any, Final

from penstock.api import Subscriber
from penstock.bridges.jvm.conversion import elements_of, error_to_python
from penstock.bridges.jvm.jvm_process import java_class, start_thread
from penstock.core import BaseSubscription, require_subscriber
from penstock.runtime import Task
from penstock.runtime.executor import run_reporting_all

__all__ = ["CAPACITY", "JavaPublisher"]

CAPACITY: Final = 1024
"""The most elements of a stream that wait on the other side, or are on their way to it."""


class JavaPublisher:
    """A publisher of Java, for subscribers of Python.

    Each stream has a thread of Python, on which the subscriber is called and Java is subscribed to.
    """

    def __init__(self, publisher: Any) -> None:
        self._publisher = publisher

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        """Subscribe to the publisher of Java."""
        require_subscriber(subscriber)  # 1.9
        subscription = FromJavaSubscription(subscriber, self._publisher)
        del subscriber  # 3.13: an error that somebody keeps also keeps this frame
        subscription.wake()

    def __repr__(self) -> str:
        return f"JavaPublisher({self._publisher})"


class JavaStreamThread:
    """The executor of one stream: a thread that waits in Java for something to do."""

    def __init__(self, java: Any) -> None:
        self._java = java
        self._tasks: deque[Task] = deque()
        self._thread = 0
        self._started = False
        self.stream: FromJavaSubscription | None = None

    def execute(self, task: Task) -> None:
        """Run ``task`` on the thread, which starts with the first one."""
        self._tasks.append(task)
        if not self._started:
            self._started = True
            start_thread("from Java", self._run, self._java.close)
        elif self._thread != threading.get_ident():
            self._java.wake()

    def _run(self) -> None:
        self._thread = threading.get_ident()
        while True:
            while self._tasks:
                run_reporting_all(self._tasks.popleft())
            if not self._java.waitForWork():
                break
            if self.stream is not None:
                self.stream.wake()
        self.stream = None


class FromJavaSubscription(BaseSubscription[Any]):
    """One subscriber's stream from Java, which signals on its `JavaStreamThread`."""

    __slots__ = ("_java", "_publisher", "_told")

    def __init__(self, subscriber: Subscriber[Any], publisher: Any) -> None:
        self._java = java_class("PythonSubscriber")(CAPACITY)
        thread = JavaStreamThread(self._java)
        super().__init__(subscriber, thread)
        self._publisher = publisher
        self._told = 0
        thread.stream = self

    def _serve(self) -> None:
        if self._publisher is not None:
            publisher, self._publisher = self._publisher, None
            self._java.subscribeTo(publisher)
        requested = self.demand.requested
        chunk = self._java.take(requested - self._told)
        self._told = requested
        if chunk is None:
            return
        self._emit(elements_of(chunk))
        if not chunk.last:
            self.wake()  # there may be more by now
        elif chunk.error is None:
            self._complete()
        else:
            self._fail(error_to_python(chunk.error))

    def _release(self) -> None:
        self._publisher = None
        self._java.close()
