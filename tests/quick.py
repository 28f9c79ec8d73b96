"""What runs every time: some of many similar tests, few of many schedules. ``--full``: all."""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import Any

import pytest

from penstock.tck import judge

__all__ = ["look_only_into_the_folder", "quick", "search_briefly"]


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


def look_only_into_the_folder() -> None:
    """Have the kit take a folder of the tests for a package of its own.

    For each check it goes through all loaded modules of a party's package. All those of the tests
    together take it longer than most checks do.
    """

    def package(name: str) -> str:
        return ".".join(name.split(".")[: 2 if name.startswith("tests.") else 1])

    judge._top = package
