"""``penstock run`` on Spark: what was interrupted goes on where it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.processes import RunningCommand, penstock_command

PIPELINES = "tests.cli.pipelines"


@pytest.mark.full
@pytest.mark.timeout(300)
def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger"
    arguments = (
        "run",
        f"{PIPELINES}:resumes",
        *("--checkpoint", str(tmp_path / "checkpoint")),
        *("--set", f"ledger={ledger}", "--set", "every=0.005"),
    )
    with RunningCommand(*arguments, "--set", "count=1_000_000") as command:
        command.out.wait_for("100")
        command.interrupt()
        stopped = command.end()
    before = numbers_in(ledger)
    assert stopped.code == 3, stopped.err
    assert "draining" in stopped.err
    assert before == list(range(len(before)))
    assert len(before) > 100
    assert f"taken {len(before):,}, delivered {len(before):,}, lost 0" in stopped.err

    count = len(before) + 1_000
    completed = penstock_command(*arguments, "--set", f"count={count}")
    assert completed.code == 0, completed.err
    assert numbers_in(ledger) == list(range(count))
    assert "restarted 1x" in completed.err
    assert f"taken {count:,}" in completed.err


def test_a_checkpoint_of_another_pipeline_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "pipeline.json").write_text(
        '{"format": 1, "name": "other-rows", "inputs": ["number long"]}'
    )
    ended = penstock_command(
        "run", f"{PIPELINES}:spark_rows", "--checkpoint", str(tmp_path), "--set", "count=1"
    )
    assert ended.code == 1
    assert "belongs to the pipeline 'other-rows', not to 'spark-rows'" in ended.err
    assert "Traceback" not in ended.err


def numbers_in(ledger: Path) -> list[int]:
    return [int(line) for line in ledger.read_text().splitlines()]
