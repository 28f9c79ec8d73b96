"""The thread that learns of new subscribers in Java, and of objects that Java no longer needs."""

from __future__ import annotations

import threading
from typing import Any

from penstock.bridges.jvm.chunks import numbers_of
from penstock.bridges.jvm.jvm_process import java_class
from penstock.bridges.jvm.registry import held, release
from penstock.bridges.jvm.threads import start_thread
from penstock.bridges.jvm.to_java import ToJavaSubscriber
from penstock.runtime import report_undelivered

__all__ = ["serve_subscribers"]

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
