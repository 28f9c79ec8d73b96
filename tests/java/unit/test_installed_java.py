"""Java is found, or one sentence says what to do."""

from __future__ import annotations

import pytest

from penstock.java import Java, JavaUnavailable, find_java
from tests.java.unit.machine import Machine


def test_a_machine_without_java_is_told_to_install_one(machine: Machine) -> None:
    with pytest.raises(JavaUnavailable, match="the kit needs Java, and there is none: install"):
        find_java("the kit")


@pytest.mark.parametrize("version", ["11.0.2", "1.8.0_292"])
def test_an_old_java_is_told_apart(machine: Machine, version: str) -> None:
    machine.java(version)
    with pytest.raises(
        JavaUnavailable, match=f"the kit needs Java 17, and this is Java {version}: install a JDK"
    ):
        find_java("the kit")


def test_a_java_with_a_compiler_wins_over_one_without(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = machine.folder / "runtime"
    (runtime / "bin").mkdir(parents=True)
    machine.java("21", home=runtime)
    (machine.folder / "bin" / "java").rename(runtime / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", str(runtime))
    machine.java("17.0.1")
    machine.command("javac")
    assert find_java("the kit") == Java(machine.folder, "17.0.1")
