"""What a contributor types, and what comes back."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

import pytest

from dev import (
    COMMANDS,
    NEWEST_SPARK,
    OLDER_SPARKS,
    REQUIREMENT_SETS,
    ROOT,
    TESTS_OF_SPARK,
    TOOLS,
)
from tests.dev.conftest import Checkout

OLD_PYTHON = "sys.version_info = (3, 9, 18, 'final', 0)"


@pytest.mark.parametrize("arguments", [[], ["tset"], ["--version"]])
def test_an_unknown_command_is_told_which_ones_there_are(
    checkout: Checkout, arguments: list[str]
) -> None:
    code, output, errors = checkout.run(*arguments)
    assert (code, output) == (2, "")
    assert all(command in errors for command in COMMANDS)
    assert checkout.set_ups() == 0


def test_the_help_explains_every_command_without_any_set_up(checkout: Checkout) -> None:
    code, output, _ = checkout.run("--help")
    assert code == 0
    assert all(f"  {command} " in output for command in COMMANDS)
    assert checkout.set_ups() == 0


@pytest.mark.parametrize("command", ["check", "docs", "build", "java", "audit"])
def test_a_command_without_arguments_refuses_them(checkout: Checkout, command: str) -> None:
    code, _, errors = checkout.run(command, "--fast")
    assert code == 2
    assert "--fast" in errors


@pytest.mark.parametrize(
    ("command", "runs"),
    [
        ("demo", "python -m penstock.demo --slow 3"),
        ("test", "python -m pytest -n4 --dist=worksteal --slow 3"),
        ("bench", "python -m benchmarks --slow 3"),
    ],
)
def test_further_arguments_go_to_the_tool(checkout: Checkout, command: str, runs: str) -> None:
    assert checkout.run(command, "--slow", "3")[:2] == (0, runs + "\n")


def test_the_exit_code_is_the_one_of_the_tool(checkout: Checkout) -> None:
    (checkout.root / "fail-python").touch()
    assert checkout.run("test")[0] == 7


def test_check_runs_every_tool_even_if_one_fails(checkout: Checkout) -> None:
    scripts = {script for script, *_ in TOOLS.values()} | {"pytest"}
    checkout.run("test")
    for script in scripts:
        checkout.write_script(f".venv/bin/{script}", (checkout.root / "tool").read_text())
    (checkout.root / "fail-mypy").touch()
    code, output, _ = checkout.run("check")
    assert code == 1
    assert output.count(" ok ") == len(TOOLS)
    assert output.count("FAILED") == 1
    assert output.endswith("failed: mypy\n")


def test_check_has_all_that_the_tests_import_so_that_it_runs_in_a_fresh_checkout(
    checkout: Checkout,
) -> None:
    checkout.run("check")
    installed = (checkout.root / "calls").read_text()
    checkout.run("test")
    assert (checkout.root / "calls").read_text() == installed


def test_docs_ends_with_the_place_of_the_pages(checkout: Checkout) -> None:
    checkout.run("test")
    checkout.write_script(".venv/bin/sphinx-build", (checkout.root / "tool").read_text())
    code, output, _ = checkout.run("docs")
    assert code == 0
    assert output.endswith(f"{checkout.root}/docs/_build/html/index.html\n")


def test_lock_writes_the_file_of_every_set(checkout: Checkout) -> None:
    assert checkout.run("lock", "--upgrade")[0] == 0
    calls = (checkout.root / "calls").read_text().splitlines()
    written = [call.rpartition("--output-file=")[2] for call in calls]
    assert written == [f"requirements/{name}.txt" for name in REQUIREMENT_SETS]
    assert all("--upgrade" in call for call in calls)


def test_lock_without_uv_says_that_it_is_missing(checkout: Checkout) -> None:
    (checkout.commands / "uv").unlink()
    code, _, errors = checkout.run("lock")
    assert (code, errors) == (
        2,
        "dev.py: the lock files are written by uv, which is not on PATH.\n",
    )


def test_an_old_python_is_told_which_one_is_needed(checkout: Checkout) -> None:
    checkout.variables["PATH"] = str(checkout.commands)
    code, output, errors = checkout.run_altered(OLD_PYTHON, "test")
    assert (code, output) == (2, "")
    assert errors.startswith("dev.py: Penstock needs Python 3.11 or newer. This is Python 3.9.18")


def test_an_old_python_hands_over_to_a_new_one_that_works(checkout: Checkout) -> None:
    for newer in ("python3.14", "python3.13"):  # whatever this machine has
        checkout.write_script(f"commands/{newer}", "#!/bin/sh\nexit 127\n")
    checkout.write_script("commands/python3.12", '#!/bin/sh\n[ "$1" = -c ] || echo "3.12: $*"\n')
    code, output, _ = checkout.run_altered(OLD_PYTHON, "test", "-x")
    assert (code, output) == (0, f"3.12: {checkout.root / 'dev.py'} test -x\n")


def test_another_python_has_an_environment_of_its_own(checkout: Checkout) -> None:
    lines = (
        "#!/bin/sh",
        'if [ "$1" = -c ]; then echo 3.14; exit; fi',
        'echo "$PENSTOCK_DEV_ENVIRONMENT: $*"',
    )
    checkout.write_script("commands/python3.14", "\n".join(lines))
    code, output, _ = checkout.run("test", "--python", "3.14", "-x")
    assert (code, output) == (0, f".venv-3.14: {checkout.root / 'dev.py'} test -x\n")
    checkout.variables["PENSTOCK_DEV_ENVIRONMENT"] = ".venv"
    checkout.run("test")
    assert checkout.set_ups() == 1


def test_an_older_spark_has_an_environment_of_its_own_with_its_own_lock(
    checkout: Checkout,
) -> None:
    runs = "python -m pytest -n4 --dist=worksteal"
    tests = " ".join(TESTS_OF_SPARK)
    assert checkout.run("test", "--spark", "4.0")[:2] == (0, f"{runs} {tests}\n")
    calls = (checkout.root / "calls").read_text()
    assert f"{checkout.root}/.venv-spark-4.0" in calls
    assert "requirements/spark-4.0.txt" in calls
    assert "requirements/spark.txt" not in calls
    assert checkout.run("test", "--spark", "4.0", "-x")[:2] == (0, f"{runs} -x\n")
    assert (checkout.root / "calls").read_text() == calls


def test_the_newest_spark_is_the_one_in_the_environment_of_all_commands(checkout: Checkout) -> None:
    checkout.run("test", "-x")
    calls = (checkout.root / "calls").read_text()
    code, output, _ = checkout.run("test", "--spark", NEWEST_SPARK)
    assert (code, output.split()[-len(TESTS_OF_SPARK) :]) == (0, list(TESTS_OF_SPARK))
    assert (checkout.root / "calls").read_text() == calls


def test_the_project_takes_each_series_of_spark_that_has_a_lock_and_no_newer_one() -> None:
    project = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())
    major, minor = map(int, NEWEST_SPARK.split("."))
    series = f">={OLDER_SPARKS[0]},<{major}.{minor + 1}; python_version "
    extra = project["project"]["optional-dependencies"]["spark"]
    for wanted in (f"pyspark[connect]{series}< '3.15'", f"pyspark[sql]{series}>= '3.15'"):
        assert wanted in extra
    for older in OLDER_SPARKS:
        assert f"\npyspark=={older}." in Path(ROOT, f"requirements/spark-{older}.txt").read_text()
    assert f"\npyspark=={NEWEST_SPARK}." in Path(ROOT, "requirements/spark.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--spark"], "--spark needs a series, such as 4.0"),
        (["--spark", "3.5"], "--spark 3.5: there are locks for 4.0, 4.1, 4.2, 4.3"),
        (["--python"], "--python needs a version, such as 3.13, or the path of a Python"),
        (["--python", "2.99"], "--python 2.99: there is no python2.99 that works; is it on PATH?"),
        (["--python", "/no/python"], "there is no /no/python that works"),
    ],
)
def test_a_python_or_spark_that_is_not_there_is_named(
    checkout: Checkout, arguments: list[str], reason: str
) -> None:
    code, output, errors = checkout.run("test", *arguments)
    assert (code, output) == (2, "")
    assert reason in errors
    assert checkout.set_ups() == 0


@pytest.mark.parametrize("file", ["dev.py", "tools/environment.py", "tools/java.py"])
def test_an_old_python_can_read_the_file(file: str) -> None:
    ast.parse(Path(ROOT, file).read_text(), feature_version=(3, 8))
