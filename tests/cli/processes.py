"""``penstock`` as a process of its own, with real output and real signals."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Final, NamedTuple

import penstock
from tests.faults.processes import MARK, command_of, marked

__all__ = ["Ended", "RunningCommand", "penstock_command"]

ROOT: Final = Path(__file__).parents[2]
RUN: Final = "from penstock.cli import main; main()"


class Ended(NamedTuple):
    """What is left when a process has ended."""

    code: int
    out: str
    err: str


class RunningCommand:
    """A command that is waited for by what it prints."""

    def __init__(
        self, *arguments: str, folder: Path = ROOT, environment: Mapping[str, str] | None = None
    ) -> None:
        source = Path(penstock.__path__[0]).parent
        self._mark = uuid.uuid4().hex
        self._process = subprocess.Popen(
            [sys.executable, "-c", RUN, *arguments],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": f"{source}{os.pathsep}{ROOT}",
                "COLUMNS": "200",
                MARK: self._mark,
                **(environment or {}),
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            start_new_session=True,
        )
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.out = Output(self._process.stdout)
        self.err = Output(self._process.stderr)

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def interrupt(self) -> None:
        """As Ctrl-C does: all processes of the terminal's foreground get the signal."""
        os.killpg(self._process.pid, signal.SIGINT)

    def terminate(self) -> None:
        """The process alone gets the signal."""
        self._process.terminate()

    def signal_all(self, number: signal.Signals) -> None:
        """As a service manager does: all processes get the signal, also those of other groups."""
        for process in self.processes():
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, number)

    def processes(self, command: str = "") -> list[int]:
        """All that was started and lives, with this text in its command."""
        return [each for each in marked(self._mark) if command in command_of(each)]

    def wait_for_processes(self, condition: Callable[[], object]) -> None:
        """Until processes are as they should be; the timeout of the test bounds how long."""
        pause = threading.Event()
        while not condition():
            pause.wait(0.02)

    def kill_alone(self) -> None:
        """The process has no time for anything; nobody tells its JVM."""
        self._process.kill()

    def kill(self) -> None:
        """As a power failure does: the process and its JVM have no time for anything."""
        os.killpg(self._process.pid, signal.SIGKILL)

    def end(self) -> Ended:
        """Wait for the end."""
        out, err = self.out.rest(), self.err.rest()
        return Ended(self._process.wait(), out, err)

    def __enter__(self) -> RunningCommand:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self.out.close()
        self.err.close()


class Output:
    """What a process prints, read by a thread so that it never has to wait for us."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream
        self._lines: list[str] = []
        self._news = threading.Condition()
        self._over = False
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def wait_for(self, text: str) -> str:
        """The first line with that text; the timeout of the test bounds how long that may take."""
        checked = 0
        with self._news:
            while True:
                for line in self._lines[checked:]:
                    if text in line:
                        return line
                checked = len(self._lines)
                assert not self._over, f"{text!r} is not in {''.join(self._lines)}"
                self._news.wait()

    def rest(self) -> str:
        """All of it, when the process has closed it."""
        self._thread.join()
        return "".join(self._lines)

    def close(self) -> None:
        self._thread.join()
        self._stream.close()

    def _read(self) -> None:
        for line in self._stream:
            with self._news:
                self._lines.append(line)
                self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()


def penstock_command(*arguments: str, folder: Path = ROOT) -> Ended:
    """Run a command to its end."""
    with RunningCommand(*arguments, folder=folder) as command:
        return command.end()
