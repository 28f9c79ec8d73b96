"""The Python that Spark starts here: this one, which reads pyspark as it is installed.

Spark has its Python processes read pyspark from a zip, and what comes from a zip is compiled by
each process anew, which takes a second. Each query starts such a process, and the first query
several. Where pyspark is installed, it is compiled already.

The process that Spark starts for a query with state, to ask which it has, prints five lines of its
own. It runs no function of the user, and sends its errors to the JVM: what it prints is dropped.

The processes that Spark asks about a source are forked by ``worker_daemon`` as well, which Spark
can only be told for those that run tasks. It does not wait for their last word, of which that of
pyspark makes a traceback where they talk by sockets in a folder.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import sys
from pathlib import Path
from typing import Final

from penstock.java import kept

__all__ = ["worker_python"]

LAUNCHER: Final = """\
#!/bin/sh
# Python without Spark's zips: the packages that are installed are the same ones. To one process,
# Spark names them twice.
path=$PYTHONPATH:
left=
set -f
IFS=:
for place in $path; do
    case $place in
    */lib/pyspark.zip | */lib/py4j-*-src.zip) ;;
    *) left=$left:$place ;;
    esac
done
unset IFS
PYTHONPATH=${left#:}
export PYTHONPATH
# It says on the user's terminal what it does, and that is all. Its errors do not go that way.
[ "$1 $2" = "-m pyspark.sql.streaming.transform_with_state_driver_worker" ] && exec >/dev/null
[ "$1 $2" = "-m pyspark.daemon" ] && shift 2 && set -- -m penstock.spark.workers.worker_daemon "$@"
"""


def worker_python() -> str:
    """The command that starts it: a script kept in the user's cache, or this Python itself.

    It is itself where there is no place for a script that may be run, and with a ``SPARK_HOME``,
    whose pyspark may be another one.
    """
    if os.name != "posix" or "SPARK_HOME" in os.environ:
        return sys.executable
    script = f'{LAUNCHER}exec {shlex.quote(sys.executable)} "$@"\n'
    key = hashlib.sha256(script.encode()).hexdigest()[:16]
    try:
        launcher = kept(f"python-{key}", lambda folder: write(folder, script), is_there) / "python"
    except (OSError, RuntimeError):  # no home, or one in which nothing can be written
        return sys.executable
    return str(launcher) if os.access(launcher, os.X_OK) else sys.executable


def write(folder: Path, script: str) -> None:
    """Write it for this user alone."""
    launcher = folder / "python"
    launcher.touch(mode=0o700)
    launcher.write_text(script, encoding="utf-8")


def is_there(folder: Path) -> bool:
    """Whether it is; the name of the folder tells what it holds."""
    return (folder / "python").is_file()
