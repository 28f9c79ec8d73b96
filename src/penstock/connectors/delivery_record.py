"""The record beside a file: up to where it counts, and which batch that was.

``late.jsonl.delivery`` belongs to ``late.jsonl``. It is replaced in one step, once the disk has
what it speaks of. What stands in the file after the recorded length was never committed.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from penstock.connectors.durable_files import write_whole
from penstock.delivery import DeliveryRefused

__all__ = ["DeliveryRecord", "record_of"]

SUFFIX: Final = ".delivery"
FORMAT: Final = 1
TAIL_BYTES: Final = 4096
"""So many bytes before the recorded length are compared when a file is opened."""
REMEDY: Final = "restore both from a backup, or give the pipeline another file"


def record_of(file: Path) -> Path:
    """Where the record of a file is."""
    return file.with_name(file.name + SUFFIX)


@dataclass(frozen=True)
class DeliveryRecord:
    """What counts of a file.

    ``length``  its bytes up to the end of the last batch that was committed
    ``tail``    the SHA-256 of the last bytes of these
    ``mark``    that of the batch; ``None`` before the first one
    """

    length: int
    tail: str
    mark: str | None

    @classmethod
    def made(cls, descriptor: int, length: int, mark: str | None) -> DeliveryRecord:
        """The record of a file that is open, up to ``length``."""
        return cls(length, tail_of(descriptor, length), mark)

    @classmethod
    def read(cls, file: Path) -> DeliveryRecord | None:
        """The record of a file, if it has one."""
        path = record_of(file)
        try:
            found: Any = json.loads(path.read_bytes())
            version, length, tail, mark = (
                found[name] for name in ("format", "length", "tail", "mark")
            )
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError):
            raise DeliveryRefused(f"{path} is damaged; {REMEDY}") from None
        if version != FORMAT:
            raise DeliveryRefused(f"{path} was written by another version of penstock; {REMEDY}")
        if not (is_length(length) and isinstance(tail, str) and isinstance(mark, str | None)):
            raise DeliveryRefused(f"{path} is damaged; {REMEDY}")
        return cls(length, tail, mark)

    def write(self, file: Path) -> None:
        """Put it beside its file, durably and in one step."""
        write_whole(record_of(file), json.dumps({"format": FORMAT, **asdict(self)}).encode())

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
            if tail_of(opened.fileno(), self.length) != self.tail:
                raise DeliveryRefused(
                    f"{file} has {size:,} bytes, and what stands before byte {self.length:,}, up "
                    f"to where {record_of(file)} goes, is not what was written: somebody else has "
                    f"changed it; {REMEDY}"
                )


def tail_of(descriptor: int, length: int) -> str:
    """A digest of the last bytes before ``length``."""
    size = min(length, TAIL_BYTES)
    return sha256(os.pread(descriptor, size, length - size)).hexdigest()


def is_length(value: object) -> bool:
    """Whether that can be the length of a file."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
