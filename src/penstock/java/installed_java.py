"""Finds the Java of this machine: the one of ``JAVA_HOME``, or the one on ``PATH``."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = [
    "OLDEST",
    "VECTOR",
    "Java",
    "JavaUnavailable",
    "ask",
    "find_java",
]


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
