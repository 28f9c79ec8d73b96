"""Where a sink finds out what it has: a bucket that keeps the last mark of each sink."""

from __future__ import annotations

import json
import re
from typing import Any, Final, NamedTuple

from nats.js import api
from nats.js.errors import (
    APIError,
    BucketNotFoundError,
    KeyNotFoundError,
    KeyWrongLastSequenceError,
)
from nats.js.kv import KeyValue

from penstock.connectors.nats.connecting import JetStreamAccess, NatsConnection, words_of
from penstock.connectors.nats.publishing import CONNECTOR
from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.delivery import DeliveryRefused
from penstock.runtime import shorten

__all__ = ["BUCKET", "Begun", "Marks", "Progress", "require_key"]

BUCKET: Final = "penstock_delivery"
KEY: Final = re.compile(r"[-/_=a-zA-Z0-9]+(\.[-/_=a-zA-Z0-9]+)*")


class Begun(NamedTuple):
    """A batch of which some rows may be there.

    ``mark``   that of the batch
    ``token``  how the ids of its messages begin
    ``after``  the last sequence of the stream before the first of them
    """

    mark: str
    token: str
    after: int


class Progress(NamedTuple):
    """What a sink has: all batches up to that of ``mark``, and some rows of the one ``begun``."""

    mark: str | None = None
    begun: Begun | None = None


def require_key(name: Any) -> str:
    """``name``, when a bucket can have it as a key."""
    if not isinstance(name, str) or not KEY.fullmatch(name):
        raise ValueError(
            f"{CONNECTOR}: name has letters, digits, -, _, =, / and full stops between them; not "
            f"so {shorten(name)}"
        )
    return name


class Marks:
    """The progress of one sink, under its ``key``; who stores it must have seen the last one.

    All of it runs on the loop of the connection.
    """

    def __init__(self, connection: NatsConnection, access: JetStreamAccess, key: str) -> None:
        self._jetstream = connection.jetstream
        self._access = access
        self._key = key
        self._bucket: KeyValue | None = None
        self._revision = 0

    async def find(self) -> bool:
        """Whether there is the bucket; refuses one that would forget marks."""
        try:
            self._bucket = await self._jetstream.key_value(BUCKET)
            status = await self._bucket.status()
        except BucketNotFoundError:
            return False
        if status.ttl:
            raise DeliveryRefused(
                f"{CONNECTOR}: the bucket {BUCKET} at {self._access.address} forgets what its "
                f"sinks have after {status.ttl:g} s; have it made without a ttl"
            )
        return True

    async def prepare(self, replicas: int | None) -> None:
        """Make the bucket if it is not there, kept on as many servers as the stream."""
        if await self.find():
            return
        config = api.KeyValueConfig(bucket=BUCKET, history=1, replicas=replicas or 1)
        try:
            self._bucket = await self._jetstream.create_key_value(config)
        except APIError as error:
            if await self.find():  # another one has made it meanwhile
                return
            raise DeliveryRefused(
                f"{CONNECTOR}: exactly once needs the bucket {BUCKET} at {self._access.address}, "
                f"which could not be made: {words_of(error)}; have it made"
            ) from None

    async def load(self) -> Progress:
        """What is stored under the key."""
        if self._bucket is None:
            return Progress()
        try:
            entry = await self._bucket.get(self._key)
        except KeyNotFoundError as error:
            gone = error.entry  # deleted by somebody
            self._revision = (gone.revision or 0) if gone is not None else 0
            return Progress()
        self._revision = entry.revision or 0
        return self._read((entry.value or b"").decode(errors="replace"))

    async def store(self, progress: Progress) -> None:
        """Replace what ``load`` or ``store`` has seen last; ``ConnectionLost`` if it has changed.

        Then it is looked again who has changed it: the answer to an earlier one may be lost.
        """
        assert self._bucket is not None
        content = json.dumps({"mark": progress.mark, "begun": progress.begun}).encode()
        try:
            self._revision = await self._bucket.update(self._key, content, last=self._revision)
        except KeyWrongLastSequenceError as error:
            raise ConnectionLost(f"the mark was changed: {words_of(error)}") from error

    def _read(self, text: str) -> Progress:
        try:
            found: Any = json.loads(text)
            begun = found["begun"]
            return Progress(found["mark"], None if begun is None else Begun(*begun))
        except (ValueError, TypeError, KeyError):
            raise DeliveryRefused(
                f"{self._access.name} has a mark that is damaged, {self._key} in the bucket "
                f"{BUCKET}: {shorten(text)}"
            ) from None
