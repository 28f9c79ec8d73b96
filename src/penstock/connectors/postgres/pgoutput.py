"""The messages of logical replication, as PostgreSQL's own plug-in ``pgoutput`` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from psycopg.adapt import Transformer
from psycopg.pq import Format

__all__ = ["Change", "ChangeDecoder", "Kind", "lsn_of", "lsn_text"]

Kind: TypeAlias = Literal["insert", "update", "delete", "truncate"]
Row = dict[str, Any]

LSN: Final = Struct(">Q")
ID: Final = Struct(">I")
COUNT: Final = Struct(">H")
TEXT: Final = ord("t")
NULL: Final = ord("n")


class Change(NamedTuple):
    """A change of a row, or of a whole table, in a transaction that was committed.

    ``lsn``     where the commit of its transaction is in the server's log, such as ``"0/16B3748"``
    ``number``  its place in the transaction, from 0
    ``kind``    insert, update, delete or truncate
    ``table``   the table with its schema before it: ``"public.flights"``
    ``row``     the row after the change; ``None`` if there is none
    ``old``     what the server tells of the row before: its key if that was changed or the row was
                deleted, all of it with ``REPLICA IDENTITY FULL``; else ``None``
    """

    lsn: str
    number: int
    kind: Kind
    table: str
    row: Row | None
    old: Row | None

    @property
    def position(self) -> list[Any]:
        """After which change to go on."""
        return [self.lsn, self.number]


class ReplicatedTable(NamedTuple):
    """A table as the server describes it before its first change, and again when it was changed."""

    name: str
    columns: list[tuple[str, Any]]


class ChangeDecoder:
    """Makes changes of messages, in the order in which they come.

    ``commit``  the place of the commit of the transaction that is read; 0 before the first one
    """

    def __init__(self) -> None:
        self.commit = 0
        self._lsn = lsn_text(0)
        self._number = 0
        self._tables: dict[int, ReplicatedTable] = {}
        self._types = Transformer()

    def decode(self, message: bytes) -> Sequence[Change]:
        """The changes that a message tells of, mostly one or none."""
        kind = message[:1]
        if kind == b"I":
            table = self._table(message)
            row, _ = self._row(table, message, 5)
            return (self._change("insert", table, row, None),)
        if kind == b"U":
            return (self._update(message),)
        if kind == b"D":
            table = self._table(message)
            old, _ = self._row(table, message, 5, is_key=message[5:6] == b"K")
            return (self._change("delete", table, None, old),)
        if kind == b"T":
            return self._truncated(message)
        if kind == b"B":
            (self.commit,), self._number = LSN.unpack_from(message, 1), 0
            self._lsn = lsn_text(self.commit)
        elif kind == b"R":
            self._describe(message)
        return ()

    def _change(
        self, kind: Kind, table: ReplicatedTable, row: Row | None, old: Row | None
    ) -> Change:
        number, self._number = self._number, self._number + 1
        return Change(self._lsn, number, kind, table.name, row, old)

    def _update(self, message: bytes) -> Change:
        table = self._table(message)
        old: Row | None = None
        at = 5
        if message[5:6] != b"N":
            old, at = self._row(table, message, 5, is_key=message[5:6] == b"K")
        row, _ = self._row(table, message, at)
        if old is not None:
            row = {**{name: old[name] for name in old if name not in row}, **row}
        return self._change("update", table, row, old)

    def _truncated(self, message: bytes) -> list[Change]:
        (count,) = ID.unpack_from(message, 1)
        numbers = (ID.unpack_from(message, 6 + 4 * each)[0] for each in range(count))
        return [self._change("truncate", self._tables[each], None, None) for each in numbers]

    def _table(self, message: bytes) -> ReplicatedTable:
        return self._tables[ID.unpack_from(message, 1)[0]]

    def _row(
        self, table: ReplicatedTable, message: bytes, at: int, *, is_key: bool = False
    ) -> tuple[Row, int]:
        """The values from there on, and where they end.

        A large value that was not changed is not told; of a key, the other columns are not.
        """
        row: Row = {}
        at += 3
        for name, load in table.columns:
            kind = message[at]
            at += 1
            if kind == TEXT:
                begin = at + 4
                at = begin + int.from_bytes(message[at:begin], "big")
                row[name] = load(message[begin:at])
            elif kind == NULL and not is_key:
                row[name] = None
        return row, at

    def _describe(self, message: bytes) -> None:
        (number,) = ID.unpack_from(message, 1)
        schema, at = text_at(message, 5)
        name, at = text_at(message, at)
        (count,) = COUNT.unpack_from(message, at + 1)
        at += 3
        columns = []
        for _ in range(count):
            column, at = text_at(message, at + 1)
            (kind,) = ID.unpack_from(message, at)
            columns.append((column, self._types.get_loader(kind, Format.TEXT).load))
            at += 8
        self._tables[number] = ReplicatedTable(f"{schema or 'pg_catalog'}.{name}", columns)


def text_at(message: bytes, at: int) -> tuple[str, int]:
    """A text that ends with a zero byte, and where what follows begins."""
    end = message.index(b"\0", at)
    return message[at:end].decode(), end + 1


def lsn_text(lsn: int) -> str:
    """A place in the server's log, as the server writes it.

    >>> lsn_text(0x100000A0B)
    '1/A0B'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_of(text: str) -> int:
    """The same as a number.

    >>> lsn_of("1/A0B") == 0x100000A0B
    True
    """
    high, _, low = text.partition("/")
    return int(high, 16) << 32 | int(low, 16)
