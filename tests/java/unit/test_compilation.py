"""Our Java is compiled once, and what goes wrong is said in one sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.java import Java, JavaUnavailable, classes
from penstock.java.class_path import kept
from tests.java.unit.machine import Machine


def source(machine: Machine, text: str = "class Thing {}") -> Path:
    path = machine.folder / "Thing.java"
    path.write_text(text)
    return path


def java(machine: Machine) -> Java:
    return Java(machine.folder, "17.0.1")


def test_a_java_without_a_compiler_is_told_to_install_the_jdk(machine: Machine) -> None:
    with pytest.raises(JavaUnavailable, match="has no compiler: install the JDK"):
        classes(java(machine), "thing", [source(machine)])


def test_a_compiler_that_complains_leaves_nothing_behind(machine: Machine) -> None:
    machine.command("javac", "echo 'no such package' >&2", "exit 1")
    for _ in range(2):
        with pytest.raises(JavaUnavailable, match=r"cannot compile Thing.java: no such package"):
            classes(java(machine), "thing", [source(machine)])


def test_a_source_is_compiled_once_and_again_when_it_has_changed(machine: Machine) -> None:
    machine.command("javac", f'echo "$*" >> {machine.calls}', 'echo > "$4/Thing.class"')
    first = classes(java(machine), "thing", [source(machine)])
    assert classes(java(machine), "thing", [source(machine)]) == first
    changed = source(machine, "class Thing { int size; }")
    assert classes(java(machine), "thing", [changed]) != first
    calls = machine.calls.read_text().splitlines()
    assert len(calls) == 2
    assert calls[0].startswith("--release 17 ")


def test_what_somebody_has_removed_is_compiled_again(machine: Machine) -> None:
    machine.command("javac", f'echo "$*" >> {machine.calls}', 'echo > "$4/Thing.class"')
    folder = classes(java(machine), "thing", [source(machine)])
    (folder / "Thing.class").unlink()
    assert classes(java(machine), "thing", [source(machine)]) == folder
    assert (folder / "Thing.class").exists()
    assert len(machine.calls.read_text().splitlines()) == 2


def test_what_fails_half_way_is_not_kept(machine: Machine) -> None:
    def fill(folder: Path) -> None:
        (folder / "half").touch()
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        kept("thing", fill, Path.is_dir)
    kept_files = (machine.folder / "cache/penstock/jvm").iterdir()
    assert [path.name for path in kept_files] == ["thing.lock"]
