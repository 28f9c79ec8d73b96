"""Where Spark's JVM has its temporary files: in a folder of its own, unless the user says where.

``spark.local.dir``, ``SPARK_LOCAL_DIRS`` and ``java.io.tmpdir`` win. What Spark has there is the
user's to look after.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from penstock.spark.private_api import own_jvm
from penstock.spark.session.temporary_folder import (
    TemporaryFolder,
    make_temporary_folder,
    remove_abandoned_folders,
)

__all__ = ["JAVA_OPTIONS", "folder_of_jvm", "java_option"]

JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
PLACE: Final = "java.io.tmpdir"
USERS_OPTIONS: Final = (
    "SPARK_SUBMIT_OPTS",
    "PYSPARK_SUBMIT_ARGS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
)
"""The variables by which a user can give options to the JVM."""

_held: list[TemporaryFolder] = []
"""That of the JVM which runs, held until the program ends; guarded by the lock of the session."""


@contextmanager
def folder_of_jvm(options: Mapping[str, str]) -> Iterator[Path | None]:
    """A folder for the temporary files of the JVM that is started within; ``None`` if it has one.

    Those of programs that are dead are removed before. If no JVM can be started, so is this one.
    """
    jvm = own_jvm()
    if jvm is not None and jvm.poll() is None:
        yield None  # it runs since an earlier session, and has its folder
        return
    while _held:
        _held.pop().leave()  # of a JVM that is dead
    remove_abandoned_folders()
    folder = None if is_chosen_by_user(options) else make_temporary_folder()
    if folder is None:
        yield None
        return
    try:
        yield folder.path
    except BaseException:
        folder.remove()
        raise
    _held.append(folder)


def is_chosen_by_user(options: Mapping[str, str]) -> bool:
    """Whether the JVM is told by others where its temporary files are."""
    return JAVA_OPTIONS in options or any(
        PLACE in os.environ.get(name, "") for name in USERS_OPTIONS
    )


def java_option(folder: Path) -> str:
    """As Spark reads options: in quotes, since a path may have spaces."""
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"-D{PLACE}={escaped}"'
