"""The program that lives on: a slow subscriber, and then Spark's JVM is killed under it.

``python -m tests.faults.surviving_process SECONDS`` prints what it saw as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock import Flow, Publisher, Subscriber, Subscription
from penstock.spark import SparkFlow
from tests.faults.processes import MARK, descendants, marked, resident_bytes

__all__ = ["Survived", "survive"]

ROOT: Final = Path(__file__).parents[2]
MAX_ROWS: Final = 1_000
BATCH_ROWS: Final = 5
PER_SECOND: Final = 1.0
SAMPLES_PER_SECOND: Final = 10
WARM_UP: Final = 0.3
"""The part of the time after which memory should not grow."""
PATIENCE: Final = 300.0
AFTERWARDS: Final = 20


class Survived(NamedTuple):
    """What the process saw.

    ``most_over``       by how many elements the source ever went beyond what was asked of it
    ``most_over_sink``  the same at the subscriber
    ``source_paused``   whether the source ever had nothing left to deliver
    ``made``            how many elements the source had delivered in the end
    ``taken``           how many the subscriber had taken
    ``growth``          the most memory after the warm-up, as a ratio to that at its end
    ``error``           what the subscriber was told when the JVM was killed
    ``seconds``         after how many seconds
    ``orphans``         the processes of Spark that were left
    ``afterwards``      whether another pipeline of the same process then delivered all its rows
    ``left_behind``     the processes that were left when it had ended
    ``printed``         all that it wrote to its standard error
    """

    most_over: int
    most_over_sink: int
    source_paused: bool
    made: int
    taken: int
    growth: float
    error: str
    seconds: float
    orphans: int
    afterwards: bool
    left_behind: int = 0
    printed: str = ""


def survive(seconds: float, patience: float = PATIENCE) -> Survived:
    """Let such a process run, and say what it saw."""
    mark = uuid.uuid4().hex
    done = subprocess.run(
        [sys.executable, "-m", __name__, str(seconds)],
        cwd=ROOT,
        env={**os.environ, MARK: mark},
        capture_output=True,
        text=True,
        check=False,
        timeout=seconds + patience,
    )
    if done.returncode:
        raise AssertionError(done.stdout + done.stderr)
    left = count_after_a_while(lambda: len(marked(mark)))
    survived = Survived(**json.loads(done.stdout.splitlines()[-1]))
    return survived._replace(left_behind=left, printed=done.stderr)


def count_after_a_while(count: Any, patience: float = 120.0) -> int:
    """Wait until there are none any more, within reason; how many there are."""
    pause = threading.Event()
    until = time.monotonic() + patience
    while count() and time.monotonic() < until:
        pause.wait(0.1)
    return int(count())


class Measured(Publisher[Any]):
    """Stands between a publisher and its subscriber, and counts."""

    def __init__(self, publisher: Publisher[Any]) -> None:
        self._publisher = publisher
        self.requested = self.delivered = self.most_over = 0
        self.paused = threading.Event()

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        self._subscriber = subscriber
        self._publisher.subscribe(self)

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self._subscriber.on_subscribe(self)

    def request(self, n: int) -> None:
        self.requested += n  # before it goes on: an element may come from within
        self._subscription.request(n)

    def cancel(self) -> None:
        self._subscription.cancel()

    def on_next(self, element: Any) -> None:
        self.delivered += 1
        self.most_over = max(self.most_over, self.delivered - self.requested)
        if self.delivered == self.requested:
            self.paused.set()
        self._subscriber.on_next(element)

    def on_error(self, error: Exception) -> None:
        self._subscriber.on_error(error)

    def on_complete(self) -> None:
        self._subscriber.on_complete()


class Slow:
    """Asks for one element after the other, when it is told to."""

    def __init__(self) -> None:
        self.requested = self.taken = self.most_over = 0
        self.has_begun = threading.Event()
        self.over = threading.Event()
        self.error: Exception | None = None

    def on_subscribe(self, subscription: Subscription) -> None:
        self._subscription = subscription
        self.ask()

    def ask(self) -> None:
        self.requested += 1
        self._subscription.request(1)

    def on_next(self, element: Any) -> None:
        self.taken += 1
        self.most_over = max(self.most_over, self.taken - self.requested)
        self.has_begun.set()

    def on_error(self, error: Exception) -> None:
        self.error = error
        self.over.set()

    def on_complete(self) -> None:
        self.over.set()


def as_row(number: int) -> tuple[int]:
    return (number,)


def on_spark(source: Publisher[Any]) -> SparkFlow:
    return Flow.from_publisher(source).on_spark(
        "number long", name="slow", max_rows=MAX_ROWS, batch_rows=BATCH_ROWS
    )


def sample(slow: Slow, seconds: float) -> list[int]:
    """Let the subscriber take one element a second; the memory of this process meanwhile."""
    pause = threading.Event()
    memory = []
    for number in range(int(seconds * SAMPLES_PER_SECOND)):
        if number % (SAMPLES_PER_SECOND / PER_SECOND) == 0:
            slow.ask()
        memory.append(resident_bytes())
        pause.wait(1 / SAMPLES_PER_SECOND)
    return memory


def kill_spark(slow: Slow) -> tuple[float, int]:
    """Kill the JVM; after how long the subscriber knew, and how many processes stayed."""
    from pyspark import SparkContext

    os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)
    began = time.monotonic()
    slow.over.wait(PATIENCE)
    seconds = time.monotonic() - began
    return seconds, count_after_a_while(lambda: len(descendants(os.getpid())))


def main(seconds: float) -> None:
    source = Measured(Flow.range(10**9).map(as_row))
    slow = Slow()
    on_spark(source).subscribe(slow)
    assert slow.has_begun.wait(PATIENCE)
    memory = sample(slow, seconds)
    warm = int(len(memory) * WARM_UP)
    after, orphans = kill_spark(slow)
    rows = on_spark(Flow.range(AFTERWARDS).map(as_row)).rows().to_list().run_sync() or []
    survived = Survived(
        most_over=source.most_over,
        most_over_sink=slow.most_over,
        source_paused=source.paused.is_set(),
        made=source.delivered,
        taken=slow.taken,
        growth=max(memory[warm:]) / memory[warm],
        error=f"{type(slow.error).__name__}: {slow.error}",
        seconds=after,
        orphans=orphans,
        afterwards=[row.number for row in rows] == [*range(AFTERWARDS)],
    )
    sys.stdout.write(json.dumps(survived._asdict()) + "\n")


if __name__ == "__main__":
    main(float(sys.argv[1]))
