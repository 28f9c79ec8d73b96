"""The messages of logical replication, as PostgreSQL's own plug-in ``pgoutput`` writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import islice
from struct import Struct
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from psycopg.adapt import Transformer
from psycopg.postgres import types
from psycopg.pq import Format

from penstock.runtime.shown_text import shown_value, shown_words

__all__ = ["CONNECTOR", "Change", "ChangeDecoder", "Kind", "lsn_of", "lsn_text"]

CONNECTOR: Final = "read_postgres_changes"

Kind: TypeAlias = Literal["insert", "update", "delete", "truncate"]
Row = dict[str, Any]
Columns = list[tuple[str, Callable[[bytes], Any]]]

LSN: Final = Struct(">Q")
ID: Final = Struct(">I")
COUNT: Final = Struct(">H")
LENGTH: Final = ID.unpack_from
INSERT, UPDATE, DELETE, TRUNCATE, BEGIN, RELATION = b"IUDTBR"
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


class Undecodable(ValueError):
    """A value that Python does not have, such as a date before the year 1."""


class ChangeDecoder:
    """Makes changes of messages, in the order in which they come.

    Reads them on the thread that asks for changes. There, ``base_types`` tells which types those
    are that the library does not know: that of a domain is the one that it is based on.

    The server sends whole transactions: changes up to the place and the number ``after`` are only
    counted, since one of them may be what cannot be decoded.
    """

    def __init__(
        self,
        base_types: Callable[[list[int]], Mapping[int, int]],
        after: tuple[int, int] | None = None,
    ) -> None:
        self._base_types = base_types
        self._after = after
        self._commit = 0
        self._failure: Exception | None = None
        self._lsn = lsn_text(0)
        self._number = 0
        self._tables: dict[int, ReplicatedTable] = {}
        self._inserts: dict[bytes, Insert] = {}
        self._types = Transformer()

    def changes(self, read: Callable[[], Any], most: int) -> list[Change]:
        """The changes of the messages that ``read`` gives, until it gives ``None``.

        There are at least ``most``, and hardly more: one message may tell of several tables.
        """
        if self._failure is not None:
            raise self._failure
        changes: list[Change] = []
        try:
            self._read(read, most, changes)
        except Undecodable as error:
            place = f"{CONNECTOR}: the change {self._number} of the transaction {self._lsn}"
            after = [self._lsn, self._number]
            self._failure = ValueError(f"{place}: {error}; after={after} leaves the change out")
            if not changes:
                raise self._failure from None
        return changes  # first what came before it

    def _read(self, read: Callable[[], Any], most: int, changes: list[Change]) -> None:
        inserts, lsn, number = self._inserts, self._lsn, self._number
        try:
            while len(changes) < most:
                message = read()
                if message is None:
                    break
                payload = message.payload
                insert = inserts.get(payload[:5])
                if insert is not None and self._after is None:  # the one that comes by the million
                    changes.append(insert(payload, lsn, number))
                    number += 1
                else:
                    self._number = number
                    self._take(payload, changes)
                    lsn, number = self._lsn, self._number
        finally:
            self._number = number

    def _take(self, message: bytes, changes: list[Change]) -> None:
        """Whatever is not an insert, and what may have been read before."""
        kind = message[0]
        if kind == BEGIN:
            self._commit, self._number = LSN.unpack_from(message, 1)[0], 0
            self._lsn = lsn_text(self._commit)
        elif kind == RELATION:
            self._describe(message)
        elif kind in (INSERT, UPDATE, DELETE, TRUNCATE):
            seen = self._count_seen(LENGTH(message, 1)[0] if kind == TRUNCATE else 1)
            if self._after is None:
                for told in islice(self._told(kind, message), seen, None):
                    changes.append(CHANGE((self._lsn, self._number, *told)))
                    self._number += 1

    def _count_seen(self, told: int) -> int:
        """How many of the next changes, of which a message tells so many, were read before."""
        if self._after is None:
            return 0
        commit, number = self._after
        if self._commit == commit:
            seen = min(max(number + 1 - self._number, 0), told)
        else:
            seen = told if self._commit < commit else 0
        self._number += seen
        if seen < told:
            self._after = None
        return seen

    def _told(
        self, kind: int, message: bytes
    ) -> Iterator[tuple[Kind, str, Row | None, Row | None]]:
        """The kind, the table and the rows of the changes that a message tells of."""
        if kind == TRUNCATE:
            (count,) = ID.unpack_from(message, 1)
            for number in Struct(f">{count}I").unpack_from(message, 6):
                yield "truncate", self._tables[number].name, None, None
            return
        table = self._tables[LENGTH(message, 1)[0]]
        if kind == INSERT:
            yield "insert", table.name, row_at(table, message, 8)[0], None
            return
        if kind == DELETE:
            yield "delete", table.name, None, old_at(table, message)[0]
            return
        old: Row | None = None
        at = 5
        if message[at] != NEW:
            old, at = old_at(table, message)
        row, _ = row_at(table, message, at + 3)
        if old is not None:
            row = {**{each: old[each] for each in old if each not in row}, **row}
        yield "update", table.name, row, old

    def _describe(self, message: bytes) -> None:
        (number,) = ID.unpack_from(message, 1)
        schema, at = text_at(message, 5)
        name, at = text_at(message, at)
        (count,) = COUNT.unpack_from(message, at + 1)
        at += 3
        kinds: list[tuple[str, int]] = []
        for _ in range(count):
            column, at = text_at(message, at + 1)
            kinds.append((column, ID.unpack_from(message, at)[0]))
            at += 8
        unknown = [kind for _, kind in kinds if types.get(kind) is None]
        bases = self._base_types(unknown) if unknown else {}
        columns: Columns = [
            (column, self._types.get_loader(bases.get(kind, kind), Format.TEXT).load)
            for column, kind in kinds
        ]
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
        try:
            for column, load in columns:
                if message[at] == TEXT:
                    begin = at + 5
                    at = begin + LENGTH(message, at + 1)[0]
                    row[column] = load(message[begin:at])
                else:
                    row[column] = None
                    at += 1
        except Exception as error:
            raise undecodable(table, column, message[begin:at], error) from None
        return CHANGE((lsn, number, "insert", name, row, None))

    return insert


def row_at(table: ReplicatedTable, message: bytes, at: int) -> tuple[Row, int]:
    """The values from there on, and where they end; an unchanged large one is not told."""
    row: Row = {}
    for column, load in table.columns:
        if message[at] == TEXT:
            begin = at + 5
            at = begin + LENGTH(message, at + 1)[0]
            try:
                row[column] = load(message[begin:at])
            except Exception as error:
                raise undecodable(table, column, message[begin:at], error) from None
        else:
            if message[at] == NULL:
                row[column] = None
            at += 1
    return row, at


def undecodable(table: ReplicatedTable, column: str, value: bytes, error: Exception) -> Undecodable:
    """Which value it is, and what the library says of it."""
    words = shown_words(type(error).__name__, " ".join(str(error).split()), column)
    shown = shown_value(column, value.decode(errors="replace"))
    return Undecodable(f"the column {column} of {table.name} is {shown}: {words}")


def old_at(table: ReplicatedTable, message: bytes) -> tuple[Row, int]:
    """The row before the change; of a key, the other columns come as NULL."""
    row, at = row_at(table, message, 8)
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
