"""A soak of less than a minute, so that the long one works when it is wanted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.soak.soak import Soak


@pytest.mark.full
@pytest.mark.timeout(600)
def test_a_short_soak_loses_no_row_and_doubles_none(tmp_path: Path) -> None:
    soak = Soak(
        tmp_path, rate=10_000, rows=300_000, kill_every=20.0, sample_every=0.2, batch_rows=30_000
    )
    assert soak.run(), (tmp_path / "verdict.txt").read_text()
    outcome = json.loads((tmp_path / "outcome.json").read_text())
    assert outcome["found"] == outcome["expected"] == 300_000
    assert len(outcome["kills"]) >= 1
    assert (tmp_path / "picture.svg").read_text().startswith("<svg")
    assert len([*(tmp_path / "rows").glob("*.parquet")]) <= 5
