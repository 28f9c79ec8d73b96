"""Compiles our few lines of Java, once for each version of them and of Java."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from penstock.tck.jvm.cache import kept
from penstock.tck.jvm.installed_java import Java
from penstock.tck.jvm.official_kit import VERSION
from penstock.tck.jvm.problem import JudgeUnavailable

__all__ = ["classes"]

SOURCE: Final = Path(__file__).with_name("OutsideJudge.java")


def classes(java: Java, libraries: Sequence[Path]) -> Path:
    """The folder of the compiled classes."""
    what = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    return kept(
        f"classes-{what}-java-{java.version}-kit-{VERSION}",
        lambda folder: _compile(folder, java, libraries),
        Path.is_dir,
    )


def _compile(folder: Path, java: Java, libraries: Sequence[Path]) -> None:
    if not java.compiler.exists():
        raise JudgeUnavailable(
            f"the Java {java.version} at {java.home} has no compiler: install the JDK of it, "
            "or set JAVA_HOME to one"
        )
    path = os.pathsep.join(map(str, libraries))
    command = [str(java.compiler), "-d", str(folder), "-classpath", path, str(SOURCE)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise JudgeUnavailable(f"{java.compiler} cannot compile {SOURCE.name}: {done.stderr}")
