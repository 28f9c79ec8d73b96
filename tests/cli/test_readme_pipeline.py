"""The pipeline of the README as it is printed there, killed and started again."""

from __future__ import annotations

import json
import re
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from penstock import Flow, ThreadPool
from penstock.connectors import Request, serve_websocket
from tests.cli.processes import ROOT, RunningCommand, penstock_command

KILLS: Final = 3
PART: Final = 6_000
FLIGHTS: Final = (KILLS + 1) * PART
OFTEN: Final = 0.002


def flight(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "origin": ("EWR", "JFK", "LGA")[number % 3],
        "delay": number + 0.5 if number % 4 else -1.0,
    }


class Departures:
    """Flights after any position, as far as the test has let them depart."""

    def __init__(self) -> None:
        self._departed = 0
        self._news = threading.Condition()

    def let_depart(self, number: int) -> None:
        with self._news:
            self._departed = number
            self._news.notify_all()

    def __call__(self, request: Request) -> Flow[Any]:
        first = 0 if request.after is None else request.after + 1
        return Flow.from_iterable(self._flights(first)).subscribe_on(ThreadPool())

    def _flights(self, first: int) -> Iterator[dict[str, Any]]:
        for number in range(first, FLIGHTS):
            with self._news:
                self._news.wait_for(lambda number=number: number < self._departed)  # type: ignore[misc]  # mypy takes the default for an argument
            yield flight(number)


def program(address: str) -> str:
    """The block of the README, with the address of the test's own server."""
    readme = (ROOT / "README.md").read_text()
    (block,) = re.findall(r"```python\n(# late.py: .*?)```", readme, re.DOTALL)
    assert block.count("ws://localhost:8765") == 1
    return str(block.replace("ws://localhost:8765", address))


def wait_for_more(file: Path, command: RunningCommand, before: int) -> None:
    """Wait until the file is longer; the timeout of the test bounds how long that may take."""
    pause = threading.Event()
    while size_of(file) <= before:
        assert command.is_running, command.end()
        pause.wait(OFTEN)


def size_of(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


@pytest.mark.full
@pytest.mark.timeout(900)
def test_the_file_has_each_row_once_although_the_pipeline_is_killed_three_times(
    tmp_path: Path,
) -> None:
    departures = Departures()
    file = tmp_path / "late.jsonl"
    arguments = ("run", "late:pipeline", "--checkpoint", "late-flights")
    with serve_websocket(departures) as server:
        (tmp_path / "late.py").write_text(program(server.address))
        for part in range(1, KILLS + 1):
            before = size_of(file)
            departures.let_depart(part * PART)
            with RunningCommand(*arguments, folder=tmp_path) as command:
                wait_for_more(file, command, before)
                command.kill()
                assert command.end().code == -9
        departures.let_depart(FLIGHTS)
        completed = penstock_command(*arguments, folder=tmp_path)
        assert completed.code == 0, completed.err

        late = [
            {"origin": each["origin"], "delay": each["delay"]}
            for each in map(flight, range(FLIGHTS))
            if each["delay"] > 15
        ]
        counted = subprocess.run(
            ["wc", "-l", "late.jsonl"], cwd=tmp_path, check=True, capture_output=True, text=True
        )
        assert counted.stdout.split() == [str(len(late)), "late.jsonl"]
        rows = [json.loads(line) for line in file.read_text().splitlines()]
        assert sorted(rows, key=lambda row: row["delay"]) == late

        checked = penstock_command("check", "late:pipeline", *arguments[2:], "--no-spark",
                                   folder=tmp_path)  # fmt: skip
        assert f"exactly once; goes on in late.jsonl after {size_of(file):,} bytes" in checked.out

        before_again = file.read_bytes(), file.stat().st_mtime_ns
        again = penstock_command(*arguments, folder=tmp_path)
        assert again.code == 0, again.err
        assert (file.read_bytes(), file.stat().st_mtime_ns) == before_again
