"""Changes of tables of PostgreSQL as sources, by logical replication."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from operator import attrgetter
from select import select
from time import monotonic
from typing import Any, Final

import psycopg2
from psycopg2.extras import LogicalReplicationConnection

from penstock.connectors.postgres.connecting import DatabaseAccess
from penstock.connectors.postgres.pgoutput import CONNECTOR, Change, ChangeDecoder, lsn_of
from penstock.connectors.postgres.slot import Recorded, ReplicationSlot
from penstock.connectors.shared.pulled_source import FETCH, FromPulled, PulledSource
from penstock.connectors.shared.readings import Readings
from penstock.connectors.shared.reconnecting import (
    FOREVER,
    ConnectionLost,
    Tell,
    require_reconnect,
    require_tell,
)
from penstock.connectors.shared.table_shape import quoted
from penstock.flow import Flow, Retry
from penstock.flow.base_flow import extended
from penstock.flow.engine.fusion import LoopCode
from penstock.flow.engine.stage import EACH_ALONE, FusedStage
from penstock.flow.sources.creating import Resumable
from penstock.runtime import shorten
from penstock.runtime.arguments import require_flag, require_int, require_text, require_texts

__all__ = ["Change", "read_postgres_changes"]

MOMENT: Final = 0.1
"""The seconds after which a reading that waits looks whether it is still wanted."""
CONFIRM_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 5.0
"""A server that is being stopped waits for us, and does not say so: after so long it is asked."""
SETTINGS: Final = (
    "SET DateStyle = ISO; SET IntervalStyle = postgres; SET extra_float_digits = 3; "
    "SET bytea_output = hex"
)
"""How values are written, whatever the server, the database or the role say."""
UNDEFINED_OBJECT: Final = "42704"
SLOT_NAME: Final = re.compile("[a-z0-9_]{1,63}")
AGAIN: Final = ("57P01", "57P02", "57P03", "55006")
"""The server is being stopped, has crashed, is starting; the slot is still in use."""


def read_postgres_changes(
    conninfo: str,
    slot: str,
    publication: str | Iterable[str],
    *,
    after: Sequence[Any] | None = None,
    create_slot: bool = False,
    fetch: int = FETCH,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[Change]:
    """The changes of tables of PostgreSQL, one by one as they were committed.

    They come by logical replication, which the server must have ``wal_level = logical`` for, and
    the role ``REPLICATION``. ``publication`` names those that say of which tables (``CREATE
    PUBLICATION flights FOR TABLE flights``), ``slot`` the one in which the server keeps what was
    not read yet, also while this program does not run. It is made with ``create_slot``, from then
    on; a slot that nobody reads any more must be dropped, for the server keeps its log for it.

    A ``Change`` tells the kind, the table, the row, and what is known of the row before. Changes of
    a transaction come together, in its order, transactions in the order of their commits. A large
    value that an update has not changed is not in the row, unless the table has ``REPLICA IDENTITY
    FULL``.

    The server is told what it need not keep: transactions before the one that a pipeline with a
    checkpoint has recorded last; without a checkpoint, before the last one of which changes were
    delivered downstream. So none is lost; without a checkpoint, a restart gives the last
    transaction again. Where these tables change seldom and others often, let a small table of the
    publication change now and then: the server keeps its log from the last recorded change on.

    Emits when: a change is wanted and the server has sent one.
    Backpressures when: nothing is wanted; nothing is read from the connection.
    Completes when: never.
    Cancels when: the subscriber does; the slot stays.

    Demand: window. At most ``fetch`` changes are taken at a time; the server sends on until the
    buffers of the connection are full, which is a few megabytes. One that is not read for as long
    as ``wal_sender_timeout`` says is ended by the server, and made again when a change is wanted; a
    server that is stopped waits for it as long.

    Replay: position, the place of the commit in the server's log and the number of the change in
    its transaction.

    Errors: ``LookupError`` for a slot or publication that is not there, with what makes it, and
    for a position whose changes are gone; ``PermissionError``; ``ConnectionError`` if the server
    does not let us in or ``reconnect`` gives up; ``ValueError`` for a value that Python does not
    have, with its position, and for all else that the server refuses. A slot that somebody else
    reads is waited for. At once: ``TypeError`` and ``ValueError`` for arguments that cannot be
    used.

    Example:
        >>> from penstock.connectors import read_postgres_changes
        >>> changes = read_postgres_changes("host=127.0.0.1 port=9", "flights", "flights",
        ...     reconnect=Retry(times=0))
        >>> try:
        ...     changes.take(3).to_list().run_sync()
        ... except ConnectionError as error:
        ...     print(str(error)[:79])
        read_postgres_changes gave up on postgresql://127.0.0.1:9/ after 1 attempt: con
    """
    access = DatabaseAccess(CONNECTOR, conninfo)
    name = require_text(CONNECTOR, "slot", slot)
    if not SLOT_NAME.fullmatch(name):
        raise ValueError(
            f"{CONNECTOR}: the name of a slot has small letters, digits and underscores, not so "
            f"{shorten(name)}"
        )
    named = [publication] if isinstance(publication, str) else publication
    publications = require_texts(CONNECTOR, "publication", named)
    if not publications or not all(each and "\0" not in each for each in publications):
        raise ValueError(f"{CONNECTOR}: publication must be a name, or several")
    replicated = ReplicationSlot(
        access, name, publications, create=require_flag(CONNECTOR, "create_slot", create_slot)
    )
    recorded = Recorded()
    readings: Readings[PulledSource[Change]] = Readings(
        PulledSource,
        CONNECTOR,
        access.address,
        lambda position: ChangeReading(replicated, position, recorded),
        require_int(CONNECTOR, "fetch", fetch),
        require_reconnect(CONNECTOR, reconnect),
        require_tell(CONNECTOR, on_state),
    )
    return Flow(ChangesOrigin(readings, require_position(after), recorded))


def require_position(after: Any) -> list[Any] | None:
    """``after``, when it is the position of a change."""
    match after:
        case None:
            return None
        case [str(lsn), int(number)] if re.fullmatch("[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}", lsn):
            return [lsn, number]
    raise ValueError(
        f"{CONNECTOR}: after must be the position of a change, such as ['0/16B3748', 0], not "
        f"{shorten(after)}"
    )


class ChangesOrigin(Resumable):
    """The changes after a position.

    A pipeline that goes on there says what it has recorded. To any other run, a change is as good
    as recorded when the next one is pulled.
    """

    def __init__(
        self, readings: Readings[PulledSource[Change]], after: list[Any] | None, recorded: Recorded
    ) -> None:
        def changes(position: Any) -> Flow[Change]:
            return Flow(FromPulled(readings, after if position is None else position))

        super().__init__(
            CONNECTOR,
            lambda position: extended(changes(position), [NoteDelivered(recorded)]),
            attrgetter("position"),
            on_recorded=recorded.up_to,
        )
        self._changes = changes

    def at(self, position: object) -> ChangesOrigin:
        """The same for a pipeline with a checkpoint."""
        other = super().at(position)
        assert isinstance(other, ChangesOrigin)
        other._factory = self._changes
        return other


class NoteDelivered(FusedStage):
    """Notes that all before the transaction of which a change is pulled now has been delivered."""

    rerun = EACH_ALONE
    one_to_one = True
    checked = True

    def __init__(self, recorded: Recorded) -> None:
        super().__init__(CONNECTOR, values=(recorded.up_to,))

    def generate(self, loop: LoopCode, *values: str) -> None:
        """A look at each change, and a call for each transaction."""
        (up_to,) = values
        lsn = loop.local("lsn", "None")
        loop.line(f"if x.lsn is not {lsn}:")  # changes of a transaction share the object
        loop.line(f"{lsn} = x.lsn; {up_to}(x.position)", deeper=1)
        loop.known()


class ChangeReading(PulledSource[Change]):
    """One reading of a slot, after a position."""

    def __init__(self, slot: ReplicationSlot, after: Any, recorded: Recorded) -> None:
        self._slot = slot
        self._recorded = recorded
        self._position: tuple[int, int] | None = None
        if after is not None:
            lsn, number = after
            self._position = lsn_of(lsn), number
        self._connection: Any = None
        self._cursor: Any = None
        self._decoder = ChangeDecoder(slot.base_types)
        self._held: list[Change] = []
        self._begun: int | None = None  # since then a slot that is gone has taken changes with it
        self._confirmed = 0
        self._last_confirmation = 0.0
        self._last_change = monotonic()

    def connect(self) -> None:
        """See to it that all is there, and let the server send."""
        known = self._begun if self._position is None else self._position[0]
        begun = self._slot.require_ready(None if known is None else max(known, self._confirmed))
        self._decoder = ChangeDecoder(self._slot.base_types, self._position)
        self._held = []
        with self._explained():
            self._connection = psycopg2.connect(
                self._slot.access.conninfo,
                connection_factory=LogicalReplicationConnection,
                client_encoding="UTF8",
            )
            self._cursor = self._connection.cursor()
            self._cursor.execute(SETTINGS)
            self._cursor.start_replication(
                slot_name=self._slot.name,
                start_lsn=0 if self._position is None else self._position[0],
                options={
                    "proto_version": "1",
                    "publication_names": ",".join(map(quoted, self._slot.publications)),
                },
            )
        if self._begun is None:
            self._begun = begun

    def fetch(self, most: int) -> Sequence[Change]:
        """What has come, at most so many; those before were handed downstream."""
        with self._explained():
            self._confirm()
            changes = self._received(most) or self._received(most, MOMENT)
        if changes:
            self._position = lsn_of(changes[-1].lsn), changes[-1].number
            self._last_change = monotonic()
        elif monotonic() - self._last_change >= IDLE_SECONDS:
            self._slot.access.require_running()
            self._last_change = monotonic()
        return changes

    def disconnect(self) -> None:
        """The slot stays."""
        connection, self._connection, self._cursor = self._connection, None, None
        if connection is not None:
            connection.close()

    def _received(self, most: int, wait: float = 0.0) -> list[Change]:
        if wait:
            select([self._cursor], [], [], wait)
        changes = self._held
        if len(changes) < most:
            changes += self._decoder.changes(self._cursor.read_message, most - len(changes))
        self._held = changes[most:]
        return changes[:most]

    def _confirm(self) -> None:
        """Tell the server what it need not keep, now and then."""
        lsn = self._recorded.lsn
        if lsn > self._confirmed and monotonic() - self._last_confirmation >= CONFIRM_SECONDS:
            self._cursor.send_feedback(flush_lsn=lsn, force=True)
            self._confirmed = lsn
            self._last_confirmation = monotonic()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg2.Error as error:
            said = (error.diag.message_primary, error.diag.message_detail)
            words = " ".join((": ".join(filter(None, said)) or str(error)).split())
            code = error.pgcode
            if code is None or code in AGAIN or code.startswith("08"):
                raise ConnectionLost(words) from error
            place = f"{CONNECTOR}: {self._slot.access.address}: the slot {self._slot.name}"
            if code == UNDEFINED_OBJECT:
                words += " at the time of the next change; make the slot after the publication"
            raise ValueError(f"{place} cannot be read: {words}") from None
