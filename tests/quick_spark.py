"""How the JVMs of Spark start in the tests: in a third of the time that they take by default.

They live for seconds or minutes, so the optimising compiler does not pay; and they read Spark's
classes from an archive that an earlier JVM has written, instead of some hundred jars.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from penstock.java import JavaUnavailable, find_runtime
from tests.forked_python import forked_python

__all__ = ["archive_classes", "fork_what_spark_asks", "start_quickly"]

OPTIONS: Final = "SPARK_SUBMIT_OPTS"
"""Where Spark looks for options of its JVM. Unlike Java's own variables, nothing is printed."""
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SILENT: Final = "-Xlog:cds=off -Xlog:cds+dynamic=off"
"""A JVM that cannot use the archive is slower, and that is all."""
PATIENCE: Final = 300.0


def start_quickly() -> None:
    """Let all that this process starts have the options, and the archive if there is one."""
    if OPTIONS in os.environ:  # of the process that has started this one
        return
    archive = archive_of_this_spark()
    is_written = archive is not None and archive.exists() and archive.stat().st_size > 0
    from_archive = [f"-XX:SharedArchiveFile={archive}", SILENT] if is_written else []
    os.environ[OPTIONS] = " ".join([SHORT_LIVED, *from_archive])


def archive_classes() -> None:
    """Write the archive, once for each environment; it takes about twenty seconds."""
    archive = archive_of_this_spark()
    if archive is None or archive.exists() or not os.access(sys.prefix, os.W_OK):
        return
    unfinished = archive.with_suffix(f".{os.getpid()}")
    options = f"{SHORT_LIVED} -XX:ArchiveClassesAtExit={unfinished} {SILENT}"
    subprocess.run(
        [sys.executable, "-m", __name__],
        check=False,  # a Spark that does not start is the matter of the tests
        env={**os.environ, OPTIONS: options},
        capture_output=True,  # until all is said: the JVM writes when Python has ended
        timeout=PATIENCE,
    )
    unfinished.touch()  # empty where the JVM writes none, so that it is not asked again
    unfinished.replace(archive)


def fork_what_spark_asks() -> None:
    """Let the process be forked that an embedded Spark asks about a source, if tests start one."""
    session = sys.modules.get("penstock.spark.session.spark_session")
    if session is not None and os.name == "posix":
        vars(session)["worker_python"] = forked_python(vars(session)["worker_python"])


def archive_of_this_spark() -> Path | None:
    """Of the Spark in this environment and the Java that it gets; without both there is none."""
    try:
        java, spark = find_runtime("Spark"), version("pyspark")
    except (JavaUnavailable, PackageNotFoundError):
        return None
    key = hashlib.sha256(f"{java} {spark}".encode()).hexdigest()[:12]
    return Path(sys.prefix) / f"spark-classes-{key}.jsa"


def load_classes() -> None:
    """Start Spark, and run a query."""
    from penstock.spark.session.spark_session import SparkSettings, spark_session

    session = spark_session(SparkSettings())
    session.range(10).count()
    session.stop()


if __name__ == "__main__":
    load_classes()
