"""The thread that learns of new subscribers in Java, and of objects that Java needs no more."""

from __future__ import annotations

import threading
from typing import Any

from penstock.bridges.jvm.chunks import numbers_of
from penstock.bridges.jvm.jvm_process import java_class
from penstock.bridges.jvm.registry import held, release
from penstock.bridges.jvm.threads import start_thread
from penstock.bridges.jvm.to_java import ToJavaSubscriber
from penstock.runtime import report_undelivered

__all__ = ["attend"]

_opening = threading.Lock()
_attended = threading.Event()
_closed = threading.Event()


def attend() -> None:
    """See to it that the door is attended."""
    with _opening:
        if not _attended.is_set():
            start_thread("door", _answer, _close)
            _attended.set()


def _answer() -> None:
    door = java_class("Door")
    while not _closed.is_set():
        departures = door.next()
        if departures is None:
            release(numbers_of(door.takeReleased()))
        else:
            _admit(departures)
            del departures  # or it would live until the next one comes


def _admit(departures: Any) -> None:
    try:
        ToJavaSubscriber(departures).start(held(int(departures.publisher.identity)))
    except Exception as error:
        report_undelivered(error, "a subscriber in Java cannot be served")


def _close() -> None:
    _closed.set()
    java_class("Door").ring()
