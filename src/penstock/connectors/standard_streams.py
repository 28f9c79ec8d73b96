"""Standard input as a source and standard output as a sink."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Final, TextIO

from penstock.connectors.shared.formats import LINE_BYTES, LineTooLong, json_text
from penstock.connectors.shared.writer import Writer
from penstock.delivery import Epoch, Level
from penstock.flow import Flow
from penstock.flow.checks import require_callable
from penstock.flow.engine.prefetch_subscriber import PrefetchSubscriber
from penstock.flow.engine.run_context import Elements, RunContext
from penstock.flow.engine.stage import Origin
from penstock.runtime.arguments import require_int

__all__ = [
    "read_standard_input",
    "write_standard_output",
]

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


def write_standard_output(encode: Callable[[Any], str] = json_text) -> Writer:
    """A subscriber that writes each element on a line of standard output, as JSON.

    ``encode=str`` writes texts as they are. When nobody reads standard output any more, as after
    ``| head``, the stream is cancelled, and that is no error.

    Demand: 16 to 1,024 elements at a time. When an element is taken, the system has it.

    Delivery: at most once. Nothing is kept, and what a crash interrupts may be printed again.

    Errors: what ``encode`` raises, and ``OSError`` other than that, cancel the stream, go to the
    hook for undelivered errors, and stay in ``error``.

    Example:
        >>> from penstock.connectors import write_standard_output
        >>> writer = write_standard_output(str)
        >>> Flow.of("JFK", "EWR").subscribe(writer)  # doctest: +SKIP
        JFK
        EWR
    """
    return Writer(StandardOutput(require_callable("write_standard_output", encode)))


class StandardOutput:
    """A line for each element, as it comes; batches mean nothing here.

    ``encode`` is called on the thread that calls the sink.
    """

    level: Level = "at most once"

    def __init__(self, encode: Callable[[Any], str]) -> None:
        self._encode = encode

    def check(self, epoch: Epoch | None) -> str:
        """Nothing can be wrong beforehand."""
        return "writes to standard output, which keeps nothing"

    def open(self, epoch: Epoch | None) -> None:
        """Nothing to do: the system has opened it."""

    def begin(self, batch: int) -> bool:
        """Always wanted: what was printed before is not known."""
        return True

    def __call__(self, element: Any) -> None:
        """Write it; when this returns, the system has it."""
        line = f"{self._encode(element)}\n"
        file = sys.stdout
        try:
            file.write(line)
            file.flush()
        except BrokenPipeError:
            silence(file)
            raise

    def commit(self, batch: int) -> None:
        """Nothing to do: each row was written when it came."""

    def close(self) -> None:
        """It stays open for others."""


def silence(file: TextIO) -> None:
    """Let what is left of a file whose reader is gone go nowhere, also when it is closed."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, file.fileno())
    os.close(nowhere)
