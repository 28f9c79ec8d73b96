"""Compiles source files of ours, once for each version of them."""

from __future__ import annotations

import hashlib
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from penstock.java.cache import kept
from penstock.java.installed_java import OLDEST, Java
from penstock.java.problem import JavaUnavailable

__all__ = ["classes"]


def classes(java: Java, name: str, sources: Sequence[Path], libraries: Sequence[Path] = ()) -> Path:
    """The folder of the compiled classes, which run on the oldest Java that will do, too."""
    what = hashlib.sha256()
    for source in sources:
        what.update(source.read_bytes())
    for library in libraries:
        what.update(library.name.encode())
    return kept(
        f"{name}-{what.hexdigest()[:16]}",
        lambda folder: _compile(folder, java, sources, libraries),
        lambda folder: {source.stem for source in sources} <= _compiled_in(folder),
    )


def _compiled_in(folder: Path) -> set[str]:
    return {path.stem for path in folder.rglob("*.class")}


def _compile(folder: Path, java: Java, sources: Sequence[Path], libraries: Sequence[Path]) -> None:
    if not java.compiler.exists():
        raise JavaUnavailable(
            f"the Java {java.version} at {java.home} has no compiler: install the JDK of it, "
            "or set JAVA_HOME to one"
        )
    command = [str(java.compiler), "--release", str(OLDEST), "-d", str(folder)]
    command += ["-classpath", os.pathsep.join(map(str, libraries)), *map(str, sources)]
    done = subprocess.run(command, check=False, capture_output=True, encoding="utf-8")
    if done.returncode:
        raise JavaUnavailable(f"{java.compiler} cannot compile {sources[0].name}: {done.stderr}")
