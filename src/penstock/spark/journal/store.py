"""What a journal needs of the place where its files are."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeAlias

import pyarrow as pa

from penstock.spark.journal.errors import JournalUnusable

if TYPE_CHECKING:
    from pyarrow import fs  # on demand: it takes as long as the rest of a journal together

__all__ = ["Place", "SegmentFile", "Store", "StoredFile", "local_folder_of", "open_store"]

S3: Final = "s3://"
Place: TypeAlias = "str | PathLike[str] | fs.FileSystem"
"""A local folder, a URI that ``pyarrow.fs`` knows, or a file system that begins at the folder.

Any file system can be made to begin at a folder by ``pyarrow.fs.SubTreeFileSystem``.
"""


class StoredFile(NamedTuple):
    """A file and its size in bytes."""

    name: str
    size: int


class SegmentFile(Protocol):
    """A segment to which records are appended."""

    def append(self, parts: list[Any]) -> None:
        """Write one record; it is durable on return. After an ``OSError`` nothing of it counts."""

    def take_back(self) -> None:
        """The record that was just appended does not count."""

    def close(self) -> None:
        """No more records will be appended."""


class Store(Protocol):
    """A folder of files, somewhere. All but ``describe`` may raise ``OSError``."""

    one_record_each: bool
    """A file is written at once and never changed, as in an object store."""

    def describe(self, name: str = "") -> str:
        """The file, or the folder, in the words of its user."""

    def files(self) -> list[StoredFile]:
        """All files."""

    def read(self, name: str) -> pa.Buffer:
        """The content of a file; ``FileNotFoundError`` if there is none."""

    def head(self, name: str, size: int) -> bytes:
        """The beginning of a file, at most ``size`` bytes."""

    def write(self, name: str, content: bytes) -> None:
        """Write or replace a small file as a whole; it is durable on return."""

    def overwrite(self, name: str, content: bytes, *, durable: bool) -> None:
        """Change a small file that is there; one that cannot be changed in place if ``durable``."""

    def delete(self, name: str) -> None:
        """Delete a file; no error if it is gone."""

    def truncate(self, name: str, size: int) -> None:
        """Cut off the end of a segment, and make durable what is left."""

    def new_segment(self, name: str) -> SegmentFile:
        """Begin a segment."""

    def continue_segment(self, name: str, size: int) -> SegmentFile:
        """Go on with a segment of ``size`` bytes."""

    def claim(self) -> None:
        """Become the one writer, and make the folder; ``JournalInUse`` if there is another one."""

    def check_claim(self) -> None:
        """``JournalInUse`` if another writer has taken over."""

    def release(self) -> None:
        """Let another writer have it."""


def open_store(place: Place) -> Store:
    """The store at a place; nothing is read or written yet."""
    # Loaded late: local files need POSIX, which a journal in an object store does without.
    folder = local_folder_of(place)
    if folder is not None:
        from penstock.spark.journal.local_store import LocalStore

        return LocalStore(folder)
    if isinstance(place, str) and place.startswith(S3):
        from penstock.spark.journal.s3_store import S3JournalStore

        return S3JournalStore(place)
    from pyarrow import fs

    from penstock.spark.journal.object_store import ObjectStore

    if isinstance(place, fs.FileSystem):
        return ObjectStore(place, "", repr(place))
    file_system, path = fs.FileSystem.from_uri(str(place))
    return ObjectStore(file_system, path, str(place))


def local_folder_of(place: Place) -> str | None:
    """The local folder that is meant, if one is meant."""
    text = str(place) if isinstance(place, str | PathLike) else None
    if text == "":
        raise JournalUnusable("the place of a journal must not be empty")
    if text is not None and "://" not in text:
        return text
    if text is not None and text.startswith(S3):
        return None
    from pyarrow import fs

    if isinstance(place, fs.FileSystem):
        return None
    if text is None:
        raise TypeError(
            f"a journal is at a folder, at a URI or in a pyarrow.fs.FileSystem, not at {place!r}"
        )
    try:
        file_system, path = fs.FileSystem.from_uri(text)
    except (pa.ArrowInvalid, OSError) as error:
        raise JournalUnusable(f"{text} is no place for a journal: {error}") from error
    return str(path) if isinstance(file_system, fs.LocalFileSystem) else None
