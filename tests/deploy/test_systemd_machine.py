"""The unit as it is, run by a real systemd: ready, restarted, ended by the watchdog, drained."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from tests.deploy.systemd_machine import SystemdMachine
from tests.deploy.test_files import text_of

PIPELINE = """
import os
from penstock import Flow
from penstock.connectors import write_json_lines
from penstock.pipeline import Pipeline

FOLDER = os.environ["STATE_DIRECTORY"]

def numbers(settings):
    return Flow.zip(Flow.range(10**9), Flow.interval(0.01)).map(lambda pair: (pair[0],))

def even(numbers):
    rows = numbers.on_spark("number long", resume="from_start", batch_rows=2_000)
    return rows.filter(lambda row: row.number % 2 == 0)

pipeline = Pipeline(
    "warmth",
    sources={"numbers": numbers},
    transform=even,
    sinks={"file": lambda settings: write_json_lines(f"{FOLDER}/numbers.jsonl")},
)
"""
FILE = "numbers.jsonl"


@pytest.mark.full
@pytest.mark.systemd_machine
@pytest.mark.timeout(480)
def test_the_unit_runs_a_pipeline_on_spark_and_no_end_loses_a_row(tmp_path: Path) -> None:
    with SystemdMachine(tmp_path, text_of("systemd", "penstock@.service"), "warmth") as machine:
        (machine.opt / "pipeline.py").write_text(PIPELINE)
        (machine.opt / "penstock.toml").write_text("")
        service = "penstock@warmth"
        # It returns when the service has said that it is ready.
        code, words = machine.systemctl("start", service)
        assert code == 0, (words, machine.systemctl("status", service))
        assert machine.shown("StatusText").startswith("warmth running")
        assert owner(machine) != 0
        machine.wait_for_lines(FILE, 100)

        # A kill -9 to all its processes: it is started again by itself.
        machine.systemctl("kill", "--signal=KILL", service)
        machine.wait_for_property("NRestarts", "1")
        machine.wait_for_property("ActiveState", "active")
        machine.wait_for_lines(FILE, len(machine.lines(FILE)) + 100)

        # One that is stuck: the watchdog sees that nothing is said any more.
        os.kill(outside(machine), signal.SIGSTOP)
        machine.wait_for_property("NRestarts", "2")
        machine.wait_for_property("ActiveState", "active")
        machine.wait_for_lines(FILE, len(machine.lines(FILE)) + 100)

        # A stop drains: to the manager, that is a success.
        assert machine.systemctl("stop", service)[0] == 0
        assert machine.shown("ActiveState") == "inactive"
        assert machine.shown("Result") == "success"
        assert machine.shown("ExecMainStatus") == "3"
        numbers = [json.loads(line)["number"] for line in machine.lines(FILE)]
    assert numbers == [2 * place for place in range(len(numbers))]
    assert len(numbers) > 300


def outside(machine: SystemdMachine) -> int:
    """The number that the main process has out here."""
    inside = machine.shown("MainPID")
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and "penstock.cli" in read(folder / "cmdline"):
            (numbers,) = [
                line for line in read(folder / "status").split("\n") if line.startswith("NSpid")
            ]
            if numbers.split()[-1] == inside and len(numbers.split()) > 2:
                return int(folder.name)
    raise AssertionError(f"there is no process {inside}")


def owner(machine: SystemdMachine) -> int:
    """The user that the main process has."""
    return Path(f"/proc/{outside(machine)}").stat().st_uid


def read(file: Path) -> str:
    try:
        return file.read_text()
    except OSError:  # it has just ended
        return ""
