"""Spark's Python processes, killed while a batch is being computed."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple

from penstock.testing import ManualSubscriber
from tests.faults.numbers import PATIENCE, join_runs, numbers_on_spark
from tests.faults.processes import command_of, descendants

__all__ = ["KINDS", "Interrupted", "interrupt"]

KINDS: Final = {
    "worker": "pyspark.worker",
    "source": "python_streaming_source_runner",
}
COUNT: Final = 40


class Interrupted(NamedTuple):
    """What the subscriber got although a process was killed, and how long that took."""

    numbers: list[int]
    error: Exception | None
    seconds: float


def interrupt(folder: Path, kind: str) -> Interrupted:
    """Kill the processes of a kind in the middle of a batch."""
    working, go_on = str(folder / "working"), str(folder / "go-on")

    def wait_once(row: Any) -> Any:
        """Say that a worker is at work, and keep it there until it is to go on."""
        if row.number == 15 and not Path(go_on).exists():
            Path(working).touch()
            while not Path(go_on).exists():
                threading.Event().wait(0.05)
        return row

    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1 << 40)
    flow = numbers_on_spark(COUNT, folder / "checkpoint", name=f"lost-{kind}").map(wait_once)
    flow.subscribe(subscriber)
    wait_for(lambda: Path(working).exists() or subscriber.ended)
    began = time.monotonic()
    victims = [each for each in descendants(os.getpid()) if KINDS[kind] in command_of(each)]
    assert victims
    for victim in victims:
        os.kill(victim, signal.SIGKILL)
    Path(go_on).touch()
    subscriber.await_end(PATIENCE)
    seconds = time.monotonic() - began
    join_runs()
    return Interrupted([row.number for row in subscriber.elements], subscriber.error, seconds)


def wait_for(condition: Callable[[], object]) -> None:
    until = time.monotonic() + PATIENCE
    pause = threading.Event()
    while not condition():
        assert time.monotonic() < until
        pause.wait(0.02)
