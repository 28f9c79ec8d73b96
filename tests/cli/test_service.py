"""``penstock run`` as a service: all its processes are told to stop, or only some of them die."""

from __future__ import annotations

import signal
import tempfile
from pathlib import Path

import pytest

from penstock.spark.temporary_folder import TemporaryFolder
from tests.cli.processes import Ended, RunningCommand

PIPELINES = "tests.cli.pipelines"
DAEMON = "-m penstock.spark.workers.worker_daemon"
PLANNER = "python_streaming_source_runner"
GATEWAY = "org.apache.spark.deploy.SparkSubmit"

pytestmark = pytest.mark.timeout(300)


def numbered(folder: Path) -> tuple[str, ...]:
    return (
        *("run", f"{PIPELINES}:resumes", "--checkpoint", str(folder / "checkpoint")),
        *("--set", f"ledger={folder / 'ledger'}", "--set", "count=1_000_000"),
        *("--set", "every=0.005", "--drain-timeout", "250"),
    )


def require_drained(ended: Ended, folder: Path) -> None:
    """All that was taken came through, each once, and nobody complained."""
    assert ended.code == 3, ended.err
    assert "draining" in ended.err
    assert "Traceback" not in ended.err
    came = [int(line) for line in (folder / "ledger").read_text().splitlines()]
    assert came == list(range(len(came)))
    assert f"taken {len(came):,}, delivered {len(came):,}, lost 0" in ended.err.splitlines()[-1]


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.full)]
)
def test_a_signal_to_all_processes_drains(number: signal.Signals, tmp_path: Path) -> None:
    place = tmp_path / "temporary"
    place.mkdir()
    with RunningCommand(*numbered(tmp_path), environment={"TMPDIR": str(place)}) as command:
        command.out.wait_for("100")
        assert all(map(command.processes, (GATEWAY, PLANNER, DAEMON)))
        command.signal_all(number)
        ended = command.end()
        command.wait_for_processes(lambda: not command.processes())
    require_drained(ended, tmp_path)
    assert [*place.iterdir()] == []


def test_a_signal_drains_what_spark_reads_itself() -> None:
    """Its source starts Spark on the main thread, where Spark wants interrupts for itself."""
    with RunningCommand("run", f"{PIPELINES}:stream_of_spark") as command:
        command.out.wait_for("12")
        command.signal_all(signal.SIGINT)
        ended = command.end()
        command.wait_for_processes(lambda: not command.processes())
    assert ended.code == 3, ended.err
    assert "draining" in ended.err
    count = len(ended.out.splitlines())
    assert count % 5 == 0
    assert f"taken {count:,}, delivered {count:,}, lost 0" in ended.err.splitlines()[-1]


def test_a_signal_to_all_processes_while_spark_starts_drains(tmp_path: Path) -> None:
    with RunningCommand(*numbered(tmp_path)) as command:
        # The script of that name becomes the JVM, and may do so between two glances.
        command.wait_for_processes(
            lambda: command.processes("spark-submit") or command.processes("SparkSubmit")
        )
        command.signal_all(signal.SIGTERM)
        ended = command.end()
    require_drained(ended, tmp_path)


@pytest.mark.full
def test_a_second_signal_to_all_processes_stops_and_leaves_none_of_them() -> None:
    with RunningCommand("run", f"{PIPELINES}:stuck_rows") as command:
        wait_for_worker(command)
        command.signal_all(signal.SIGTERM)
        command.err.wait_for("draining")
        command.signal_all(signal.SIGTERM)
        ended = command.end()
        command.wait_for_processes(lambda: not command.processes())
    assert ended.code == 130, ended.err
    assert "Traceback" not in ended.err


def test_a_program_that_is_killed_leaves_no_process_and_no_folder_for_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = {"TMPDIR": str(tmp_path)}
    with RunningCommand("run", f"{PIPELINES}:stuck_rows", environment=environment) as command:
        wait_for_worker(command)
        assert len([*tmp_path.iterdir()]) == 2  # that of the JVM, and that of the journal
        command.kill_alone()
        ended = command.end()
        command.wait_for_processes(lambda: not command.processes())
    assert ended.code == -signal.SIGKILL
    assert len([*tmp_path.iterdir()]) == 1  # the JVM has ended by itself
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    TemporaryFolder().remove()
    assert [*tmp_path.iterdir()] == []


def wait_for_worker(command: RunningCommand) -> None:
    """Until a worker, which is forked from the daemon, is in the function of the user."""
    command.wait_for_processes(lambda: len(command.processes(DAEMON)) > 1)
