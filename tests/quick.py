"""What runs every time: some of many similar tests, few of many schedules. ``--full``: all."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

from penstock.tck import judge

__all__ = ["quick", "search_briefly"]


def quick(names: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """``names`` as parameters of a test, those that are not ``chosen`` as long ones."""
    return [
        name if name in chosen else pytest.param(*row(name), marks=pytest.mark.full)
        for name in names
    ]


def row(name: Any) -> tuple[Any, ...]:
    """The values of a parameter, of which there may be several."""
    return name if isinstance(name, tuple) else (name,)


@pytest.fixture
def search_briefly(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """For parties that keep the rules: the kit runs each check, under few schedules.

    The tests of a folder or module use it as a whole, by `usefixtures`.
    """
    if not pytestconfig.getoption("full"):
        monkeypatch.setattr(judge, "BUDGET", 0.02)
        monkeypatch.setattr(judge, "EXPLORED_BUDGET", 0.05)
        monkeypatch.setattr(judge, "FEW_SCHEDULES", 2)
