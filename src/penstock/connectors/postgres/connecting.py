"""Connections to PostgreSQL: how they are made, what messages call them, what their errors mean."""

from __future__ import annotations

import os
import re
from typing import Any, Final

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from penstock.connectors.postgres.refusal import LET_IN, code_of_refusal
from penstock.connectors.shared.access import hint_at_auth
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.runtime import printable
from penstock.runtime.shown_text import shown_words

__all__ = ["DatabaseAccess", "ServerFull", "is_lost", "words_of"]

DEFAULTS: Final = {
    "connect_timeout": "10",
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
    "application_name": "penstock",
}
BETTER: Final = "keep it in PGPASSWORD, in ~/.pgpass or with a service"
STYLES: Final = {"DateStyle": "ISO", "IntervalStyle": "postgres"}
"""How the server writes times; of other styles the client library reads only some."""
TOO_MANY: Final = "53300"
LOST: Final = ("57P01", "57P02", "57P03", "25P03", "25P04", TOO_MANY)
"""The server is being stopped, has crashed, is starting, has had enough of an idle client, or is
full."""
FULL: Final = re.compile(
    "too many clients already|connection slots are reserved|too many connections for"
)
"""The words of that code in English, which spare us another attempt to learn the code."""
PATIENCE: Final = 10.0
AGAIN: Final = ("40001", "40P01")
"""A transaction that got into the way of another one; the next attempt may succeed."""


class ServerFull(ConnectionLost):
    """The server, or a role or a database there, has as many clients as it may have."""


class DatabaseAccess:
    """What leads to a database.

    ``address``  what messages call it, without secrets
    ``advice``   what should be changed about how it was given
    """

    def __init__(self, connector: str, conninfo: str) -> None:
        self.connector = connector
        if not isinstance(conninfo, str):
            raise TypeError(
                f"{connector}: conninfo must be a str, not an object of the class "
                f"{type(conninfo).__name__}"
            )
        try:
            given: dict[str, Any] = conninfo_to_dict(conninfo)
        except psycopg.Error:  # whose words repeat a part of it, which may be the password
            raise ValueError(
                f"{connector}: conninfo is no connection string of PostgreSQL, such as "
                "'host=db.example dbname=flights' or 'postgresql://db.example/flights'"
            ) from None
        self.address = address_of(given)
        self.advice = (
            [hint_at_auth(connector, self.address, BETTER)] if given.get("password") else []
        )
        self._conninfo = make_conninfo(**{**DEFAULTS, **given})

    @property
    def conninfo(self) -> str:
        """For another client library; it has the password."""
        return self._conninfo

    def connect(self) -> psycopg.Connection[Any]:
        """A connection on which each statement is a transaction, unless one is begun.

        ``ConnectionLost`` if another attempt may help, ``ConnectionError`` if the server answers
        and does not let us in.
        """
        said: set[str] = set()
        while True:
            try:
                return self._connected()
            except psycopg.OperationalError as error:
                words = words_of(error)
                loss = self._loss(words, is_repeated=words in said)
                if loss is not None:
                    raise loss from error
            if words in said:  # else it may have been starting, or ending, a moment ago
                raise ConnectionError(
                    f"{self.connector}: {self.address} does not let us in: {words}"
                )
            said.add(words)

    def _loss(self, words: str, *, is_repeated: bool) -> ConnectionLost | None:
        """Why another attempt may help, after one that was refused in these words."""
        if FULL.search(words):
            return ServerFull(words)
        if pq.PGconn.ping(self._conninfo.encode()) != pq.Ping.OK:
            return ConnectionLost(words)
        code = code_of_refusal(self._conninfo, PATIENCE)
        if code == TOO_MANY:
            return ServerFull(words)
        # One who is let in by now was refused for a reason that comes and goes.
        is_passing = code in LOST or (code == LET_IN and is_repeated)
        return ConnectionLost(words) if is_passing else None

    def require_running(self) -> None:
        """``ConnectionLost`` if the server is being stopped, or does not answer any more."""
        if pq.PGconn.ping(self._conninfo.encode()) != pq.Ping.OK:
            raise ConnectionLost("the server is being stopped")

    def _connected(self) -> psycopg.Connection[Any]:
        connection = psycopg.connect(self._conninfo, autocommit=True)
        for name, style in STYLES.items():
            if (connection.info.parameter_status(name) or style).partition(",")[0] != style:
                connection.execute(f"SET {name} = {style}")
        return connection

    def explained(self, error: psycopg.Error) -> Exception:
        """An error of a statement in one line."""
        said = words_of(error)
        if isinstance(error, psycopg.DataError | psycopg.IntegrityError):
            said = shown_words(type(error).__name__, said)
        words = f"{self.connector}: {self.address}: {said}"
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return PermissionError(words)
        if isinstance(error, psycopg.errors.UndefinedTable | psycopg.errors.UndefinedColumn):
            return LookupError(words)
        if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.QueryCanceled):
            return TimeoutError(words)
        return ValueError(words)


def address_of(given: dict[str, Any]) -> str:
    """Host, port and database, as far as they are said or the environment says them."""
    if service := given.get("service"):
        return f"the service {service}"
    host = given.get("host") or given.get("hostaddr") or os.environ.get("PGHOST") or "localhost"
    port = given.get("port") or os.environ.get("PGPORT") or "5432"
    database = given.get("dbname") or os.environ.get("PGDATABASE") or ""
    return printable(f"postgresql://{host}:{port}/{database}")


def is_lost(error: psycopg.Error) -> bool:
    """Whether the connection is gone, or the transaction may succeed when it is tried again."""
    state = error.sqlstate
    if state is None:  # the client library itself says so
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith("08") or state in LOST or state in AGAIN


def words_of(error: psycopg.Error) -> str:
    """What the server says, or the client library, in one line."""
    said = (error.diag.message_primary, error.diag.message_detail)
    words = ": ".join(part for part in said if part) or str(error)
    return shorten_words(" ".join(words.split()))


def shorten_words(words: str, most: int = 400) -> str:
    """Words of others as they may be shown."""
    shown = printable(words)
    return shown if len(shown) <= most else f"{shown[:most]}..."
