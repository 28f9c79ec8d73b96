"""The demo from its first line to its last: starts everything, and checks the totals."""

from __future__ import annotations

import os
import secrets
import signal
import socket
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Final

from penstock.demo.board import rows_on, totals_on
from penstock.demo.week import DAYS, Totals, known_totals
from penstock.pipeline.books import Books
from penstock.spark.checkpoint import Checkpoint

__all__ = ["Options", "tell"]

PIPELINE: Final = "penstock.demo.blizzard:pipeline"
CRASH_AFTER: Final = 120
"""The rows on the board at which the pipeline is killed; there are about 370 in the end."""
LOOK: Final = 0.2
MEMORY: Final = {"SPARK_DRIVER_MEMORY": "640m"}
"""Spark takes a gigabyte if it may; this much is plenty here."""
SLOW_PHONE: Final = 4.0
FEW: Final = 128
OPENING: Final = """\
A blizzard closed New York on 8 and 9 February 2013. Here is the week around it, {speed:,.0f} times
as fast: departures and weather come by websocket, Spark joins them and counts, and two sinks take
the rows. Spark needs a while to start; meanwhile the sources fill the journal, and then they wait.
"""


@dataclass(frozen=True)
class Options:
    """What can be chosen.

    ``crash``    kill the pipeline with ``kill -9`` in the middle, and start it again
    ``slow``     let the phone take only a few rows a second
    ``browser``  open the page
    """

    speed: float = 7200.0
    crash: bool = False
    slow: bool = False
    browser: bool = True
    port: int = 0


def tell(options: Options) -> int:
    """Run the demo; 0 if the totals are right."""
    began = monotonic()
    print(OPENING.format(speed=options.speed), flush=True)
    with ExitStack() as around:
        folder = Path(around.enter_context(tempfile.TemporaryDirectory(prefix="penstock-demo-")))
        address = around.enter_context(airport(options.speed))
        show = Show(options, folder, address)
        code = show.run()
        if code:
            return code
        found, known = totals_on(show.board), known_totals()
        books = Books.opened(Checkpoint(show.checkpoint)) or Books()
    print(answer(found, known, books, monotonic() - began), flush=True)
    return 0 if found == known else 1


@contextmanager
def airport(speed: float) -> Iterator[str]:
    """The outside world, in a process of its own; its address."""
    command = [sys.executable, "-m", "penstock.demo.airport", "--speed", str(speed)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


class Show:
    """The pipeline in a process of its own, so that it can be killed."""

    def __init__(self, options: Options, folder: Path, airport: str) -> None:
        self.board = folder / "board.sqlite"
        self.checkpoint = folder / "checkpoint"
        self._options = options
        self._airport = airport
        self._port = options.port or free_port()
        self._token = secrets.token_urlsafe(24)
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """From the start to the end, with a crash between them if that is wanted."""
        before = signal.signal(signal.SIGINT, self._interrupt)
        try:
            self._start()
            if self._options.browser and has_screen() and self._serves():
                webbrowser.open(f"http://127.0.0.1:{self._port}/?token={self._token}")
            if self._options.crash and self._is_there_by(CRASH_AFTER):
                self._kill()
                self._start()
            assert self._process is not None
            return self._process.wait()
        finally:
            signal.signal(signal.SIGINT, before)
            self._kill()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "run", PIPELINE, *self._arguments()],
            env={**MEMORY, **os.environ, "PENSTOCK_DASHBOARD_TOKEN": self._token},
            start_new_session=True,
        )

    def _arguments(self) -> Iterator[str]:
        yield from ("--checkpoint", str(self.checkpoint))
        yield from ("--dashboard", "--port", str(self._port))
        yield from ("--set", f"airport={self._airport}", "--set", f"board={self.board}")
        if self._options.slow:
            yield from ("--set", f"phone_rate={SLOW_PHONE}", "--set", f"held={FEW}")

    def _is_there_by(self, rows: int) -> bool:
        """Wait until the board has that many rows; whether the pipeline still runs then."""
        runs = self._runs_until(lambda: rows_on(self.board) >= rows)
        if runs:
            print(f"\n{rows} rows are on the board: kill -9 to it and to Spark\n", flush=True)
        return runs

    def _serves(self) -> bool:
        """Wait until the page is there; whether it is."""
        return self._runs_until(lambda: is_open(self._port))

    def _runs_until(self, condition: Callable[[], bool]) -> bool:
        """Wait for a condition; whether the pipeline still runs then."""
        assert self._process is not None
        while not condition():
            try:
                self._process.wait(LOOK)
                return False
            except subprocess.TimeoutExpired:
                pass
        return True

    def _kill(self) -> None:
        """All its processes, at once: Spark's are in the same session."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()

    def _interrupt(self, *_: Any) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)


def has_screen() -> bool:
    """Whether a browser could show anything."""
    return sys.platform != "linux" or bool({"DISPLAY", "WAYLAND_DISPLAY"} & os.environ.keys())


def is_open(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def free_port() -> int:
    """A port that nobody uses, so that the page has the same address after a restart."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answer(found: Totals, known: Totals, books: Books, seconds: float) -> str:
    """The totals in words."""
    lines = [f"\n{'':<14}{'scheduled':>10}{'cancelled':>11}"]
    for day in DAYS:
        departures, cancelled = found.departures.get(day, 0), found.cancelled.get(day, 0)
        lines.append(f"{day:>2} February   {departures:>10,}{cancelled:>11,}")
    lines.append(
        f"{'the week':<14}{sum(found.departures.values()):>10,}{sum(found.cancelled.values()):>11,}"
    )
    if books.restarts:
        lines.append(f"killed and restarted; {books.replayed:,} rows were done once more")
    right = "a plain count of the same rows gives the same" if found == known else f"WRONG: {known}"
    lines.append(f"{right}; {seconds:.0f} s")
    return "\n".join(lines)
