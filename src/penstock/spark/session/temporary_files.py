"""Where Spark's JVM has its temporary files: in a folder of its own, unless the user says where.

Spark removes them when it ends, but not when it is killed. ``spark.local.dir`` and
``SPARK_LOCAL_DIRS`` still say where it has its blocks, and ``java.io.tmpdir``, by one of Java's own
variables, where it has everything: what is left there is the user's to look after.

The sockets of its Python workers are there as well, where nobody else can reach them.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from penstock.spark.private_api import own_jvm
from penstock.spark.temporary_folder import TemporaryFolder

__all__ = ["JAVA_OPTIONS", "folder_of_jvm", "java_option", "sockets_in"]

JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
PLACE: Final = "java.io.tmpdir"
USERS_OPTIONS: Final = (
    "SPARK_SUBMIT_OPTS",
    "PYSPARK_SUBMIT_ARGS",
    "JAVA_TOOL_OPTIONS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
)
"""The variables by which a user gives options to the JVM."""

SOCKETS: Final = "spark.python.unix.domain.socket.enabled"
PLACE_OF_SOCKETS: Final = "spark.python.unix.domain.socket.dir"
LONGEST: Final = 61
"""As long as Spark lets the path of that folder be: sockets have names of 43 characters."""

_held: list[TemporaryFolder] = []
"""That of the JVM which runs, until the program ends; guarded by the lock of the session."""


@contextmanager
def folder_of_jvm(options: Mapping[str, str]) -> Iterator[Path | None]:
    """A folder for the temporary files of the JVM that is started within, or ``None``.

    It is removed again if no JVM can be started. There is none if the user has said where the files
    are, if the JVM runs since an earlier session, or if there is no place for one: then Spark finds
    its own, or says why it cannot.
    """
    jvm = own_jvm()
    if jvm is not None and jvm.poll() is None:
        yield None
        return
    while _held:
        _held.pop().leave()  # that of a JVM which is dead, or of the program that has forked this
    folder = None if is_chosen(options) else new_folder()
    if folder is None:
        yield None
        return
    try:
        yield folder.path
    except BaseException:
        folder.remove()
        raise
    _held.append(folder)


def is_chosen(options: Mapping[str, str]) -> bool:
    """Whether the user has said where the JVM has its temporary files."""
    return JAVA_OPTIONS in options or any(
        PLACE in os.environ.get(each, "") for each in USERS_OPTIONS
    )


def new_folder() -> TemporaryFolder | None:
    """A folder, if there is a place for one."""
    try:
        return TemporaryFolder()
    except OSError:
        return None


def java_option(folder: Path) -> str:
    """As Spark reads options: in quotes, since a path may have spaces."""
    escaped = str(folder).replace("\\", "\\\\").replace('"', '\\"')
    return f'"-D{PLACE}={escaped}"'


def sockets_in(folder: Path) -> dict[str, str]:
    """Options for sockets in a folder, between the JVM and Python; none if it can have no sockets.

    Without them Spark opens ports. A release of Spark that does not know them opens ports as well.
    """
    if not can_have_sockets(folder):
        return {}
    return {SOCKETS: "true", PLACE_OF_SOCKETS: str(folder)}


def can_have_sockets(folder: Path) -> bool:
    """Whether its path is short enough, and its file system knows sockets."""
    if len(os.fsencode(folder)) > LONGEST:
        return False
    tried = folder / "socket"
    try:
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(tried))
        tried.unlink()
    except OSError:
        return False
    return True
