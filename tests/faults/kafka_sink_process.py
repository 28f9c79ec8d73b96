"""The program that is killed while it writes into Kafka: batches of numbers into one topic.

``python -m tests.faults.kafka_sink_process FOLDER SERVERS TOPIC`` goes on with what the folder
says, as ``sink_process`` does. With ``--crash POINT`` and ``--time N`` it kills itself when it
comes to that point for the Nth time.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from penstock.connectors import write_kafka
from penstock.connectors.kafka.marks import SinkCluster
from penstock.connectors.kafka.topic import TopicSink
from tests.faults.crashing import around, nothing
from tests.faults.sink_process import BATCHES, ROOT, End, at_the, die, write_all

__all__ = ["BATCHES", "CRASHES", "command", "end_in_a_crash", "run_to_the_end"]

AMID: Final = 1_500
FLUSHED: Final = 60.0


def run(folder: Path, servers: str, topic: str) -> None:
    """All batches that are not done, as ``penstock.pipeline`` gives them."""
    write_all(folder, {"topic": write_kafka(servers, topic, key="number")})


# Where the program can kill itself. Each function puts the end of everything into one of ours.


def before_it_fences(end: End) -> None:
    around(TopicSink, "_settings", before=end, after=nothing)


def after_it_fenced(end: End) -> None:
    around(TopicSink, "_patiently", before=nothing, after=end)


def after_it_read_the_mark(end: End) -> None:
    around(SinkCluster, "mark_of", before=nothing, after=end)


def amid_a_batch(end: End) -> None:
    """The broker has its first rows."""
    is_amid = at_the(AMID, lambda: True)

    def after(sink: Any, row: object) -> None:
        if is_amid():
            sink._producer.flush(FLUSHED)
            end()

    around(TopicSink, "__call__", before=nothing, after=after)


def before_the_mark(end: End) -> None:
    around(TopicSink, "commit", before=end, after=nothing)


def before_the_transaction_ends(end: End) -> None:
    """The first step that waits is not the commit."""
    around(TopicSink, "_patiently", before=lambda sink, step: of_commit(step, end), after=nothing)


def while_the_transaction_ends(end: End) -> None:
    """The broker has all of it, the mark, too."""

    def before(sink: Any, step: Callable[..., object]) -> None:
        if is_commit(step):
            sink._producer.flush(FLUSHED)
            end()

    around(TopicSink, "_patiently", before=before, after=nothing)


def after_the_transaction(end: End) -> None:
    around(TopicSink, "_patiently", before=nothing, after=lambda sink, step: of_commit(step, end))


def of_commit(step: Callable[..., object], end: End) -> None:
    if is_commit(step):
        end()


def is_commit(step: Callable[..., object]) -> bool:
    return getattr(step, "__name__", "") == "commit_transaction"


CRASHES: Final[dict[str, Callable[[End], None]]] = {
    "before it fences others off": before_it_fences,
    "after it has fenced them off": after_it_fenced,
    "after it has read the mark": after_it_read_the_mark,
    "amid a batch": amid_a_batch,
    "before the mark": before_the_mark,
    "before a transaction ends": before_the_transaction_ends,
    "while a transaction ends": while_the_transaction_ends,
    "after a transaction": after_the_transaction,
}


def command(folder: Path, servers: str, topic: str, *options: str) -> list[str]:
    """What starts the program."""
    return [sys.executable, "-m", __name__, str(folder), servers, topic, *options]


def end_in_a_crash(folder: Path, servers: str, topic: str, point: str, time: int) -> int:
    """Run until that point; the exit code, which is 0 if it was never reached."""
    options = ("--crash", point, "--time", str(time))
    started = subprocess.run(command(folder, servers, topic, *options), cwd=ROOT, check=False)
    return started.returncode


def run_to_the_end(folder: Path, servers: str, topic: str) -> None:
    """Run to the end of the last batch."""
    subprocess.run(command(folder, servers, topic), cwd=ROOT, check=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("servers")
    parser.add_argument("topic")
    parser.add_argument("--crash", default="")
    parser.add_argument("--time", type=int, default=1)
    given = parser.parse_args()
    if given.crash:
        CRASHES[given.crash](at_the(given.time, die))
    run(given.folder, given.servers, given.topic)


if __name__ == "__main__":
    main()
