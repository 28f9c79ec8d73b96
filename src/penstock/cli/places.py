"""Whether a place can hold a checkpoint: tried out, and left as it was."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from penstock.spark.journal.s3_folder import S3Folder

__all__ = ["PlaceTrial", "free_bytes", "local_path", "try_out"]

CONTENT: Final = b"x" * 4096
TRIAL: Final = ".penstock-trial"


class PlaceTrial(NamedTuple):
    """A small file was written and synced: where, and how long that took."""

    folder: str
    seconds: float


def try_out(place: str) -> PlaceTrial:
    """Write, sync and delete a small file where a checkpoint is to be; an ``OSError`` if not.

    Folders that are missing are not made: their place is the nearest one that is there.
    """
    path = local_path(place)
    return try_elsewhere(place) if path is None else try_here(existing(path))


def local_path(place: str) -> Path | None:
    """``place`` as a path of this machine, if it is one."""
    parts = urlsplit(place)
    if "://" not in place:
        return Path(place)
    return Path(unquote(parts.path)) if parts.scheme == "file" else None


def free_bytes(path: Path) -> int:
    """What can still be written there."""
    return shutil.disk_usage(existing(path)).free


def existing(path: Path) -> Path:
    """The nearest folder that is there."""
    path = path.absolute()
    while not path.exists():
        path = path.parent
    if not path.is_dir():
        raise NotADirectoryError(f"{path} is a file, not a folder")
    return path


def try_here(folder: Path) -> PlaceTrial:
    """The same in a folder of this machine."""
    began = time.perf_counter()
    handle, name = tempfile.mkstemp(prefix=".penstock-", dir=folder)
    try:
        os.write(handle, CONTENT)
        os.fsync(handle)
    finally:
        os.close(handle)
        Path(name).unlink()
    return PlaceTrial(str(folder), time.perf_counter() - began)


def try_elsewhere(place: str) -> PlaceTrial:
    """The same on S3, or in a file system of ``pyarrow``."""
    from pyarrow import ArrowException
    from pyarrow.fs import FileSystem

    from penstock.spark.journal.errors import JournalUnusable
    from penstock.spark.journal.s3_folder import S3Folder, is_s3

    began = time.perf_counter()
    try:
        if is_s3(place):
            folder = S3Folder(place)
            try:
                folder.put(TRIAL, CONTENT)
                seconds = time.perf_counter() - began
                require_conditions(folder)
            finally:
                folder.delete(TRIAL)
            return PlaceTrial(place, seconds)
        files, root = FileSystem.from_uri(place)
        path = f"{root}/{TRIAL}"
        files.create_dir(root, recursive=True)
        with files.open_output_stream(path) as stream:
            stream.write(CONTENT)
        files.delete_file(path)
    except (ArrowException, JournalUnusable) as error:
        raise OSError(str(error)) from error
    return PlaceTrial(place, time.perf_counter() - began)


def require_conditions(folder: S3Folder) -> None:
    """Refuse a server that replaces a file for one who has not seen it."""
    from penstock.spark.journal.s3_folder import Overtaken

    _, seen = folder.seen(TRIAL)
    folder.put(TRIAL, CONTENT + b"another")
    for tag, header in ((None, "If-None-Match"), (seen, "If-Match")):
        try:
            folder.replace(TRIAL, CONTENT + header.encode(), tag)
        except Overtaken:
            continue
        raise OSError(
            f"{folder.place}: this server does not heed {header}, by which two runs at a time keep "
            "out of each other's way; take one that has conditional writes"
        )
