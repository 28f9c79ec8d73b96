"""The processes of the soak: the feed, which lives on, and the pipeline, which is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import uuid
from pathlib import Path
from typing import Final

from tests.faults.processes import MARK, marked
from tests.soak.feed import HOW_MANY, LOOPBACK, POSITION, Clockwork, received

__all__ = ["FeedProcess", "PipelineProgram"]

ROOT: Final = Path(__file__).parents[2]
PATIENCE: Final = 60.0
GLANCE: Final = 0.05


class FeedProcess:
    """The source; it outlives all kills."""

    def __init__(self, folder: Path, rate: int, rows: int) -> None:
        file = folder / "feed"
        command = [sys.executable, "-m", "tests.soak.feed", str(file)]
        command += ["--rate", str(rate), "--rows", str(rows)]
        self._process = subprocess.Popen(command, cwd=ROOT)
        pause = threading.Event()
        while not file.exists():
            if self._process.poll() is not None:
                raise RuntimeError(f"the feed ended with {self._process.returncode}")
            pause.wait(GLANCE)
        port, began = file.read_text().split()
        self.port = int(port)
        self.clockwork = Clockwork(int(began), rate, rows)

    def taken(self) -> int:
        """How many rows were read of it at least once."""
        with socket.create_connection((LOOPBACK, self.port), PATIENCE) as connection:
            connection.sendall(POSITION.pack(HOW_MANY))
            number: int = POSITION.unpack(received(connection, POSITION.size))[0]
            return number

    def end(self) -> None:
        """It is needed no more."""
        self._process.kill()
        self._process.wait()


class PipelineProgram:
    """``penstock run`` in a session of its own, from wherever its checkpoint is."""

    def __init__(self, folder: Path, port: int, batch_rows: int) -> None:
        self._port = port
        self._batch_rows = batch_rows
        self._mark = uuid.uuid4().hex
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("tmp", "checkpoint"):
            (folder / name).mkdir(exist_ok=True)
        self._said = folder / "said"
        self.sink = folder / "rows"
        self.checkpoint = folder / "checkpoint"
        self.temporary = folder / "tmp"

    def start(self) -> None:
        """What it writes goes to the end of one file, and Spark's own files into one folder."""
        command = [sys.executable, "-m", "penstock", "run", "tests.soak.pipeline:pipeline"]
        command += ["--set", f"port={self._port}", "--set", f"sink={self.sink}"]
        command += ["--set", f"batch_rows={self._batch_rows}"]
        command += ["--checkpoint", str(self.checkpoint)]
        environment = {**os.environ, MARK: self._mark, "TMPDIR": str(self.temporary)}
        with self._said.open("ab") as said:
            self._process = subprocess.Popen(
                command,
                cwd=ROOT,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    @property
    def number(self) -> int:
        """The number of the process."""
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def last_word(self) -> str:
        """The last line that it has written."""
        lines = self._said.read_text(errors="replace").splitlines()
        return lines[-1] if lines else "without a word"

    def kill(self) -> int:
        """``kill -9`` of all its processes; how many are still there after a while."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        return self.survivors()

    def survivors(self) -> int:
        """How many processes of a dead program are there, once they had a minute to end."""
        pause = threading.Event()
        for _ in range(int(PATIENCE / GLANCE)):
            if not marked(self._mark):
                return 0
            pause.wait(GLANCE)
        return len(marked(self._mark))
