"""``penstock run`` as systemd starts it: its socket, its watchdog, its signal to all processes."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.cli.processes import RunningCommand, penstock_command
from tests.deploy.notified import NotifySocket

PIPELINES = "tests.cli.pipelines"


def test_it_is_ready_when_it_runs_and_its_watchdog_is_fed_until_it_stops(tmp_path: Path) -> None:
    with (
        NotifySocket(tmp_path) as manager,
        RunningCommand(
            "run", f"{PIPELINES}:ticking", environment=manager.environment(watchdog=0.3)
        ) as command,
    ):
        assert "WATCHDOG=1" in manager.wait_for("READY=1")
        manager.wait_for("WATCHDOG=1", times=3)
        command.signal_all(signal.SIGTERM)
        assert manager.wait_for("STOPPING=1")[-1].startswith("STATUS=ticking ")
        ended = command.end()
        manager.rest()
        last = manager.heard[-1]
    assert ended.code == 3, ended.err
    assert last[-1].startswith("STATUS=ticking stopped after")


def test_one_that_has_nothing_to_do_was_ready_all_the_same(tmp_path: Path) -> None:
    with (
        NotifySocket(tmp_path) as manager,
        RunningCommand(
            "run", f"{PIPELINES}:completes", environment=manager.environment()
        ) as command,
    ):
        ended = command.end()
        said = [line for message in manager.rest() for line in message]
    assert ended.code == 0
    assert said.index("READY=1") < said.index("STOPPING=1")
    assert "WATCHDOG=1" not in said  # it was not asked for


@pytest.mark.full
def test_a_second_start_goes_on_and_each_row_is_there_once(tmp_path: Path) -> None:
    """On Spark: ready once rows can move, drained by the signal, and whole after the second."""
    ledger = tmp_path / "ledger"
    arguments = (
        *("run", f"{PIPELINES}:resumes", "--checkpoint", str(tmp_path / "checkpoint")),
        *("--set", f"ledger={ledger}"),
    )
    with (
        NotifySocket(tmp_path) as manager,
        RunningCommand(
            *arguments,
            *("--set", "count=1_000_000", "--set", "every=0.005"),
            environment=manager.environment(watchdog=30),
        ) as command,
    ):
        manager.wait_for("READY=1")
        assert all("STATUS=resumes starting" in message[-1] for message in manager.heard[:-1])
        command.out.wait_for("100")
        command.signal_all(signal.SIGTERM)
        manager.wait_for("STOPPING=1")
        stopped = command.end()
        command.wait_for_processes(lambda: not command.processes())
    assert stopped.code == 3, stopped.err
    count = len(numbers(ledger)) + 500
    completed = penstock_command(*arguments, "--set", f"count={count}", "--set", "every=0.0001")
    assert completed.code == 0, completed.err
    assert numbers(ledger) == list(range(count))


def numbers(ledger: Path) -> list[int]:
    return [int(line) for line in ledger.read_text().splitlines()]
