"""What a run takes of its machine, by a table of processes of the test, and by the real one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.observe import ProcessUse
from penstock.observe.machine import ELSEWHERE, EVERY, MachineMeter

PAGE = os.sysconf("SC_PAGE_SIZE")
TICKS = os.sysconf("SC_CLK_TCK")


class Table:
    """A folder like ``/proc``, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 0.0

    def process(self, number: int, name: str, seconds: float, pages: int, *children: int) -> None:
        place = self.folder / str(number)
        (place / "task" / str(number)).mkdir(parents=True, exist_ok=True)
        rest = " ".join(["S", *["0"] * 10, str(round(seconds * TICKS)), "0", *["0"] * 20])
        (place / "stat").write_text(f"{number} ({name}) {rest}\n")
        (place / "statm").write_text(f"9999 {pages} 0 0 0 0 0\n")
        (place / "task" / str(number) / "children").write_text(" ".join(map(str, children)))

    def meter(self) -> MachineMeter:
        return MachineMeter(proc=self.folder, clock=lambda: self.now, process=1)


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def test_processes_are_told_apart_by_who_has_started_them(table: Table) -> None:
    table.process(1, "python", 10, 100, 2, 7)
    table.process(2, "java", 20, 200, 3)
    table.process(3, "python3 (odd) name", 1, 30, 4, 5)
    table.process(4, "python3", 1, 40)
    table.process(5, "python3", 1, 50)
    table.process(7, "psql", 1, 60)
    meter = table.meter()
    first = meter.status()
    assert first.processes == (
        ProcessUse("this program", 1, None, 100 * PAGE),
        ProcessUse("Spark's JVM", 1, None, 200 * PAGE),
        ProcessUse("Python workers", 3, None, 120 * PAGE),
        ProcessUse("other processes", 1, None, 60 * PAGE),
    )
    table.process(1, "python", 11, 100, 2, 7)
    table.process(4, "python3", 2, 40)
    table.process(5, "python3", 2, 50)
    assert meter.status() is first  # it was looked at a moment ago
    table.now += EVERY
    cores = {each.name: each.cores for each in meter.status().processes}
    assert cores == {
        "this program": 0.5,
        "Spark's JVM": 0,
        "Python workers": 1.0,
        "other processes": 0,
    }


def test_a_process_that_is_gone_or_new_does_no_harm(table: Table) -> None:
    table.process(1, "python", 1, 100, 2, 3)
    table.process(2, "java", 5, 200)
    meter = table.meter()
    assert [each.name for each in meter.status().processes] == ["this program", "Spark's JVM"]
    (table.folder / "2" / "stat").unlink()
    table.process(3, "helper", 1, 10)
    table.now += EVERY
    assert [each.name for each in meter.status().processes] == ["this program", "other processes"]


def test_a_circle_of_processes_ends(table: Table) -> None:
    table.process(1, "python", 1, 1, 2)
    table.process(2, "sh", 1, 1, 2)
    assert sum(each.processes for each in table.meter().status().processes) < 10


def test_the_real_table_has_this_process_and_its_children() -> None:
    waiting = "input()"
    with subprocess.Popen([sys.executable, "-c", waiting], stdin=subprocess.PIPE) as child:
        found = {each.name: each for each in MachineMeter().status().processes}
        kept = Path("/proc/self/status").read_text()
        child.communicate(b"\n")
    (resident,) = (int(line.split()[1]) for line in kept.splitlines() if line.startswith("VmRSS"))
    assert found["this program"].memory == pytest.approx(resident * 1024, rel=0.2)
    assert found["other processes"].processes >= 1


def test_elsewhere_it_says_what_is_not_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    status = MachineMeter(str(tmp_path / "not" / "there" / "yet")).status()
    assert (status.processes, status.note) == ((), ELSEWHERE)
    assert status.disk_free is not None
    assert status.disk_total is not None
    assert 0 < status.disk_free <= status.disk_total


@pytest.mark.parametrize("place", [None, "s3://bucket/checkpoint", "hdfs://host/checkpoint"])
def test_of_a_checkpoint_that_is_elsewhere_no_disk_is_known(place: str | None) -> None:
    status = MachineMeter(place).status()
    assert (status.disk_free, status.disk_total) == (None, None)
