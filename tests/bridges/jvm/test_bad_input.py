"""What is missing or wrong is said in one sentence, with what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from penstock import Flow
from penstock.java import JavaUnavailable
from tests.java.unit.machine import Machine, bare_machine

pytestmark = [pytest.mark.java_peers]

LIMIT = 60.0


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return bare_machine(tmp_path, monkeypatch)


def run(*lines: str) -> str:
    """What a program prints; it has to end on its own."""
    program = "\n".join(lines)
    done = subprocess.run(
        [sys.executable, "-c", program], check=False, capture_output=True, text=True, timeout=LIMIT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


class FakeJvm:
    """Stands in for JPype: a JVM that runs, and that has no class of ours."""

    def __init__(self, version: str) -> None:
        self._system = SimpleNamespace(getProperty=lambda name: version)

    def isJVMStarted(self) -> bool:  # noqa: N802  (the name that JPype has given it)
        return True

    def JClass(self, name: str) -> Any:  # noqa: N802
        if name == "java.lang.System":
            return self._system
        raise TypeError(f"Class {name} is not found")

    def addClassPath(self, path: str) -> None:  # noqa: N802
        pass


def test_without_jpype_one_is_told_which_extra_to_install() -> None:
    text = run(
        "import sys; sys.modules['jpype'] = None",
        "try: import penstock.bridges.jvm",
        "except ImportError as error: print(error)",
    )
    assert text == "the bridge to the JVM needs JPype: pip install 'penstock[jvm]'\n"


def test_without_java_one_is_told_to_install_one(machine: Machine) -> None:
    from penstock.bridges.jvm import class_path

    with pytest.raises(JavaUnavailable, match="the bridge to the JVM needs Java, and there is"):
        class_path()


def test_an_old_java_is_told_apart(machine: Machine) -> None:
    from penstock.bridges.jvm import class_path

    machine.java("11.0.2")
    with pytest.raises(JavaUnavailable, match="needs Java 17, and this is Java 11.0.2: install"):
        class_path()


def test_without_a_compiler_one_is_told_to_install_the_jdk(machine: Machine) -> None:
    from penstock.bridges.jvm import class_path

    machine.java("17.0.1")
    with pytest.raises(JavaUnavailable, match="has no compiler: install the JDK"):
        class_path()


@pytest.mark.parametrize("thing", [None, 3, "a publisher", [1, 2], Flow, Flow.range(3)])
def test_from_jvm_takes_publishers_of_java_only(thing: Any) -> None:
    from penstock.bridges.jvm import from_jvm

    with pytest.raises(TypeError, match="from_jvm takes a java.util.concurrent.Flow.Publisher or"):
        from_jvm(thing)


@pytest.mark.parametrize("thing", [None, 3, "a publisher", [1, 2], Flow])
def test_to_jvm_takes_publishers_of_python_only(thing: Any) -> None:
    from penstock.bridges.jvm import to_jvm

    with pytest.raises(TypeError, match="to_jvm takes a publisher of Python, not"):
        to_jvm(thing)


def test_to_jvm_knows_two_standards() -> None:
    from penstock.bridges.jvm import to_jvm

    standard: Any = "rx"
    with pytest.raises(ValueError, match="one of flow, reactive-streams, not 'rx'"):
        to_jvm(Flow.range(3), standard)


def test_a_jvm_that_runs_already_is_given_our_classes() -> None:
    text = run(
        "import jpype; jpype.startJVM()",
        "from penstock import Flow",
        "from penstock.bridges.jvm import from_jvm, to_jvm",
        "print(list(from_jvm(to_jvm(Flow.range(3))).blocking()))",
        "try: from_jvm(jpype.java.util.ArrayList())",
        "except TypeError as error: print(error)",
        "try: to_jvm(to_jvm(Flow.range(3)))",
        "except TypeError as error: print(error)",
    )
    numbers, not_a_publisher, of_java_already = text.splitlines()
    assert numbers == "[0, 1, 2]"
    assert not_a_publisher.endswith("not a java.util.ArrayList")
    assert of_java_already.endswith("not a penstock.bridge.PythonPublisher")


def test_without_the_jar_of_reactive_streams_one_is_told_to_add_it() -> None:
    text = run(
        "from penstock import Flow",
        "from penstock.bridges.jvm import to_jvm",
        "from penstock.java import JavaUnavailable",
        "try: to_jvm(Flow.range(3), 'reactive-streams')",
        "except JavaUnavailable as error: print(error)",
    )
    assert "add the jar reactive-streams to its class path" in text


def test_a_second_jvm_is_refused() -> None:
    text = run(
        "from penstock.bridges.jvm import start_jvm",
        "start_jvm()",
        "try: start_jvm()",
        "except RuntimeError as error: print(error)",
    )
    assert text == "this process has a JVM already, and can have no other one\n"


@pytest.mark.parametrize(
    ("version", "sentence"),
    [
        ("1.8", "the JVM of this process is Java 1.8: start it from a newer JDK"),
        ("11", "the JVM of this process is Java 11: start it from a newer JDK"),
        ("17", "takes no more classes: start it by penstock.bridges.jvm.start_jvm"),
    ],
)
def test_a_jvm_that_cannot_have_our_classes_is_told_apart(
    monkeypatch: pytest.MonkeyPatch, version: str, sentence: str
) -> None:
    from penstock.bridges.jvm import jvm_process as machine

    monkeypatch.setattr(machine, "jpype", FakeJvm(version))
    with pytest.raises(JavaUnavailable, match=sentence):
        machine.require_classes()


@pytest.mark.parametrize("start", ["jpype.startJVM()", "start_jvm()"])
def test_a_program_ends_though_streams_go_on(start: str) -> None:
    text = run(
        "import itertools, jpype",
        "from penstock import Flow",
        "from penstock.bridges.jvm import from_jvm, start_jvm, to_jvm",
        "from penstock.testing import ManualSubscriber",
        start,
        "subscriber = ManualSubscriber(request=10)",
        "from_jvm(to_jvm(Flow.from_iterable(itertools.count()))).subscribe(subscriber)",
        "subscriber.await_elements(10, timeout=60)",
        "print('over')",
    )
    assert text == "over\n"


def test_the_official_kit_takes_no_copy_of_a_process_that_runs_a_jvm() -> None:
    text = run(
        "from penstock import Flow",
        "from penstock.bridges.jvm import start_jvm",
        "from penstock.java import JavaUnavailable",
        "from penstock.tck.jvm import verify_publisher",
        "start_jvm()",
        "try: verify_publisher(Flow.range)",
        "except JavaUnavailable as error: print(error)",
    )
    assert text == (
        "this process runs a JVM already, so no copy of it can run another one: call the official "
        "kit before the JVM starts, or from the command line\n"
    )
