"""Streams of Redis as sources."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from operator import attrgetter
from typing import Any, Final, Literal, NamedTuple, TypeAlias, get_args
from zlib import crc32

from penstock.connectors.redis.connecting import Client, RedisAccess, StreamInfo
from penstock.connectors.shared.pulled_source import FETCH, PulledSource, from_pulled
from penstock.connectors.shared.reconnecting import (
    FOREVER,
    SourceListener,
    Tell,
    current_listener,
)
from penstock.flow import Flow, Retry
from penstock.runtime import shorten
from penstock.runtime.arguments import require_choice, require_flag

__all__ = ["Entry", "read_redis_stream"]

NAME: Final = "read_redis_stream"
WAIT: Final = 100
"""The milliseconds for which the server is asked to wait for an entry: no cancel takes longer."""
ID: Final = re.compile(r"\d+(-\d+)?|\$")
NOTHING: Final = "0-0"
OnMissing = Literal["fail", "skip"]
RedisPosition: TypeAlias = tuple[str, int]
"""Where an entry is: its id, and a checksum of its fields.

A stream has no name but its key. So one that was deleted and made anew is known by another entry
where this one was.
"""

logger = logging.getLogger(__name__)


class Entry(NamedTuple):
    """An entry of a stream: its id, and its fields, which are texts."""

    id: str
    fields: dict[str, str]

    @property
    def position(self) -> RedisPosition:
        """After which another run goes on: the id, and a checksum of the fields."""
        return self.id, crc32(repr([*self.fields.items()]).encode())


def read_redis_stream(
    url: str,
    stream: str,
    *,
    after: str | RedisPosition = NOTHING,
    until_end: bool = False,
    on_missing: OnMissing = "fail",
    fetch: int = FETCH,
    reconnect: Retry = FOREVER,
    on_state: Tell | None = None,
) -> Flow[Entry]:
    """The entries of a stream of Redis, and those that it will have.

    Elements are ``Entry(id, fields)``. The first is the one after ``after``, an id, the position of
    an entry, or ``"$"`` for those that come from now on. With ``until_end``, the flow completes
    with the entry that is the last one when it begins. No consumer group is used: each subscriber
    reads for itself, and nothing changes at the server. The stream need not be there yet.

    Entries that were trimmed before they were read are missing, and so is a stream that was made
    anew: ``on_missing`` ends the flow with an error, "fail", or goes on with what is there, "skip",
    which a pipeline counts as lost. After a position it is noticed also between two runs. An
    entry that somebody deletes by its id does not come, as to any other reader.

    Emits when: an entry is wanted and one is there.
    Backpressures when: nothing is wanted; nothing is asked for.
    Completes when: ``until_end`` is said and reached; else never.
    Cancels when: the subscriber does; the connection is closed within a tenth of a second.

    Demand: exact. At most ``fetch`` entries are asked for at a time.

    Replay: position, the id of the entry and a checksum of its fields.

    Errors: ``ValueError`` for what is no stream, or bytes that are no text; ``LookupError`` for
    entries that are missing, with the ids of the first and the last one that are there;
    ``ConnectionError`` if the server does not let us in, or ``reconnect`` gives up. At once:
    ``ValueError`` for a url that is not ``redis://`` or ``rediss://``, and for an id that is none.

    Example:
        >>> from penstock.connectors import read_redis_stream
        >>> flights = read_redis_stream("redis://127.0.0.1", "flights", until_end=True)
        >>> flights.map(lambda entry: entry.fields["origin"]).to_list().run_sync()  # doctest: +SKIP
        ['JFK', 'EWR']
    """
    access = RedisAccess(NAME, url, stream)
    first = require_position(after)
    is_bounded = require_flag(NAME, "until_end", until_end)
    skips = require_choice(NAME, "on_missing", on_missing, get_args(OnMissing)) == "skip"
    listener = current_listener()
    return from_pulled(
        NAME,
        lambda position: StreamReading(
            access, require_position(position), until_end=is_bounded, skips=skips, listener=listener
        ),
        address=access.address,
        after=first,
        position_of=attrgetter("position"),
        fetch=fetch,
        reconnect=reconnect,
        on_state=on_state,
    )


def require_position(given: Any) -> tuple[str, int | None]:
    """An id as Redis writes it, with both of its numbers, or ``"$"``, and the checksum, if any.

    A journal gives a position back as a list, and an older one the id alone.
    """
    found, checksum = (
        given if isinstance(given, list | tuple) and len(given) == 2 else (given, None)
    )
    is_id = isinstance(found, str) and ID.fullmatch(found)
    if not is_id or (checksum is not None and type(checksum) is not int):
        raise ValueError(
            f'{NAME}(after=) is the id of an entry, such as "1700000000000-0", its position, or '
            f'"$", not {shorten(given)}'
        )
    return (found if "-" in found or found == "$" else f"{found}-0"), checksum


def order(entry_id: str) -> tuple[int, int]:
    """By which ids are compared."""
    milliseconds, _, number = entry_id.partition("-")
    return int(milliseconds), int(number)


def extent_of(info: StreamInfo) -> str:
    """What a stream has, in words."""
    return f"it has {info.first} to {info.last}" if info.first else "it has none"


class StreamReading(PulledSource[Entry]):
    """One reading of a stream, which remembers the last entry that it gave.

    Trimming removes the first entries of a stream. Whether some were removed that were not read is
    known by counting, once it is known how many had been added up to the last entry: at the start,
    at the end, or when the first entry is read. Before that, an entry that is still there shows
    that none after it was removed.

    Ids and counts of a stream only grow. One in which they do not was made anew, or lost entries
    when another server took over: ``_known`` is what it was at the last look. So was one with
    another entry where the last one was, of which ``_checksum`` is known.
    """

    def __init__(
        self,
        access: RedisAccess,
        after: tuple[str, int | None],
        *,
        until_end: bool,
        skips: bool,
        listener: SourceListener | None,
    ) -> None:
        self._access = access
        self._is_live = after[0] == "$"
        self._last = NOTHING if self._is_live else after[0]
        self._checksum = after[1]
        self._begins = True
        self._added_by_then: int | None = None
        self._known: StreamInfo | None = None
        self._until_end = until_end
        self._end: str | None = None
        self._skips = skips
        self._listener = listener
        self._client: Client | None = None

    def connect(self) -> None:
        """Connect, and see where the stream ends."""
        self._client = self._access.connect()
        _, info, same = self._read(1)
        goes_back = order(NOTHING) < order(info.last) < order(self._last)
        if self._checksum is not None and ((self._begins and goes_back) or self._is_other(same)):
            self._begin_anew(info)
        self._begins = False
        if self._is_live:  # once: after a lost connection it goes on where it was
            self._is_live = False
            self._last, self._added_by_then = info.last, info.added
        if self._until_end and self._end is None:
            self._end = info.last

    def fetch(self, most: int) -> Sequence[Entry] | None:
        """The next entries; what is missing before them is known at the same moment."""
        if self._end is not None and order(self._last) >= order(self._end):
            return None
        entries, info, same = self._read(most)
        known, self._known = self._known, info
        if self._is_other(same) or (known is not None and self._is_another(known, info)):
            return self._begin_anew(info)
        self._require_all(entries, info, is_last_there=same is not None)
        if not entries:
            self._wait()
            return ()
        self._last, self._checksum = entries[-1].position
        self._count(entries, info)
        return entries if self._end is None else self._up_to(order(self._end), entries)

    def disconnect(self) -> None:
        """Close the connection."""
        client, self._client = self._client, None
        if client is not None:
            client.close()

    @property
    def _connected(self) -> Client:
        assert self._client is not None
        return self._client

    def _read(self, most: int) -> tuple[list[Entry], StreamInfo, Entry | None]:
        """The next entries, what is known of the stream, and the last entry, if it is still there.

        In one transaction, so that nothing is removed in between.
        """
        stream, last = self._access.stream, self._last
        with self._access.explained():
            with self._connected.pipeline(transaction=True) as all_three:
                all_three.xread({stream: last}, count=most)
                all_three.xinfo_stream(stream)
                all_three.xrange(stream, last, last)
                try:
                    found, info, same = all_three.execute(raise_on_error=False)
                except UnicodeDecodeError as error:
                    raise ValueError(
                        f"{NAME}: an entry after {last} of {self._access.name} has a field that is "
                        f"no text: {error}"
                    ) from None
            if isinstance(info, Exception) and "no such key" in str(info):
                return [], StreamInfo(None), None
            for answer in (found, info, same):
                if isinstance(answer, Exception):
                    raise answer
        entries = found[0][1] if found else ()
        last_one = Entry(*same[0]) if same else None
        return [Entry(*entry) for entry in entries], StreamInfo(info), last_one

    def _wait(self) -> None:
        """Until there is an entry, or for a moment; it is read when it is asked for again."""
        with self._access.explained():
            self._connected.xread({self._access.stream: self._last}, count=1, block=WAIT)

    def _count(self, entries: list[Entry], info: StreamInfo) -> None:
        if entries[-1].id == info.last:
            self._added_by_then = info.added
        elif entries[0].id == info.first:
            self._added_by_then = info.removed + len(entries)
        elif self._added_by_then is not None:
            self._added_by_then += len(entries)

    def _require_all(self, entries: list[Entry], info: StreamInfo, *, is_last_there: bool) -> None:
        """Notice what was removed after the last entry that was given, and before the next one."""
        if not self._is_missing_some(info, is_last_there=is_last_there):
            return
        self._tell_loss(
            f"entries after {self._last} were removed from {self._access.name} before they were "
            f"read; {extent_of(info)}"
        )
        if not entries:
            self._last, self._checksum = info.last, None

    def _is_another(self, known: StreamInfo, info: StreamInfo) -> bool:
        """Whether entries are lost with the stream that was read, or come before what was read."""
        last = order(self._last)
        is_behind = order(known.last) > last
        begins_before = order(info.first or info.last) < order(known.first or NOTHING)
        goes_on_before = order(known.last) < order(info.last) < last
        return (info.added < known.added and is_behind) or (
            info.first is not None and (begins_before or goes_on_before)
        )

    def _is_other(self, same: Entry | None) -> bool:
        """Whether what has the id of the last entry is not the one that was read."""
        if same is None or self._checksum is None:
            return False
        return same.position[1] != self._checksum

    def _begin_anew(self, info: StreamInfo) -> Sequence[Entry]:
        """An error, or all that is there now, when it is asked for again."""
        self._tell_loss(
            f"{self._access.name} was made anew, or its server has lost entries, after "
            f"{self._last} was read; {extent_of(info)}"
        )
        self._last, self._checksum = NOTHING, None
        return ()

    def _tell_loss(self, what: str) -> None:
        """An error, or news for the listener."""
        words = f"{NAME}: {what}"
        if not self._skips:
            raise LookupError(f'{words}; on_missing="skip" goes on with what is there')
        self._added_by_then = None
        logger.error("%s", words)
        if self._listener is not None:
            self._listener.has_lost(None, words)

    def _is_missing_some(self, info: StreamInfo, *, is_last_there: bool) -> bool:
        if self._last == NOTHING or order(info.last) <= order(self._last):
            return False  # it begins with whatever is there, or nothing was added after it
        if self._added_by_then is None:
            return not is_last_there
        return info.removed > self._added_by_then

    def _up_to(self, end: tuple[int, int], entries: list[Entry]) -> list[Entry] | None:
        """Those that were there at the start; the last ones may have been deleted meanwhile."""
        return [each for each in entries if order(each.id) <= end] or None
