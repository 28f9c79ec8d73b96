"""A replication slot: what has to be there before it is read, and how much of it was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

import psycopg

from penstock.connectors.postgres.connecting import DatabaseAccess, is_lost, words_of
from penstock.connectors.postgres.pgoutput import CONNECTOR, lsn_of, lsn_text
from penstock.connectors.shared.reconnecting import ConnectionLost

__all__ = ["Recorded", "ReplicationSlot"]

PLUGIN: Final = "pgoutput"
NOWHERE: Final = "0/0"
BASES: Final = (
    "WITH RECURSIVE base AS (SELECT oid AS of, oid, typtype, typbasetype FROM pg_type "
    "WHERE oid = ANY(%s) UNION ALL SELECT base.of, other.oid, other.typtype, other.typbasetype "
    "FROM base JOIN pg_type AS other ON other.oid = base.typbasetype WHERE base.typtype = 'd') "
    "SELECT of, oid FROM base WHERE typtype <> 'd'"
)
"""The type that each is based on, which may be a domain of a domain, or which it is itself."""
Connection = psycopg.Connection[Any]


class Recorded:
    """Up to which commit a pipeline has recorded the changes; written and read on any thread."""

    def __init__(self) -> None:
        self.lsn = 0

    def up_to(self, position: Sequence[Any]) -> None:
        """All changes up to this position are stored, and are never asked for again."""
        self.lsn = max(self.lsn, lsn_of(position[0]))


class ReplicationSlot:
    """The slot that is read, and the publications that say of which tables."""

    def __init__(
        self, access: DatabaseAccess, name: str, publications: Sequence[str], *, create: bool
    ) -> None:
        self.access = access
        self.name = name
        self.publications = publications
        self._create = create
        self._bases: dict[int, int] = {}

    def require_ready(self, before: int | None) -> int:
        """Refuse a slot from which the changes after the place ``before`` cannot be read.

        Returns after which place it gives all changes.
        """
        with self._connected() as connection:
            self._require_rights(connection)
            self._require_level(connection)
            self._require_publications(connection)
            return self._require_slot(connection, before)

    def base_types(self, kinds: list[int]) -> dict[int, int]:
        """Which types domains are based on, as a query would give their values.

        The server describes a table again after each change of it, also after a ``VACUUM``.
        """
        if not self._bases.keys() >= {*kinds}:
            with self._connected() as connection:
                self._bases.update(dict.fromkeys(kinds, 0))  # one that is gone is a text
                self._bases.update(connection.execute(BASES, (kinds,)).fetchall())
        return self._bases

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        with self.access.connect() as connection:
            try:
                yield connection
            except psycopg.Error as error:
                if is_lost(error):
                    raise ConnectionLost(words_of(error)) from error
                raise self.access.explained(error) from None

    def _require_level(self, connection: Connection) -> None:
        ((level,),) = connection.execute("SHOW wal_level").fetchall()
        if level != "logical":
            raise ValueError(
                f"{self._place}: the server has wal_level = {level}, and changes need logical; "
                "ALTER SYSTEM SET wal_level = logical, and a restart of the server, change it"
            )

    def _require_rights(self, connection: Connection) -> None:
        asked = "SELECT rolreplication OR rolsuper, rolname FROM pg_roles WHERE rolname = user"
        for may_replicate, name in connection.execute(asked):
            if not may_replicate:
                raise PermissionError(
                    f"{self._place}: the role {name} may not replicate; "
                    f'ALTER ROLE "{name}" REPLICATION lets it'
                )

    def _require_publications(self, connection: Connection) -> None:
        asked = "SELECT pubname FROM pg_publication WHERE pubname = ANY(%s)"
        found = {row[0] for row in connection.execute(asked, ([*self.publications],))}
        for name in self.publications:
            if name not in found:
                raise LookupError(
                    f"{self._place}: there is no publication {name}; CREATE PUBLICATION {name} FOR "
                    "TABLE ... makes one"
                )

    def _require_slot(self, connection: Connection, before: int | None) -> int:
        asked = (
            "SELECT plugin, database = current_database(), confirmed_flush_lsn::text, "
            "to_jsonb(slot)->>'wal_status' "  # which servers before PostgreSQL 13 do not have
            "FROM pg_replication_slots AS slot WHERE slot_name = %s"
        )
        found = connection.execute(asked, (self.name,)).fetchall()
        if not found:
            return self._made(connection, before)
        ((plugin, is_here, confirmed, status),) = found
        if plugin != PLUGIN or not is_here:
            raise ValueError(
                f"{self._place}: the slot {self.name} is not one of this database with the plug-in "
                f"{PLUGIN}; name another one"
            )
        if status == "lost":
            raise LookupError(
                f"{self._place}: the changes of the slot {self.name} are gone: it was not read for "
                "so long that the server has removed its log, as max_slot_wal_keep_size says; "
                f"SELECT pg_drop_replication_slot('{self.name}'), and begin again with another one"
            )
        if before is not None and confirmed is not None and lsn_of(confirmed) > before:
            raise LookupError(
                f"{self._place}: the slot {self.name} was confirmed up to {confirmed}, and the "
                f"changes after {lsn_text(before)} are asked for, so some are gone: the "
                "checkpoint is older than the slot, or somebody else has read it"
            )
        return lsn_of(confirmed or NOWHERE)

    def _made(self, connection: Connection, before: int | None) -> int:
        if not self._create:
            raise LookupError(
                f"{self._place}: there is no slot {self.name}; create_slot=True makes it, or "
                f"SELECT pg_create_logical_replication_slot('{self.name}', '{PLUGIN}')"
            )
        if before is not None:
            raise LookupError(
                f"{self._place}: there is no slot {self.name} any more, and the changes after "
                f"{lsn_text(before)} are gone with it; begin again with another checkpoint"
            )
        make = "SELECT lsn::text FROM pg_create_logical_replication_slot(%s, %s)"
        ((lsn,),) = connection.execute(make, (self.name, PLUGIN)).fetchall()
        return lsn_of(lsn)

    @property
    def _place(self) -> str:
        return f"{CONNECTOR}: {self.access.address}"
