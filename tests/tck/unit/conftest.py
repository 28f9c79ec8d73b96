"""How long the kit searches where nothing is to be found."""

from __future__ import annotations

import pytest

from penstock.tck import judge


@pytest.fixture
def _search_briefly(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it matters that each check runs: how many schedules there are, with --full alone."""
    if not pytestconfig.getoption("full"):
        monkeypatch.setattr(judge, "BUDGET", 0.03)
        monkeypatch.setattr(judge, "EXPLORED_BUDGET", 0.1)
        monkeypatch.setattr(judge, "FEW_SCHEDULES", 2)
