"""The small files of a checkpoint, where it is: a folder, a file system of Arrow, or S3."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from penstock.spark.journal.private_files import make_private_folder, open_to_read
from penstock.spark.journal.s3_folder import Overtaken, S3Folder, is_s3
from penstock.spark.journal.store import open_store

__all__ = ["CheckpointFiles", "files_at", "is_local"]


class CheckpointFiles(Protocol):
    """Files by their paths in the checkpoint. All of it may raise ``OSError``."""

    def make(self, mark: str) -> None:
        """Make the folder; one that has a file of this name is a checkpoint already."""

    def entries(self, folder: str) -> list[str]:
        """The names of what is in a folder; none, if there is no folder."""

    def has(self, file: str) -> bool:
        """Whether there is such a file."""

    def read(self, file: str) -> str | None:
        """What is in a file, if there is one."""

    def write(self, file: str, text: str) -> None:
        """Write or replace a file as a whole."""

    def write_after(self, file: str, text: str, before: str | None) -> None:
        """The same, after ``before`` was read; ``Overtaken`` if it is found that this changed."""


class ArrowFiles:
    """Files that others do not change meanwhile: where nothing is locked, that is not noticed."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._system: FileSystem
        if "://" in place:
            self._system, self._root = FileSystem.from_uri(place)
        else:
            self._system, self._root = LocalFileSystem(), place

    @property
    def folder(self) -> Path | None:
        """The local folder, if it is one."""
        return Path(self._root) if is_local(self._place) else None

    def make(self, mark: str) -> None:
        if self.folder is not None:
            make_private_folder(self.folder, marks=(mark,))
        else:
            self._system.create_dir(self._root, recursive=True)

    def entries(self, folder: str) -> list[str]:
        selector = FileSelector(f"{self._root}/{folder}", allow_not_found=True)
        return [info.base_name for info in self._system.get_file_info(selector)]

    def has(self, file: str) -> bool:
        return bool(self._system.get_file_info(f"{self._root}/{file}").type is FileType.File)

    def read(self, file: str) -> str | None:
        if not self.has(file):
            return None
        if self.folder is not None:
            with os.fdopen(open_to_read(self.folder / file), "rb") as own:
                return own.read().decode("utf-8", errors="replace")
        with self._system.open_input_stream(f"{self._root}/{file}") as stream:
            content: bytes = stream.read()
        return content.decode("utf-8", errors="replace")

    def write(self, file: str, text: str) -> None:
        open_store(self._place).write(file, text.encode())

    def write_after(self, file: str, text: str, before: str | None) -> None:
        self.write(file, text)


class S3Files:
    """Files on S3, of which those that matter are replaced only by who has seen them."""

    folder = None

    def __init__(self, place: str) -> None:
        self._files = S3Folder(place)

    def make(self, mark: str) -> None:
        self._files.has(mark)  # there are no folders, but perhaps no bucket either

    def entries(self, folder: str) -> list[str]:
        return self._files.entries(folder)

    def has(self, file: str) -> bool:
        return self._files.has(file)

    def read(self, file: str) -> str | None:
        try:
            return self._files.read(file).decode("utf-8", errors="replace")
        except FileNotFoundError:
            return None

    def write(self, file: str, text: str) -> None:
        self._files.put(file, text.encode())

    def write_after(self, file: str, text: str, before: str | None) -> None:
        tag: str | None = None
        if before is not None:
            content, tag = self._files.seen(file)
            if content != before.encode():
                raise Overtaken(f"{self._files.describe(file)} was written by somebody else")
        self._files.replace(file, text.encode(), tag)


def files_at(place: str) -> ArrowFiles | S3Files:
    """The files of a checkpoint; nothing is read or written yet."""
    return S3Files(place) if is_s3(place) else ArrowFiles(place)


def is_local(place: str) -> bool:
    """Whether ``place`` is a folder of this machine."""
    return urlsplit(place).scheme in ("", "file")
