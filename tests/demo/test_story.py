"""The demo, as whoever runs it sees it: real Spark, a real crash, the right totals."""

from __future__ import annotations

import subprocess
import sys

import pytest

FAST = ("--no-browser", "--speed", "40000")
WEEK = "the week           6,098        982"


def run_demo(*options: str) -> list[str]:
    command = [sys.executable, "-m", "penstock.demo", *FAST, *options]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()


def require_right_totals(lines: list[str]) -> None:
    assert WEEK in lines
    assert " 8 February          930        472" in lines
    assert " 9 February          684        393" in lines
    assert lines[-1].startswith("a plain count of the same rows gives the same")


@pytest.mark.timeout(600)
def test_a_demo_that_is_killed_in_the_middle_ends_with_the_same_totals() -> None:
    lines = run_demo("--crash")
    require_right_totals(lines)
    assert "120 rows are on the board: kill -9 to it and to Spark" in lines
    assert any(line.startswith("killed and restarted; ") for line in lines)
    assert any("lost 0, duplicated 0" in line for line in lines)
    addresses = {line for line in lines if line.startswith("the page: http://127.0.0.1:")}
    assert len(addresses) == 1  # the same before and after


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_pressure_of_a_slow_phone_reaches_the_source() -> None:
    lines = run_demo("--slow-subscriber")
    require_right_totals(lines)
    assert any("The phone is the slowest stage: it asks for 1 at a time" in line for line in lines)
    # All that may wait does: neither journal has room, so neither websocket is asked for more.
    assert any("departures 128 (0/s), weather 16 (0/s)" in line for line in lines)
