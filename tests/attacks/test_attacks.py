"""The attacks that take no Spark, in the ordinary tests; ``python -m tests.attacks`` has all."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.attacks import code, files, page
from tests.attacks.another_user import reachable_folder
from tests.attacks.attack import Attack
from tests.attacks.target import live
from tests.style.project import ROOT


def not_held(attacks: Iterable[Attack]) -> list[Attack]:
    tried = list(attacks)
    assert tried
    return [attack for attack in tried if not attack.held]


def test_names_are_not_run() -> None:
    assert not_held(code.attacks()) == []


def test_nobody_gets_through_to_the_page_or_past_it_to_the_pipeline(tmp_path: Path) -> None:
    with live(tmp_path, "plain") as target:
        assert not_held(page.attacks(target)) == []
        assert target.end() == ""


def test_pickles_in_a_checkpoint_are_not_loaded(tmp_path: Path) -> None:
    assert not_held(files.planted_pickles(tmp_path)) == []


def test_another_user_has_nothing_of_a_checkpoint() -> None:
    with reachable_folder() as folder:
        assert not_held(files.planted_pickles(folder)) == []
        assert not_held(files.attacks(folder / "whole")) == []


@pytest.mark.full
@pytest.mark.timeout(600)
def test_all_attacks_on_a_live_pipeline_are_refused() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.attacks"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "each once" in ran.stdout
