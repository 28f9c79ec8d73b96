"""The guide to a database that has each row once, followed as it is printed."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

import pytest

from tests.cli.processes import ROOT, RunningCommand, penstock_command

PAGE: Final = (ROOT / "docs" / "exactly-once.md").read_text()
RUN: Final = ("run", "pipeline:pipeline", "--checkpoint", "checkpoint")
OFTEN: Final = 0.01


@pytest.fixture(name="folder")
def folder_fixture(tmp_path: Path) -> Path:
    """A folder with the two programs of the page, after the first of them has run."""
    orders, pipeline = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "make_orders.py").write_text(orders)
    (tmp_path / "pipeline.py").write_text(pipeline)
    subprocess.run([sys.executable, "make_orders.py"], cwd=tmp_path, check=True)
    return tmp_path


def counted(folder: Path) -> str:
    """What the page's own command prints, by SQLite's own shell or, without it, by Python."""
    (query,) = re.findall(r'^sqlite3 orders.db "(.*)"$', PAGE, re.MULTILINE)
    if shutil.which("sqlite3") is not None:
        command = ["sqlite3", "orders.db", query]
        return subprocess.run(
            command, cwd=folder, check=True, capture_output=True, text=True
        ).stdout.strip()
    database = sqlite3.connect(folder / "orders.db")
    try:
        return "|".join(map(str, database.execute(query).fetchone()))
    finally:
        database.close()


def rows_in(folder: Path) -> int:
    """How many rows there are, 0 without a table."""
    if not (folder / "orders.db").exists():
        return 0
    database = sqlite3.connect(folder / "orders.db")
    try:
        found: int = database.execute("SELECT count(*) FROM orders").fetchone()[0]
    except sqlite3.OperationalError:
        return 0
    finally:
        database.close()
    return found


def test_the_pipeline_of_the_page_is_exactly_once(folder: Path) -> None:
    checked = penstock_command("check", *RUN[1:], "--no-spark", folder=folder)
    assert checked.code == 0, checked.err
    assert re.search(r"ok +table +exactly once; makes orders.db", checked.out), checked.out


@pytest.mark.full  # every time, the sink goes through the fault series in tests/faults
@pytest.mark.timeout(900)
def test_each_row_is_there_once_although_it_is_killed(folder: Path) -> None:
    pause = threading.Event()
    for _ in range(2):
        before = rows_in(folder)
        with RunningCommand(*RUN, folder=folder) as command:
            while rows_in(folder) <= before:
                assert command.is_running, command.end()
                pause.wait(OFTEN)
            command.kill()
            assert command.end().code == -9
    assert rows_in(folder) < 99_900
    assert penstock_command(*RUN, folder=folder).code == 0
    assert f"\n{counted(folder)}\n" in PAGE

    (folder / "checkpoint").rename(folder / "elsewhere")
    refused = penstock_command(*RUN, folder=folder)
    assert refused.code == 1
    of_another_checkpoint, of_a_backup = re.findall(r"^failed: .*$", PAGE, re.MULTILINE)
    assert of_another_checkpoint in refused.err
    assert f"\n{counted(folder)}\n" in PAGE

    shutil.rmtree(folder / "checkpoint")  # that of the run that was refused
    (folder / "elsewhere").rename(folder / "checkpoint")
    database = sqlite3.connect(folder / "orders.db")
    (mark,) = database.execute("SELECT mark FROM penstock_delivery").fetchone()
    backup = json.dumps({**json.loads(mark), "batch": 3})
    database.execute("UPDATE penstock_delivery SET mark = ?", [backup])
    database.commit()
    database.close()
    refused = penstock_command(*RUN, folder=folder)
    assert refused.code == 1
    assert of_a_backup in refused.err
