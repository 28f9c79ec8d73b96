"""What runs every time: some of many similar tests, few of many schedules. ``--full``: all."""

from __future__ import annotations

from collections.abc import Container, Iterable
from types import ModuleType
from typing import Any, Final

import pytest

from penstock.tck import judge, verifying

__all__ = ["look_only_into_the_folder", "quick", "search_briefly"]


ALONE: Final = ("tests.core.", "tests.flow.", "tests.guard.", "tests.rules.", "tests.tck.")
"""The tests of what is there without the packages that use it."""
USERS: Final = tuple(
    f"penstock.{package}"
    for package in ("bridges", "cli", "connectors", "demo", "observe", "pipeline", "spark")
)


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
    together take it longer than most checks do, and so do ours with those that use them.
    """

    def package(name: str) -> str:
        depth = 3 if name.startswith("tests.tck.") else 2 if name.startswith("tests.") else 1
        return ".".join(name.split(".")[:depth])

    def modules_known_to(*parties: object) -> tuple[ModuleType, ...]:
        """The first of the parties is what makes them."""
        found = judge.modules_of(*parties)
        if not (getattr(parties[0], "__module__", None) or "").startswith(ALONE):
            return found
        return tuple(module for module in found if not module.__name__.startswith(USERS))

    judge._top = package
    vars(verifying)["modules_of"] = modules_known_to
