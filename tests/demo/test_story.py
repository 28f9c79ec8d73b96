"""The demo, as its user sees it: real Spark, a real crash, the right totals."""

from __future__ import annotations

import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from penstock.demo.story import FEW
from tests.attacks.listening import Listener, listeners, listeners_in_the_eyes_of_ss
from tests.faults.processes import MARK, marked

FAST = ("--no-browser", "--speed", "40000")
WEEK = "the week           6,098        982"
LATE = """
import sys
from penstock.demo.story import DemoOptions, tell

phone, rows = sys.argv[1:]
options = DemoOptions(40000.0, True, phone == "slow", browser=False, crash_after=int(rows))
sys.exit(tell(options))
"""


def started(mark: str, *arguments: str) -> subprocess.Popen[str]:
    """A process whose output can be read; it and all that it starts have the mark."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_demo(*arguments: str, on_line: Callable[[str], object] = lambda mark: None) -> list[str]:
    """What it says; ``on_line`` is called with the mark of its processes whenever it does so."""
    mark, lines = secrets.token_hex(), []
    with started(mark, *arguments) as demo:
        assert demo.stdout is not None
        for line in demo.stdout:
            lines.append(line.removesuffix("\n"))
            on_line(mark)
    assert demo.returncode == 0, "\n".join(lines)
    return lines


@pytest.mark.full
@pytest.mark.timeout(300)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_demo_that_is_stopped_leaves_no_process(number: signal.Signals) -> None:
    mark = secrets.token_hex()
    with started(mark, "-m", "penstock.demo", *FAST) as demo:
        assert demo.stdout is not None
        said = next(line for line in demo.stdout if line.startswith("the page: "))
        demo.send_signal(number)
        said += demo.stdout.read()  # to the end of all that have it
    assert "blizzard stopped after" in said
    assert "Traceback" not in said
    assert marked(mark) == []


class Ears:
    """Where all processes of a demo have listened."""

    def __init__(self) -> None:
        self.found: set[Listener] = set()

    def check(self, mark: str) -> None:
        processes = marked(mark)
        before = listeners(processes)
        told = listeners_in_the_eyes_of_ss(processes)
        after = listeners(processes)
        self.found |= before | after | (told or set())
        if told is not None:
            assert before & after <= told  # others may have come or gone meanwhile


def require_right_totals(lines: list[str]) -> None:
    assert WEEK in lines
    assert " 8 February          930        472" in lines
    assert " 9 February          684        393" in lines
    assert lines[-1].startswith("a plain count of the same rows gives the same")


def require_crash_at(rows: int, lines: list[str]) -> None:
    killed = f"{rows} rows are on the board: kill -9 to the pipeline and to Spark."
    assert any(line.startswith(killed) for line in lines)
    assert any(line.startswith("killed and restarted; ") for line in lines)
    assert any("lost 0, duplicated 0" in line for line in lines)


@pytest.mark.timeout(600)
def test_a_demo_that_is_killed_in_the_middle_ends_with_the_same_totals() -> None:
    ears = Ears()
    lines = run_demo("-m", "penstock.demo", *FAST, "--crash", on_line=ears.check)
    require_right_totals(lines)
    require_crash_at(120, lines)
    require_loopback_only(ears, lines)
    pages = [line.partition("?token=")[0] for line in lines if line.startswith("the page: http")]
    assert len(pages) == 2
    assert len({*pages}) == 1  # a page that was open goes on; only what opens another one is new


def require_loopback_only(ears: Ears, lines: list[str]) -> None:
    pages = {
        int(port) for line in lines for port in re.findall(r"the page: http://.*:(\d+)/", line)
    }
    ports = {each.port for each in ears.found}
    assert pages <= ports
    assert len(ports - pages) >= 4  # the airport, Spark, and the port by which it calls, twice
    assert [each for each in ears.found if not each.is_private] == []


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("phone", ["fast", "slow"])
@pytest.mark.parametrize("rows", [340, 369])
def test_a_demo_that_is_killed_near_its_end_ends_with_the_same_totals(
    phone: str, rows: int
) -> None:
    """Nine in ten departures are on the board, or all but the last hour of one airport."""
    lines = run_demo("-c", LATE, phone, str(rows))
    require_right_totals(lines)
    require_crash_at(rows, lines)


@pytest.mark.full
@pytest.mark.timeout(600)
def test_the_pressure_of_a_slow_phone_reaches_the_source() -> None:
    lines = run_demo("-m", "penstock.demo", *FAST, "--slow-subscriber")
    require_right_totals(lines)
    assert any("'phone' is the slowest stage: it asks for 1 at a time" in line for line in lines)
    # The journals have room for so many rows, and neither websocket is asked for more.
    in_flight = [int(number) for line in lines for number in re.findall(r"(\d+) in flight", line)]
    assert FEW // 2 < max(in_flight) <= FEW + FEW // 8
