"""The log of a folder that Spark writes files into: which batches it has, of whatever query.

Spark leaves out a batch whose number is in that log already, and says nothing. A folder of another
query, or of the same one with a new checkpoint, would swallow as many batches as it has.
"""

from __future__ import annotations

from typing import Final

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileSystem, LocalFileSystem

from penstock.runtime import printable
from penstock.spark.checkpoint_owner import CheckpointError
from penstock.spark.egress.query import NativeSink

__all__ = ["require_own_log"]

LOG: Final = "_spark_metadata"


def require_own_log(sink: NativeSink, planned: int | None) -> None:
    """Refuse a folder that has batches after ``planned``, the last one of this checkpoint.

    A place that nobody here can read is left to Spark.
    """
    place = sink.options.get("path")
    if place is None:
        return
    last = last_batch(place)
    if last is not None and last > (-1 if planned is None else planned):
        raise CheckpointError(
            f"{printable(place)} was written by another query, up to batch {last}: Spark would "
            "leave out the batches up to that number, without a word; name another folder, or "
            "the checkpoint with which it was written"
        )


def last_batch(place: str) -> int | None:
    """The number of the last batch in the log of a folder, if there is one."""
    files: FileSystem
    try:
        if "://" in place or place.startswith("file:"):
            files, root = FileSystem.from_uri(place)
        else:
            files, root = LocalFileSystem(), place
        selector = FileSelector(f"{root}/{LOG}", allow_not_found=True)
        names = [info.base_name for info in files.get_file_info(selector)]
    except (ArrowException, OSError):
        return None
    numbers = (name.removesuffix(".compact") for name in names)
    return max(map(int, filter(str.isdecimal, numbers)), default=None)
