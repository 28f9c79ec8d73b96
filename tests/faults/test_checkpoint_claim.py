"""A crash while a checkpoint is made leaves one that can be made, or one that is whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.spark import CheckpointError
from penstock.spark.checkpoint import Checkpoint


class Crash(BaseException):
    """The process dies here."""


def test_a_crash_while_a_checkpoint_is_claimed_does_not_spoil_the_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", crash)
        with pytest.raises(Crash):
            Checkpoint(tmp_path).claim("mine", ["number long"])
    assert list(tmp_path.iterdir())
    Checkpoint(tmp_path).claim("mine", ["number long"])
    assert json.loads((tmp_path / "pipeline.json").read_text())["name"] == "mine"


def test_a_checkpoint_whose_description_is_gone_is_not_taken_for_another_folder(
    tmp_path: Path,
) -> None:
    Checkpoint(tmp_path).claim("mine", ["number long"])
    (tmp_path / "pipeline.json").unlink()
    (tmp_path / "spark").mkdir()
    with pytest.raises(CheckpointError, match="pipeline.json is missing; restore it"):
        Checkpoint(tmp_path).claim("mine", ["number long"])
