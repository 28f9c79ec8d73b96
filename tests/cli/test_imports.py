"""The command line loads nothing before it is needed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import penstock

HEAVY = {
    "httpx",
    "opentelemetry",
    "pandas",
    "prometheus_client",
    "pyarrow",
    "pyspark",
    "starlette",
    "uvicorn",
    "websockets",
}
REPORT = """
import atexit, sys, time
def report():
    print(*sys.modules, file=sys.stderr)
    print(time.process_time(), file=sys.stderr)
atexit.register(report)
from penstock.cli import main
main()
"""


def loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", REPORT, *arguments],
        check=True,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(Path(penstock.__path__[0]).parent)},
    )
    *_, modules, seconds = done.stderr.splitlines()
    sys.stdout.write(f"penstock {' '.join(arguments)}: {float(seconds) * 1_000:.0f} ms of CPU\n")
    return {module.partition(".")[0] for module in modules.split()}


@pytest.mark.parametrize("command", ["", "run", "check", "init", "demo", "doctor"])
def test_help_loads_nothing_heavy(command: str) -> None:
    loaded = loaded_by(*command.split(), "--help")
    assert "click" in loaded
    assert loaded & HEAVY == set()


def test_doctor_finds_packages_without_loading_them() -> None:
    assert loaded_by("doctor") & HEAVY == set()
