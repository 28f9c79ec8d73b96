"""A checkpoint of an earlier version is gone on from; one of a later version is refused."""

from __future__ import annotations

import json
import struct
from itertools import groupby
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner

from penstock.cli.application import application
from penstock.connectors.files.delivery_record import FORMAT as RECORD_FORMAT
from penstock.pipeline import PipelineRun
from penstock.pipeline.assembly import AssemblyError
from penstock.spark.checkpoint_owner import FORMAT
from tests.pipeline.kept_checkpoints import BATCHES, KEPT, form_of, sample_run, unpacked

PATIENCE: Final = 300
QUICK: Final = ("without-runs",)
"""The oldest one; --full goes on from all of them."""

pytestmark = pytest.mark.timeout(600)


def ended(run: PipelineRun) -> PipelineRun:
    run.start()
    assert run.wait(PATIENCE)
    assert (run.state, run.error) == ("completed", None)
    return run


def totals(file: Path, key: str) -> list[int]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [row["total"] for row in rows if row["key"] == key]


def expected(parity: int) -> list[int]:
    """What plain Python adds up: a total after each batch."""
    found, total = [], 0
    for batch in BATCHES:
        total += sum(number for number in batch if number % 2 == parity)
        found.append(total)
    return found


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=() if each in QUICK else pytest.mark.full) for each in KEPT]
)
def test_a_checkpoint_that_was_kept_is_gone_on_from_with_each_row(
    tmp_path: Path, name: str
) -> None:
    folder = unpacked(name, tmp_path)
    has_file = (folder / "totals.jsonl").exists()
    begun = (folder / "ledger.jsonl").read_bytes()
    run = ended(sample_run(folder, with_file=has_file))
    for parity in (0, 1):
        key = f"key {parity}"
        # The batch that the kill was in comes again: a function may be given its rows twice.
        given = totals(folder / "ledger.jsonl", key)
        assert [total for total, _ in groupby(given)] == expected(parity)
        if has_file:
            assert totals(folder / "totals.jsonl", key) == expected(parity)
    assert (folder / "ledger.jsonl").read_bytes().startswith(begun)
    status = run.status().ledger
    assert (status.restarts, status.lost) == (1, 0)


def test_what_is_written_now_has_the_form_that_was_kept(tmp_path: Path) -> None:
    """If it has another: give the archive ``now`` a name of its own, and add a new one.

    ``FORMAT`` is raised if an earlier version would misread it.
    """
    (tmp_path / "new").mkdir()
    ended(sample_run(tmp_path / "new"))
    kept = form_of(unpacked("now", tmp_path / "kept"))
    assert form_of(tmp_path / "new") == kept
    assert kept["format"] == FORMAT


def test_a_checkpoint_of_a_later_version_is_refused_in_one_line(tmp_path: Path) -> None:
    folder = unpacked("now", tmp_path)
    about = folder / "checkpoint" / "pipeline.json"
    about.write_text(json.dumps({"format": FORMAT + 1, "other": "keys"}))
    with pytest.raises(AssemblyError) as refused:
        sample_run(folder, with_file=False).require_own_checkpoint()
    assert str(refused.value) == (
        f"the checkpoint {folder}/checkpoint was written by a later version of penstock: it has "
        f"format {FORMAT + 1}, and this version knows {FORMAT}; run that version, or a later one"
    )
    shown = CliRunner().invoke(application, ["checkpoint", "show", str(folder / "checkpoint")])
    assert shown.exit_code == 2
    (line,) = shown.stderr.splitlines()
    assert "was written by a later version of penstock" in line


def test_a_journal_of_a_later_version_is_refused(tmp_path: Path) -> None:
    folder = unpacked("now", tmp_path)
    label = folder / "checkpoint" / "journal-0" / "schema"
    label.write_bytes(struct.pack("4s", b"PNL2") + label.read_bytes()[4:])
    run = sample_run(folder)
    run.start()
    assert run.wait(PATIENCE)
    assert f"{label}" in str(run.error)
    assert "it has a form that this version does not know" in str(run.error)


def test_a_file_with_the_record_of_a_later_version_is_refused(tmp_path: Path) -> None:
    folder = unpacked("now", tmp_path)
    record = folder / "totals.jsonl.delivery"
    record.write_text(json.dumps({"format": RECORD_FORMAT + 1, "other": "keys"}))
    run = sample_run(folder)
    run.start()
    assert run.wait(PATIENCE)
    assert str(run.error).startswith(
        f"{record} was written by a later version of penstock: it has format {RECORD_FORMAT + 1}"
    )
