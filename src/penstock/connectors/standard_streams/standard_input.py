"""Standard input as a source."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final

from penstock.connectors.shared.formats import LINE_BYTES, LineTooLong
from penstock.flow import Flow
from penstock.flow.checks import require_callable
from penstock.flow.engine.prefetch_subscriber import PrefetchSubscriber
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin
from penstock.runtime.arguments import require_int

__all__ = ["read_standard_input"]

NAME: Final = "read_standard_input"
CHUNK: Final = 64 * 1024


def read_standard_input(
    decode: Callable[[str], Any] = json.loads, *, max_bytes: int = LINE_BYTES
) -> Flow[Any]:
    """What comes through standard input, one element for each line, JSON unless ``decode`` says.

    With ``decode=str`` elements are the lines themselves. Empty lines are left out. There is one
    standard input, so it is for one subscriber.

    Emits when: a line is wanted and has come.
    Backpressures when: nothing is wanted; nothing is read.
    Completes when: standard input ends.
    Cancels when: the subscriber does. A read that waits for a line goes on, on a thread that does
    not keep the program from ending; what it gets is lost.

    Demand: exact. What the system gives at once, up to 64 KB, is held, and read no further.

    Replay: none.

    Errors: ``ValueError`` with the number of a line that ``decode`` cannot take, or that has more
    than ``max_bytes``, by default 16 MiB; ``OSError`` if reading fails. At once: ``RuntimeError``
    for a program without standard input.

    Example:
        >>> from penstock.connectors import read_standard_input
        >>> read_standard_input(str).take(1).run_sync()  # doctest: +SKIP
        'hello'
    """
    most = require_int(NAME, "max_bytes", max_bytes)
    return Flow(StandardInput(require_descriptor(), require_callable(NAME, decode), most))


def require_descriptor() -> int:
    """The system's number of standard input."""
    try:
        return sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        raise RuntimeError(f"{NAME}: this program has no standard input") from None


class StandardInput(Origin):
    """The lines that a descriptor gives, decoded on the thread that reads them."""

    checked = True

    def __init__(self, descriptor: int, decode: Callable[[str], Any], max_bytes: int) -> None:
        super().__init__(NAME)
        self._descriptor = descriptor
        self._decode = decode
        self._max_bytes = max_bytes

    def open(self, run: RunContext, per_output: int) -> Elements:
        """A thread reads, once something is wanted."""
        subscriber = PrefetchSubscriber(run, per_output)
        subscriber.on_subscribe(
            DescriptorSubscription(self._descriptor, self._decode, self._max_bytes, subscriber)
        )
        return subscriber.elements()


class DescriptorSubscription:
    """The subscription to a descriptor: as many lines as were requested.

    They are read, decoded by the user's function and signalled on its own thread.
    """

    def __init__(
        self,
        descriptor: int,
        decode: Callable[[str], Any],
        max_bytes: int,
        subscriber: PrefetchSubscriber,
    ) -> None:
        self._descriptor = descriptor
        self._decode = decode
        self._max_bytes = max_bytes
        self._subscriber = subscriber
        self._requests: SimpleQueue[int] = SimpleQueue()
        self._cancelled = False
        self._thread: threading.Thread | None = None
        self._chunk = b""
        self._number = 0

    def request(self, n: int) -> None:
        """Read so many lines, on another thread."""
        self._requests.put(n)
        if self._thread is None:
            self._thread = threading.Thread(target=self._read, name="penstock-input", daemon=True)
            self._thread.start()

    def cancel(self) -> None:
        """Read no more."""
        self._cancelled = True
        self._requests.put(0)

    def _read(self) -> None:
        try:
            while all(self._give_next() for _ in range(self._requests.get())):
                if self._cancelled:
                    return
        except Exception as error:
            self._subscriber.on_error(error)

    def _give_next(self) -> bool:
        """Give a line; no if there is none, or the subscription was cancelled."""
        line = self._next_line()
        if line is None:
            self._subscriber.on_complete()
            return False
        if not self._cancelled:
            self._subscriber.on_next(self._element(line))
        return not self._cancelled

    def _next_line(self) -> bytes | None:
        """A line that is not empty; none at the end."""
        while True:
            line, found, rest = self._chunk.partition(b"\n")
            if len(line.removesuffix(b"\r")) > self._max_bytes:
                raise LineTooLong(f"standard input, line {self._number + 1}", self._max_bytes)
            if not found:
                # Not through sys.stdin: a thread that waits there would hold its lock at exit.
                read = os.read(self._descriptor, CHUNK)
                self._chunk += read
                if read:
                    continue
                line, rest = self._chunk, b""
                if not line:
                    return None
            self._chunk = rest
            self._number += 1
            if line.strip():
                return line

    def _element(self, line: bytes) -> Any:
        try:
            element = self._decode(line.decode().removesuffix("\r"))
        except Exception as error:
            raise ValueError(f"standard input, line {self._number}: {error}") from error
        if element is None:
            raise ValueError(f"standard input, line {self._number}: null is not an element")
        return element
