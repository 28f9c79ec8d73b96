"""The record beside a file: up to where it counts, and which batch that was.

``late.jsonl.delivery`` belongs to ``late.jsonl``. It is replaced in one step, once the disk has
what it describes. What follows the recorded length in the file was never committed.

A file that is rotated is renamed first, then the record is replaced. In between, the record still
says what the file that was renamed has to be, byte for byte, so it is known again after a crash.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeGuard

from penstock.connectors.files.rotation import numbered
from penstock.connectors.shared.durable_files import write_whole
from penstock.delivery import DeliveryRefused

__all__ = ["NEVER", "DeliveryRecord", "FilePrefix", "RotationRecord", "record_of"]

SUFFIX: Final = ".delivery"
FORMAT: Final = 1
TAIL_BYTES: Final = 4096
"""So many bytes before the recorded length are compared when a file is opened."""
REMEDY: Final = "restore both from a backup, or give the pipeline another file"


def record_of(file: Path) -> Path:
    """Where the record of a file is."""
    return file.with_name(file.name + SUFFIX)


class FilePrefix(NamedTuple):
    """The beginning of a file: so many bytes, and the SHA-256 of the last of these."""

    length: int
    tail: str

    @classmethod
    def of(cls, descriptor: int, length: int) -> FilePrefix:
        """The first bytes of a file that is open."""
        return cls(length, tail_of(descriptor, length))


@dataclass(frozen=True)
class RotationRecord:
    """What became of a file before.

    ``number``  how often it was rotated
    ``last``    what it was when that happened last; ``None`` if it is not known
    ``since``   when the first rows came that it has now, in seconds since 1970, if that matters
    """

    number: int = 0
    last: FilePrefix | None = None
    since: float | None = None

    @property
    def fields(self) -> dict[str, Any]:
        """What a record says of it; a file that just grows has none."""
        return {name: value for name, value in asdict(self).items() if value}

    @classmethod
    def read(cls, found: Any) -> RotationRecord:
        """What ``fields`` has written; ``ValueError`` if it is something else."""
        if not isinstance(found, dict):
            raise ValueError
        number, last, since = (found.get(name) for name in ("number", "last", "since"))
        if not (is_length(number or 0) and isinstance(since, int | float | None)):
            raise ValueError
        return cls(number or 0, None if last is None else read_part(*last), since)


NEVER: Final = RotationRecord()


@dataclass(frozen=True)
class DeliveryRecord:
    """What counts of a file.

    ``part``     its bytes up to the end of the last batch that was committed
    ``mark``     that of the batch; ``None`` before the first one
    ``rotated``  what became of it before
    """

    part: FilePrefix
    mark: str | None
    rotated: RotationRecord = NEVER

    @property
    def length(self) -> int:
        """The bytes that count."""
        return self.part.length

    @classmethod
    def read(cls, file: Path) -> DeliveryRecord | None:
        """The record of a file, if it has one."""
        path = record_of(file)
        try:
            found: Any = json.loads(path.read_bytes())
            if int(found["format"]) > FORMAT:
                raise DeliveryRefused(
                    f"{path} was written by a later version of penstock: it has format "
                    f"{found['format']}, and this version knows {FORMAT}; run that version, or a "
                    "later one"
                )
            length, tail, mark = (found[name] for name in ("length", "tail", "mark"))
            if not isinstance(mark, str | None):
                raise ValueError
            return cls(read_part(length, tail), mark, RotationRecord.read(found.get("rotated", {})))
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            raise DeliveryRefused(f"{path} is damaged; {REMEDY}") from None

    def write(self, file: Path) -> None:
        """Put it beside its file, durably and in one step."""
        content = {"format": FORMAT, **self.part._asdict(), "mark": self.mark}
        if fields := self.rotated.fields:
            content["rotated"] = fields
        write_whole(record_of(file), json.dumps(content).encode())

    def require_in(self, file: Path) -> None:
        """Refuse a file in which not all is as it was recorded; more than that may follow."""
        if not file.exists():
            if self.length:
                raise DeliveryRefused(
                    f"{file} is missing, and {record_of(file)} says that it had {self.length:,} "
                    f"bytes; {REMEDY}"
                )
            return
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            if size < self.length:
                raise DeliveryRefused(
                    f"{file} has {size:,} bytes, and {record_of(file)} says that it had "
                    f"{self.length:,}: somebody else has cut it; {REMEDY}"
                )
            if FilePrefix.of(opened.fileno(), self.length) != self.part:
                raise DeliveryRefused(
                    f"{file} has {size:,} bytes, and what stands before byte {self.length:,}, up "
                    f"to where {record_of(file)} goes, is not what was written: somebody else has "
                    f"changed it; {REMEDY}"
                )

    def is_next_of(self, file: Path) -> bool:
        """Whether the next rotated file is there, and is all that counts of this one."""
        return self.length > 0 and is_exactly(numbered(file, self.rotated.number + 1), self.part)

    def require_last_rotated(self, file: Path) -> None:
        """Refuse a rotated file that has changed; one that was moved away is not checked."""
        last, path = self.rotated.last, numbered(file, self.rotated.number)
        if last is None or not path.exists() or is_exactly(path, last):
            return
        raise DeliveryRefused(
            f"{path} has {path.stat().st_size:,} bytes, and had {last.length:,} when it was "
            f"rotated, says {record_of(file)}: somebody else has changed it; restore it, or move "
            "it away"
        )


def is_exactly(file: Path, part: FilePrefix) -> bool:
    """Whether a file is that, and nothing follows."""
    try:
        with file.open("rb") as opened:
            size = os.fstat(opened.fileno()).st_size
            return size == part.length and FilePrefix.of(opened.fileno(), size) == part
    except OSError:  # it is not there, or is something that no sink can have written
        return False


def read_part(length: object, tail: object) -> FilePrefix:
    """Both as a record has them; ``ValueError`` if they are something else."""
    if not (is_length(length) and isinstance(tail, str)):
        raise ValueError
    return FilePrefix(length, tail)


def tail_of(descriptor: int, length: int) -> str:
    """A digest of the last bytes before ``length``."""
    size = min(length, TAIL_BYTES)
    return sha256(os.pread(descriptor, size, length - size)).hexdigest()


def is_length(value: object) -> TypeGuard[int]:
    """Whether that can be the length of a file."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
