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
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from random import sample
from time import monotonic
from typing import Any, Final
from urllib.request import Request, urlopen

from penstock.demo.board import hours_on, rows_on, totals_on
from penstock.demo.week import DAYS, Totals, known_hours, known_totals
from penstock.pipeline.history import RunHistory
from penstock.spark.checkpoint import Checkpoint

__all__ = ["DemoOptions", "tell"]

PIPELINE: Final = "penstock.demo.blizzard:pipeline"
POLL: Final = 0.2
PORTS: Final = range(20_000, 30_000)
SMALL_SPARK: Final = {
    # It takes a gigabyte if it may; this much is plenty here.
    "SPARK_DRIVER_MEMORY": "640m",
    # The demo ends before the optimising compiler would pay: half of the processor's time is saved.
    "SPARK_SUBMIT_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
SLOW_PHONE: Final = 4.0
FEW: Final = 128
OPENING: Final = """\
A blizzard closed New York on 8 and 9 February 2013. Here is the week around it, {speed:,.0f} times
as fast: departures and weather come by websocket, Spark joins them and counts, and two sinks take
the rows. Spark needs a while to start; meanwhile the sources fill the journal, and then they wait.
"""
SLOWLY: Final = f"""\
The phone takes {SLOW_PHONE:.0f} rows a second. All others wait for it, back to the websockets:
once {FEW} departures wait for Spark, no more are asked for.
"""
CRASHING: Final = """\
With {rows} of 370 rows on the board, the pipeline and Spark are killed and started again.
"""
KILLED: Final = """
{rows} rows are on the board: kill -9 to the pipeline and to Spark. Now they start again.
"""


@dataclass(frozen=True)
class DemoOptions:
    """What can be chosen.

    ``crash``        kill the pipeline with ``kill -9`` in the middle, and start it again
    ``slow``         let the phone take only a few rows a second
    ``browser``      open the page
    ``crash_after``  the rows on the board at which it is killed; the week has 370
    """

    speed: float = 7200.0
    crash: bool = False
    slow: bool = False
    browser: bool = True
    port: int = 0
    crash_after: int = 120


def tell(options: DemoOptions) -> int:
    """Run the demo; 0 if the totals are right."""
    began = monotonic()
    print(opening(options), flush=True)
    with ExitStack() as around:
        folder = Path(around.enter_context(tempfile.TemporaryDirectory(prefix="penstock-demo-")))
        airport = around.enter_context(AirportProcess(options.speed))
        show = Show(options, folder, airport)
        code = show.run()
        if code:
            return code
        found, known = totals_on(show.board), known_totals()
        history = RunHistory.opened(Checkpoint(show.checkpoint)) or RunHistory()
    print(answer(found, known, history, monotonic() - began), flush=True)
    return 0 if found == known else 1


def opening(options: DemoOptions) -> str:
    """What will be seen."""
    words = OPENING.format(speed=options.speed)
    if options.slow:
        words += SLOWLY
    if options.crash:
        words += CRASHING.format(rows=options.crash_after)
    return words


STOP: Final = (signal.SIGINT, signal.SIGTERM)
"""The pipeline does not get these signals from the terminal: it has its own session."""


class AirportProcess:
    """The outside world, in a separate process."""

    def __init__(self, speed: float) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock.demo.airport", "--speed", str(speed)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.address = self._process.stdout.readline().strip()

    def close(self) -> None:
        """Let it have no more departures, and no more weather."""
        assert self._process.stdin is not None
        print("close", file=self._process.stdin, flush=True)

    def __enter__(self) -> AirportProcess:
        return self

    def __exit__(self, *_: object) -> None:
        with self._process:
            self._process.terminate()


class Show:
    """The pipeline in a separate process, so that it can be killed."""

    def __init__(self, options: DemoOptions, folder: Path, airport: AirportProcess) -> None:
        self.board = folder / "board.sqlite"
        self.checkpoint = folder / "checkpoint"
        self._options = options
        self._airport = airport
        self._port = options.port or free_port()
        self._token = secrets.token_urlsafe(24)
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> int:
        """From the start until the week is on the board, with a crash between if that is wanted."""
        before = {number: signal.signal(number, self._interrupt) for number in STOP}
        try:
            self._start()
            if self._options.browser and has_screen() and self._serves():
                webbrowser.open(self._address())
            if self._options.crash and self._runs_until(self._is_time_to_crash):
                self._kill()
                print(KILLED.format(rows=self._options.crash_after), flush=True)
                self._start()
            hours = known_hours()
            # It would go on for two more days: only now is it known that nobody needs them.
            if self._runs_until(lambda: hours <= hours_on(self.board)):
                self._airport.close()
            assert self._process is not None
            return self._process.wait()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            self._kill()

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "penstock", "run", PIPELINE, *self._arguments()],
            env={**SMALL_SPARK, **os.environ, "PENSTOCK_DASHBOARD_TOKEN": self._token},
            start_new_session=True,
        )

    def _arguments(self) -> Iterator[str]:
        yield from ("--checkpoint", str(self.checkpoint))
        yield from ("--dashboard", "--port", str(self._port))
        yield from ("--set", f"airport={self._airport.address}", "--set", f"board={self.board}")
        if self._options.slow:
            yield from ("--set", f"phone_rate={SLOW_PHONE}", "--set", f"held={FEW}")

    def _address(self) -> str:
        """One that opens the page once: others can read what a browser is called with."""
        request = Request(
            f"http://127.0.0.1:{self._port}/address",
            headers={"Authorization": f"Bearer {self._token}"},
        )
        with urlopen(request) as response:
            return str(response.read().decode().strip())

    def _is_time_to_crash(self) -> bool:
        return rows_on(self.board) >= self._options.crash_after

    def _serves(self) -> bool:
        """Wait until the page is there; whether it is."""
        return self._runs_until(lambda: is_open(self._port))

    def _runs_until(self, condition: Callable[[], bool]) -> bool:
        """Wait for a condition; whether the pipeline still runs then."""
        assert self._process is not None
        while not condition():
            try:
                self._process.wait(POLL)
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
    """A port that nobody uses, so that the page has the same address after a restart.

    None of those that the system assigns to outgoing connections: it might assign this one
    meanwhile.
    """
    for port in sample(PORTS, len(PORTS)):
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port
    raise OSError(f"no port from {PORTS.start} to {PORTS.stop - 1} is free; give one by --port")


def answer(found: Totals, known: Totals, history: RunHistory, seconds: float) -> str:
    """The totals in words."""
    lines = [f"\n{'':<14}{'scheduled':>10}{'cancelled':>11}"]
    for day in DAYS:
        departures, cancelled = found.departures.get(day, 0), found.cancelled.get(day, 0)
        lines.append(f"{day:>2} February   {departures:>10,}{cancelled:>11,}")
    lines.append(
        f"{'the week':<14}{sum(found.departures.values()):>10,}{sum(found.cancelled.values()):>11,}"
    )
    if history.restarts:
        lines.append(f"killed and restarted; {history.replayed:,} rows were done once more")
    right = "a plain count of the same rows gives the same" if found == known else f"WRONG: {known}"
    lines.append(f"{right}; {seconds:.0f} s")
    return "\n".join(lines)
