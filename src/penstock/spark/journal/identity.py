"""Which journal this is: its identity and the columns of its rows, in a file that never changes."""

from __future__ import annotations

import struct
import uuid
import zlib
from typing import Final, NamedTuple

import pyarrow as pa

from penstock.spark.journal.errors import JournalDamaged, SchemaChanged
from penstock.spark.journal.store import Store

__all__ = [
    "LABEL",
    "JournalIdentity",
    "new_identity",
    "read_identity",
    "require_same_schema",
    "require_storable",
]

LABEL: Final = "schema"
MAGIC: Final = b"PNL1"
FIELDS: Final = struct.Struct("<4sI")
IDENTITY_BYTES: Final = 16


class JournalIdentity(NamedTuple):
    """The identity of a journal, 16 random bytes, and its schema."""

    identity: bytes
    schema: pa.Schema

    def encode(self) -> bytes:
        """The content of the file."""
        content: bytes = self.identity + self.schema.serialize().to_pybytes()
        return FIELDS.pack(MAGIC, zlib.crc32(content)) + content


def new_identity(schema: pa.Schema) -> JournalIdentity:
    """The label of a journal that is made now."""
    return JournalIdentity(uuid.uuid4().bytes, schema)


def read_identity(store: Store) -> JournalIdentity:
    """The label of the journal; ``FileNotFoundError`` if there is none."""
    content = store.read(LABEL).to_pybytes()
    file = store.describe(LABEL)
    if len(content) < FIELDS.size:
        raise JournalDamaged(file, len(content), "the file is too short")
    magic, checksum = FIELDS.unpack_from(content)
    if magic != MAGIC:
        raise JournalDamaged(file, 0, "it has a form that this version does not know")
    content = content[FIELDS.size :]
    if checksum != zlib.crc32(content):
        raise JournalDamaged(file, 0, "its checksum does not fit")
    schema = pa.ipc.read_schema(pa.py_buffer(content[IDENTITY_BYTES:]))
    return JournalIdentity(content[:IDENTITY_BYTES], schema)


def require_storable(schema: pa.Schema) -> None:
    """Raise ``TypeError`` unless each batch of that schema can stand for itself."""
    if not isinstance(schema, pa.Schema):
        raise TypeError(f"the schema of a journal is a pyarrow.Schema, not {schema!r}")
    for field in schema:
        if _has_dictionary(field.type):
            raise TypeError(
                f"column {field.name!r} is {field.type}; a journal keeps plain values, so cast it"
            )


def require_same_schema(known: pa.Schema, given: pa.Schema, where: str) -> None:
    """Raise ``SchemaChanged`` with the first difference, if there is one."""
    if not known.equals(given, check_metadata=False):
        raise SchemaChanged(
            f"{where} holds rows with other columns: {_difference(known, given)}. Give it the"
            f" columns that it was made with, or begin another journal"
        )


def _difference(known: pa.Schema, given: pa.Schema) -> str:
    missing = [name for name in known.names if name not in given.names]
    surplus = [name for name in given.names if name not in known.names]
    if missing or surplus:
        parts = [f"column {name!r} of the journal is missing" for name in missing]
        parts += [f"column {name!r} is not in the journal" for name in surplus]
        return ", ".join(parts)
    if known.names != given.names:
        return f"the journal has them in the order {known.names}, not {given.names}"
    return ", ".join(
        f"column {old.name!r} is {_described(old)} in the journal and {_described(new)} here"
        for old, new in zip(known, given, strict=True)
        if not old.equals(new)
    )


def _described(field: pa.Field) -> str:
    return str(field.type) if field.nullable else f"{field.type} not null"


def _has_dictionary(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        return True
    return any(_has_dictionary(kind.field(i).type) for i in range(kind.num_fields))
