"""The messages of logical replication, as PostgreSQL's own plug-in ``pgoutput`` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from struct import Struct
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from psycopg.adapt import Transformer
from psycopg.pq import Format

__all__ = ["Change", "ChangeDecoder", "Kind", "lsn_of", "lsn_text"]

Kind: TypeAlias = Literal["insert", "update", "delete", "truncate"]
Row = dict[str, Any]
Columns = list[tuple[str, Callable[[bytes], Any]]]

LSN: Final = Struct(">Q")
ID: Final = Struct(">I")
COUNT: Final = Struct(">H")
LENGTH: Final = ID.unpack_from
UPDATE, DELETE, TRUNCATE, BEGIN, RELATION = b"UDTBR"
TEXT, NULL, KEY, NEW = b"tnKN"


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


Insert: TypeAlias = Callable[[bytes, str, int], Change]
CHANGE: Final = partial(tuple.__new__, Change)
"""Makes a ``Change`` of its fields, in a third of the time."""


class ReplicatedTable(NamedTuple):
    """A table as the server describes it before its first change, and again when it was changed."""

    name: str
    columns: Columns


class ChangeDecoder:
    """Makes changes of messages, in the order in which they come.

    Reads them on the thread that asks for changes.
    """

    def __init__(self) -> None:
        self._lsn = lsn_text(0)
        self._number = 0
        self._tables: dict[int, ReplicatedTable] = {}
        self._inserts: dict[bytes, Insert] = {}
        self._types = Transformer()

    def changes(self, read: Callable[[], Any], most: int) -> list[Change]:
        """The changes of the messages that ``read`` gives, until it gives ``None``.

        There are at least ``most``, and hardly more: one message may tell of several tables.
        """
        changes: list[Change] = []
        inserts, lsn, number = self._inserts, self._lsn, self._number
        while len(changes) < most:
            message = read()
            if message is None:
                break
            payload = message.payload
            insert = inserts.get(payload[:5])
            if insert is not None:  # the one that comes by the million
                changes.append(insert(payload, lsn, number))
                number += 1
            else:
                self._number = number
                self._take(payload, changes)
                lsn, number = self._lsn, self._number
        self._number = number
        return changes

    def _take(self, message: bytes, changes: list[Change]) -> None:
        """Whatever is not an insert."""
        kind = message[0]
        if kind == BEGIN:
            self._lsn, self._number = lsn_text(LSN.unpack_from(message, 1)[0]), 0
        elif kind == RELATION:
            self._describe(message)
        elif kind in (UPDATE, DELETE, TRUNCATE):
            for told in self._told(kind, message):
                changes.append(CHANGE((self._lsn, self._number, *told)))
                self._number += 1

    def _told(
        self, kind: int, message: bytes
    ) -> Iterator[tuple[Kind, str, Row | None, Row | None]]:
        """The kind, the table and the rows of other changes than inserts."""
        if kind == TRUNCATE:
            (count,) = ID.unpack_from(message, 1)
            for number in Struct(f">{count}I").unpack_from(message, 6):
                yield "truncate", self._tables[number].name, None, None
            return
        name, columns = self._tables[LENGTH(message, 1)[0]]
        if kind == DELETE:
            yield "delete", name, None, old_at(columns, message)[0]
            return
        old: Row | None = None
        at = 5
        if message[at] != NEW:
            old, at = old_at(columns, message)
        row, _ = row_at(columns, message, at + 3)
        if old is not None:
            row = {**{each: old[each] for each in old if each not in row}, **row}
        yield "update", name, row, old

    def _describe(self, message: bytes) -> None:
        (number,) = ID.unpack_from(message, 1)
        schema, at = text_at(message, 5)
        name, at = text_at(message, at)
        (count,) = COUNT.unpack_from(message, at + 1)
        at += 3
        columns: Columns = []
        for _ in range(count):
            column, at = text_at(message, at + 1)
            (kind,) = ID.unpack_from(message, at)
            columns.append((column, self._types.get_loader(kind, Format.TEXT).load))
            at += 8
        table = ReplicatedTable(f"{schema or 'pg_catalog'}.{name}", columns)
        self._tables[number] = table
        self._inserts[b"I" + message[1:5]] = insert_into(table)


def insert_into(table: ReplicatedTable) -> Insert:
    """What makes a change of the message of an insert, its place and its number.

    Most of the time of a source goes by here: a call within, as of ``row_at``, would be felt.
    """
    name, columns = table

    def insert(message: bytes, lsn: str, number: int) -> Change:
        row: Row = {}
        at = 8
        for column, load in columns:
            if message[at] == TEXT:
                begin = at + 5
                at = begin + LENGTH(message, at + 1)[0]
                row[column] = load(message[begin:at])
            else:
                row[column] = None
                at += 1
        return CHANGE((lsn, number, "insert", name, row, None))

    return insert


def row_at(columns: Columns, message: bytes, at: int) -> tuple[Row, int]:
    """The values from there on, and where they end; an unchanged large one is not told."""
    row: Row = {}
    for name, load in columns:
        if message[at] == TEXT:
            begin = at + 5
            at = begin + LENGTH(message, at + 1)[0]
            row[name] = load(message[begin:at])
        else:
            if message[at] == NULL:
                row[name] = None
            at += 1
    return row, at


def old_at(columns: Columns, message: bytes) -> tuple[Row, int]:
    """The row before the change; of a key, the other columns come as NULL."""
    row, at = row_at(columns, message, 8)
    if message[5] == KEY:
        row = {name: value for name, value in row.items() if value is not None}
    return row, at


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
