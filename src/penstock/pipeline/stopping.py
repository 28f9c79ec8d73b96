"""How the sources of a pipeline are told to complete."""

from __future__ import annotations

import threading
from typing import Any

from penstock.flow import Flow

__all__ = ["Stopping"]


class Stopping:
    """A flow that gives nothing until somebody says that it is time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_time = False
        self._emitters: list[Any] = []
        self.flow: Flow[Any] = Flow.create(self._register, overflow="latest")

    def now(self) -> None:
        """It is time."""
        with self._lock:
            self._is_time = True
            emitters, self._emitters = self._emitters, []
        for emitter in emitters:
            emitter.complete()

    def _register(self, emitter: Any) -> None:
        with self._lock:
            if not self._is_time:
                self._emitters.append(emitter)
                return
        emitter.complete()
