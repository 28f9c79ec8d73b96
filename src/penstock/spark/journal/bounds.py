"""Which rows a journal holds for certain, in a small file beside the segments.

The writer changes it after each sync. So a reader in another process sees only what is durable, and
rows that were once durable and are gone are noticed. In a store whose files cannot grow it is
written only when rows are deleted.
"""

from __future__ import annotations

import struct
import zlib
from typing import Final, NamedTuple

from penstock.spark.journal.errors import JournalDamaged
from penstock.spark.journal.store import Store

__all__ = ["BOUNDS", "Bounds", "read_bounds"]

BOUNDS: Final = "bounds"
MAGIC: Final = b"PNB1"
FIELDS: Final = struct.Struct("<4sB3xQQ16s")
CHECKSUM: Final = struct.Struct("<I")
ATTEMPTS: Final = 100


class Bounds(NamedTuple):
    """What a journal holds.

    ``start``   the rows before it are committed, and may be gone
    ``end``     the rows before it are durable
    ``sealed``  no row will follow
    """

    start: int
    end: int
    sealed: bool

    def encode(self, identity: bytes) -> bytes:
        """The content of the file."""
        content = FIELDS.pack(MAGIC, self.sealed, self.start, self.end, identity)
        return content + CHECKSUM.pack(zlib.crc32(content))


def read_bounds(store: Store, identity: bytes) -> Bounds | None:
    """What the writer has last said; ``None`` if there is no such file."""
    # The writer may change it at this moment; then the next look finds it whole.
    for _ in range(ATTEMPTS):
        try:
            content = store.head(BOUNDS, FIELDS.size + CHECKSUM.size + 1)
        except FileNotFoundError:
            return None
        if _is_whole(content):
            magic, sealed, start, end, owner = FIELDS.unpack_from(content)
            if (magic, owner) != (MAGIC, identity):
                raise JournalDamaged(store.describe(BOUNDS), 0, "it belongs to another journal")
            return Bounds(start, end, bool(sealed))
    raise JournalDamaged(store.describe(BOUNDS), 0, "its checksum does not fit")


def _is_whole(content: bytes) -> bool:
    if len(content) != FIELDS.size + CHECKSUM.size:
        return False
    (checksum,) = CHECKSUM.unpack_from(content, FIELDS.size)
    return bool(checksum == zlib.crc32(content[: FIELDS.size]))
