"""A full disk: nothing that counted is lost, and the stream goes on once there is space."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.full_disk import MEANS, SCENARIOS, run


@pytest.mark.timeout(660)
@pytest.mark.parametrize("means", MEANS)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_on_a_full_disk(scenario: str, means: str, tmp_path: Path) -> None:
    assert run(scenario, means, tmp_path) == "done\n"
