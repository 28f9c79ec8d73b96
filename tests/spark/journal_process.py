"""What other processes do with a journal; ``python -m tests.spark.journal_process WHAT FOLDER``."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from penstock.spark.journal import JournalError, JournalReader
from tests.spark.journals import append_rows, open_journal, read_rows

__all__ = ["start"]

ROOT = Path(__file__).parents[2]


def start(what: str, folder: Path, *arguments: object) -> subprocess.Popen[str]:
    """Start a process that does this, and says what it did, line by line."""
    command = [sys.executable, "-m", __name__, what, str(folder), *map(str, arguments)]
    return subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def say(word: object) -> None:
    os.write(1, f"{word}\n".encode())  # at once: the process may be killed at any moment


def write(folder: Path, seed: str) -> None:
    """Append batches of random sizes for ever, and say after each one where the journal ends."""
    random = Random(int(seed))
    with open_journal(folder, max_rows=100_000, max_bytes=1 << 22) as journal:
        say(journal.end)
        while True:
            count = random.choice([1, 3, 50, 2_000])
            if count > journal.room or journal.bytes_left < 1 << 20 or not random.randrange(10):
                journal.commit(random.randrange(journal.start, journal.end + 1))
            else:
                append_rows(journal, count)
                say(journal.end)


def open_and_close(folder: Path) -> None:
    """Say whether the journal can be opened."""
    try:
        open_journal(folder).close()
    except JournalError as error:
        say(f"{type(error).__name__}: {error}")
    else:
        say("opened")


def follow(folder: Path) -> None:
    """Read each row as soon as it is durable, until the seal; say how many there were."""
    reader = JournalReader(folder)
    position = 0
    say("ready")
    while True:
        start, end, sealed = reader.bounds()
        assert start <= position <= end
        assert read_rows(folder, position, end) == list(range(position, end))
        position = end
        if sealed:
            say(position)
            return


TASKS: dict[str, Callable[..., None]] = {
    "write": write,
    "open": open_and_close,
    "follow": follow,
}

if __name__ == "__main__":
    TASKS[sys.argv[1]](Path(sys.argv[2]), *sys.argv[3:])
