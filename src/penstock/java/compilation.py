"""Compiles source files of ours, once for each version of them, and keeps what was made."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from penstock.java.installed_java import OLDEST, Java, JavaUnavailable

__all__ = [
    "classes",
    "kept",
]


def kept(name: str, fill: Callable[[Path], None], is_sound: Callable[[Path], bool]) -> Path:
    """The folder of that name, which ``fill`` has filled, again if it is no longer sound.

    It appears as a whole or not at all, even if other processes want it at the same time.
    """
    import fcntl  # not on Windows

    place = _root() / name
    place.parent.mkdir(parents=True, exist_ok=True)
    with Path(f"{place}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not is_sound(place):
            shutil.rmtree(place, ignore_errors=True)
            with tempfile.TemporaryDirectory(dir=place.parent, prefix=f"{name}-") as workshop:
                filled = Path(workshop, "filled")
                filled.mkdir()
                fill(filled)
                filled.rename(place)
    return place


def _root() -> Path:
    home = Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return Path(os.environ.get("XDG_CACHE_HOME") or home) / "penstock" / "jvm"


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
