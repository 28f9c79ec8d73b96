"""Starts of the pipeline, each of which ends in another way, and the last one by itself."""

from __future__ import annotations

import hashlib
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Final

from tests.faults.processes import MARK, command_of, marked

__all__ = ["FAULTS", "Life", "contents", "finish", "suffer"]

ROOT: Final = Path(__file__).parents[3]
RUN: Final = "from penstock.cli import main; main()"
ENDS: Final = "tests.faults.ends.pipelines:ends"
PATIENCE: Final = 600.0
POLL: Final = 0.02
MOST_SECONDS: Final = 3.0
"""A life is ended within so many seconds after its first new row."""
SMALL_FILE: Final = 4_096
MOST_SAID: Final = 3_000
COMPLETED: Final = 0
FAILED: Final = 1
REFUSED: Final = 2
STOPPED: Final = 3


class Life:
    """One ``penstock run`` of a pipeline, with all that it starts."""

    def __init__(
        self,
        folder: Path,
        settings: dict[str, str],
        pipeline: str = ENDS,
        checkpoint: str | None = None,
    ) -> None:
        self.folder = folder
        self.settings = settings
        self.pipeline = pipeline
        self._mark = uuid.uuid4().hex
        self._said = (folder / "said").open("a+")
        self._before = self.rows
        assignments = [part for name in settings for part in ("--set", f"{name}={settings[name]}")]
        self.process = subprocess.Popen(
            [
                *(sys.executable, "-c", RUN, "run", pipeline),
                *("--checkpoint", checkpoint or str(folder / "checkpoint"), *assignments),
            ],
            cwd=ROOT,
            env={**os.environ, MARK: self._mark, "PYTHONFAULTHANDLER": "1"},
            # A pipe, and no file: of what it says nothing is to be lost on a full disk.
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with self._said, self.process.stdout:
            for line in self.process.stdout:
                self._said.write(line)
                self._said.flush()

    @property
    def rows(self) -> int:
        """How many lines the file of the first sink has."""
        file = self.folder / "out.jsonl"
        return file.read_bytes().count(b"\n") if file.exists() else 0

    def await_rows(self, seconds: float) -> bool:
        """Wait for the first new row, and so many seconds more; whether it still runs."""
        self._poll(lambda: self.rows > self._before, PATIENCE)
        self._poll(lambda: False, seconds)
        return self.process.poll() is None

    def kill_group(self) -> None:
        """As a power failure: nobody has time for anything."""
        os.killpg(self.process.pid, signal.SIGKILL)

    def kill_alone(self) -> None:
        """The program dies, and what it has started finds out by itself."""
        os.kill(self.process.pid, signal.SIGKILL)

    def kill_jvm(self) -> None:
        """The JVM dies under the program."""
        for process in marked(self._mark):
            if "org.apache.spark.deploy.SparkSubmit" in command_of(process):
                os.kill(process, signal.SIGKILL)

    def terminate_all(self) -> None:
        """As a service manager does: all processes get the signal."""
        for process in marked(self._mark):
            try:
                os.kill(process, signal.SIGTERM)
            except ProcessLookupError:
                pass

    @contextmanager
    def small_files(self) -> Iterator[None]:
        """As on a full disk: no file grows beyond a few kilobytes."""
        limits = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (SMALL_FILE, limits[1]))
        try:
            yield
        finally:
            if self.process.poll() is None:
                resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, limits)

    def await_end(self, seconds: float) -> None:
        """Wait for its end, but not for longer."""
        self._poll(lambda: self.process.poll() is not None, seconds)

    def end(self) -> int:
        """Wait until it and all that it has started are gone; the exit code."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill_group()  # else it would run for ever, and slow down all that follows
            raise
        self._poll(lambda: not marked(self._mark), PATIENCE)
        self._listening.join(PATIENCE)
        assert not marked(self._mark), "processes outlive the program that has started them"
        return code

    @property
    def said(self) -> str:
        """The last that the lives in this folder have printed."""
        return (self.folder / "said").read_text()[-MOST_SAID:]

    def _poll(self, condition: Callable[[], bool], patience: float) -> None:
        pause, until = threading.Event(), time.monotonic() + patience
        while not condition() and time.monotonic() < until:
            if self.process.poll() is not None and not marked(self._mark):
                return
            pause.wait(POLL)


Fault = Callable[[Life], set[int]]
"""Ends a life; the exit codes that it may have then."""


def group(life: Life) -> set[int]:
    life.kill_group()
    return {-signal.SIGKILL}


def alone(life: Life) -> set[int]:
    life.kill_alone()
    return {-signal.SIGKILL}


def jvm(life: Life) -> set[int]:
    life.kill_jvm()
    return {FAILED}


def everybody(life: Life) -> set[int]:
    life.terminate_all()
    return {STOPPED}


def full_disk(life: Life) -> set[int]:
    """A sink that cannot write ends the run; a journal waits, and goes on when there is space."""
    with life.small_files():
        life.await_end(MOST_SECONDS)
    life.terminate_all()
    return {FAILED, STOPPED}


def second_start(life: Life) -> set[int]:
    """Somebody starts the pipeline once more, which is refused and disturbs nobody.

    Unless the first one was done before the second had looked: then nobody is in its way.
    """
    second = Life(life.folder, life.settings, life.pipeline)
    code = second.end()
    was_done = code == COMPLETED and life.process.poll() == COMPLETED
    refused = code in (FAILED, REFUSED)
    assert refused or was_done, f"the second one ended with {code}:\n{second.said}"
    life.terminate_all()
    return {STOPPED}


FAULTS: Final[dict[str, Fault]] = {
    "kill -9 of the process group": group,
    "kill -9 of the program alone": alone,
    "kill -9 of the JVM alone": jvm,
    "SIGTERM to all processes": everybody,
    "disk full": full_disk,
    "two starts at once": second_start,
}


def suffer(
    folder: Path, settings: dict[str, str], fault: Fault, random: Random, pipeline: str = ENDS
) -> bool:
    """One life that ends by a fault; whether it came that far before it was done."""
    life = Life(folder, settings, pipeline)
    runs = life.await_rows(random.uniform(0.0, MOST_SECONDS))
    codes = fault(life) if runs else set()
    code = life.end()
    assert code in {COMPLETED, *codes}, f"ended with {code}, not one of {codes}:\n{life.said}"
    return runs


def finish(folder: Path, settings: dict[str, str], pipeline: str = ENDS) -> None:
    """The last life, which comes to its end."""
    life = Life(folder, settings, pipeline)
    code = life.end()
    assert code == COMPLETED, f"ended with {code}:\n{life.said}"


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """Each file that a sink wrote, when it was changed, and a digest of it."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )
        for pattern in ("out*", "out*/**/*", "function.txt")
        for path in folder.glob(pattern)
        if path.is_file()
    }
