"""Streams of Redis as sinks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias, TypeVar

from redis.exceptions import NoPermissionError

from penstock.connectors.redis.connecting import Client, RedisAccess
from penstock.connectors.shared.formats import fields_of
from penstock.connectors.shared.reconnecting import (
    FOREVER,
    ConnectionLost,
    Reconnecting,
    Tell,
    require_reconnect,
    require_tell,
)
from penstock.connectors.shared.writer import Writer
from penstock.delivery import BatchProgress, DeliveryRefused, Epoch, TransactionalSink
from penstock.flow import Retry
from penstock.flow.checks import require_callable
from penstock.runtime.arguments import require_int, require_text
from penstock.runtime.shown_text import shown_element, shown_value

__all__ = ["write_redis_stream"]

T = TypeVar("T")
Fields: TypeAlias = "Mapping[Any, Any]"

CONNECTOR: Final = "write_redis_stream"
EVICTS_ALL: Final = "allkeys-"
PLAIN: Final = frozenset({str, bytes, int, float})
MARKS: Final = "penstock:delivery"
"""How the keys begin under which sinks keep the mark of their last batch."""


def plain_fields(element: Any) -> Fields:
    """The fields of an element, if Redis has a form for each."""
    fields = element if type(element) is dict else fields_of(element)
    if fields and PLAIN.issuperset(map(type, fields.values())):
        return fields  # the common case, quickly
    if not fields:
        raise ValueError(
            f"{CONNECTOR}: {shown_element(element)} has no fields by name; encode= makes a mapping "
            "of it"
        )
    for name, value in fields.items():
        if isinstance(value, bool) or not isinstance(value, str | bytes | int | float):
            raise TypeError(
                f"{CONNECTOR}: {name} is {shown_value(name, value)}, and a field of Redis is a "
                "text, a number or bytes; encode= makes one of it"
            )
    return fields


def write_redis_stream(
    url: str,
    stream: str,
    *,
    encode: Callable[[Any], Fields] = plain_fields,
    max_entries: int | None = None,
    name: str | None = None,
    commit_rows: int = 1_000,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Writer:
    """A subscriber that adds entries to a stream of Redis.

    Elements are mappings, named tuples or dataclasses, whose values are texts, numbers or bytes;
    ``encode`` makes such a mapping of any other. With ``max_entries``, the stream is trimmed to
    about so many. The stream is made if it is not there.

    The mark of the last batch has the key ``penstock:delivery:{flights}:flights``, with the name of
    the stream and that of the sink; two pipelines that write into one stream need a ``name`` each.

    Demand: 16 to 1,024 elements at a time. Without batches, they are added by ``commit_rows``, with
    the first one that comes a second after the last time, and at the end.

    Delivery: exactly once, with a checkpoint. The entries of a batch and its mark are one
    transaction of the server, so they are held here until the batch is complete. When the server
    goes away, the sink waits as ``reconnect`` says, and sends them again unless the mark is there.
    What a server has acknowledged and lost is lost: ``appendfsync always`` makes that impossible.

    Errors: ``ValueError`` and ``TypeError`` for an element that has no fields or others than Redis
    can hold, ``DeliveryRefused`` if the stream belongs to another checkpoint, somebody else writes
    under the same name, or, with a checkpoint, the server may evict any key, ``ConnectionError`` if
    the server does not let us in or ``reconnect`` gives up, cancel the stream, go to the hook for
    undelivered errors, and stay in ``error``. At once: ``ValueError`` for a url that is not
    ``redis://`` or ``rediss://``.

    Example:
        >>> from penstock.connectors import write_redis_stream
        >>> flights = Flow.of({"origin": "JFK", "delay": 12}, {"origin": "EWR", "delay": 3})
        >>> writer = write_redis_stream("redis://127.0.0.1", "flights")
        >>> flights.subscribe(writer)  # doctest: +SKIP
        >>> writer.wait()  # doctest: +SKIP
        True
    """
    access = RedisAccess(CONNECTOR, url, stream)
    return Writer(
        RedisStream(
            access,
            require_callable(CONNECTOR, encode),
            None if max_entries is None else require_int(CONNECTOR, "max_entries", max_entries),
            mark_name=require_text(CONNECTOR, "name", stream if name is None else name),
            commit_rows=require_int(CONNECTOR, "commit_rows", commit_rows),
            reconnecting=Reconnecting(
                CONNECTOR,
                access.address,
                require_reconnect(CONNECTOR, reconnect),
                require_tell(CONNECTOR, on_state),
            ),
        )
    )


class RedisStream(TransactionalSink):
    """Adds entries to a stream; ``mark_name`` tells its mark from those of others.

    A transaction of Redis is sent as a whole, so its rows are kept here until then, and sent again
    if the connection is lost before the answer comes. ``encode`` is called, and a lost server is
    waited for, on the thread that calls the sink.
    """

    def __init__(
        self,
        access: RedisAccess,
        encode: Callable[[Any], Fields],
        max_entries: int | None,
        *,
        mark_name: str,
        commit_rows: int,
        reconnecting: Reconnecting,
    ) -> None:
        super().__init__(access.name, commit_rows=commit_rows)
        self._access = access
        self._encode = encode
        self._trimmed = () if max_entries is None else ("MAXLEN", "~", max_entries)
        # Braces: a cluster keeps it where the stream is.
        self._mark_key = f"{MARKS}:{{{access.stream}}}:{mark_name}"
        self._reconnecting = reconnecting
        self._client: Client | None = None
        self._rows: list[Fields] = []
        self._mark_before: str | None = None
        self._mark: str | None = None

    def check(self, epoch: Epoch | None) -> str:
        """What ``open`` would do, or its error; the server is only asked."""
        try:
            self.connect()
            if epoch is not None:
                self._require_lasting()
            mark = self._stored_mark()
            BatchProgress(self.name, epoch, None if epoch is None else mark)
            return f"goes on in {self.name}" if epoch and mark else f"adds to {self.name}"
        except ConnectionLost as loss:
            raise self._away(loss) from None
        finally:
            self.disconnect()

    def open(self, epoch: Epoch | None) -> None:
        """Connect to a server that keeps what it has, and compare the mark with the checkpoint."""
        super().open(epoch)
        if epoch is not None:
            try:
                self._patiently(self._require_lasting)
            except BaseException:
                self.close()
                raise

    def connect(self) -> None:
        """Connect; a server that is not there at the start is an error."""
        try:
            self._client = self._access.connect()
        except ConnectionLost as loss:
            raise self._away(loss) from None

    def disconnect(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        self._rows = []
        if client is not None:
            client.close()

    def start_transaction(self) -> None:
        """Nothing is sent yet; the mark that is there now has to be there when all is."""
        self._rows = []
        self._mark = None
        self._mark_before = self._patiently(self._stored_mark)

    def load_mark(self) -> str | None:
        """The mark under our name."""
        return self._patiently(self._stored_mark)

    def store_mark(self, mark: str) -> None:
        """Send it with the rows."""
        self._mark = mark

    def row_of(self, element: Any) -> Fields:
        """Its fields."""
        if self._encode is plain_fields:
            return plain_fields(element)
        return plain_fields(self._encode(element))

    def insert(self, rows: Sequence[Any]) -> None:
        """Keep the rows until the end of the transaction."""
        self._rows.extend(rows)

    def commit_transaction(self) -> None:
        """The server has all of it when this returns."""
        self._patiently(self._send)
        self._rows = []

    def rollback(self) -> None:
        """Nothing was sent."""
        self._rows = []

    def _send(self) -> None:
        """One transaction. One of which no answer came is looked for by its mark."""
        client = self._connected()
        with self._access.explained(), client.pipeline(transaction=True) as pipeline:
            transaction: Any = pipeline  # not all of its methods have types
            transaction.watch(self._mark_key)
            stored = transaction.get(self._mark_key)
            if self._mark is not None and stored == self._mark:
                return  # it was stored before the connection was lost
            if stored != self._mark_before:
                raise self._progress.loss(self._mark_before, stored) or self._changed()
            transaction.multi()
            add = ("XADD", self._access.stream, *self._trimmed, "*")
            for row in self._rows:  # xadd() of the client would look at each field once more
                transaction.execute_command(*add, *chain.from_iterable(row.items()))
            if self._mark is not None:
                transaction.set(self._mark_key, self._mark)
            transaction.execute()

    def _changed(self) -> DeliveryRefused:
        return DeliveryRefused(
            f"{self.name} was written by another pipeline with the mark {self._mark_key}; stop "
            "that one, or give another name="
        )

    def _require_lasting(self) -> None:
        """Refuse a server that may evict the mark, or the stream, when its memory is full."""
        with self._access.explained():
            try:
                memory: Any = self._connected().info("memory")
            except NoPermissionError:
                return  # who may not look is not told
        policy = str(memory.get("maxmemory_policy", ""))
        if policy.startswith(EVICTS_ALL) and memory.get("maxmemory"):
            raise DeliveryRefused(
                f"{self.name} can be evicted, and so can the mark of its last batch: the server "
                f"has maxmemory-policy {policy}; take noeviction or one of volatile-*, which leave "
                "keys without expiry, or write without a checkpoint"
            )

    def _stored_mark(self) -> str | None:
        with self._access.explained():
            found = self._connected().get(self._mark_key)
        return None if found is None else str(found)

    def _connected(self) -> Client:
        if self._client is None:
            self._client = self._access.connect()
        return self._client

    def _patiently(self, step: Callable[[], T]) -> T:
        return self._reconnecting.persist(step, self._disconnect)

    def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            client.close()

    def _away(self, loss: ConnectionLost) -> ConnectionError:
        return ConnectionError(f"{CONNECTOR}: {self._access.address} does not answer: {loss}")
