"""Connections to Redis: how they are made, what messages call them, what their errors mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import redis

from penstock.connectors.shared.reconnecting import ConnectionLost
from penstock.runtime import printable, shown_address
from penstock.runtime.arguments import require_text, require_url

__all__ = ["Client", "RedisAccess", "StreamInfo", "words_of"]

Client: TypeAlias = "redis.Redis"
SCHEMES: Final = ("redis", "rediss")
OLDEST: Final = 7
"""From which on a stream knows how many entries were ever added."""
ANSWER_SECONDS: Final = 30.0
"""In which a server that lives answers; a blocking read asks for much less."""


class RedisAccess:
    """A stream on a server; ``address`` and ``name`` are what messages call it, without secrets."""

    def __init__(self, connector: str, url: str, stream: str) -> None:
        self.connector = connector
        self._url = require_url(connector, url, SCHEMES)
        self.stream = require_text(connector, "stream", stream)
        self.address = shown_address(url)
        self.name = f"the stream {printable(stream)} at {self.address}"

    def connect(self) -> Client:
        """A client that is connected. ``ConnectionLost`` if another attempt may help."""
        with self.explained():
            client: Client = redis.Redis.from_url(
                self._url,
                decode_responses=True,
                protocol=2,  # in which answers have the same form in all versions of the client
                socket_timeout=ANSWER_SECONDS,
                socket_connect_timeout=10.0,
                socket_keepalive=True,
            )
            try:
                self._require_stream(client)
            except BaseException:
                client.close()
                raise
            return client

    def _require_stream(self, client: Client) -> None:
        version = str(client.info("server")["redis_version"])
        if int(version.partition(".")[0]) < OLDEST:
            raise ValueError(f"{self.connector}: {self.address} is Redis {version}, not {OLDEST}")
        kind = str(client.type(self.stream))
        if kind not in ("none", "stream"):
            raise ValueError(f"{self.connector}: {self.name} is no stream, but a {kind}")

    @contextmanager
    def explained(self) -> Iterator[None]:
        """``ConnectionLost`` where another attempt may help, else an error in one line."""
        try:
            yield
        except redis.AuthenticationError as error:
            raise self._refused(error) from None
        except (redis.BusyLoadingError, redis.ConnectionError, redis.TimeoutError) as error:
            raise ConnectionLost(words_of(error)) from error
        except (redis.ReadOnlyError, redis.OutOfMemoryError) as error:
            raise ConnectionLost(words_of(error)) from error  # until somebody makes room
        except redis.WatchError as error:
            # The client says so wherever it loses a connection while it watches a key, and also if
            # the key has changed: the next attempt will tell.
            raise ConnectionLost(words_of(error)) from error
        except redis.RedisError as error:
            words = words_of(error)
            if words.startswith(("NOAUTH", "NOPERM", "WRONGPASS")):
                raise self._refused(error) from None
            raise ValueError(f"{self.connector}: {self.name}: {words}") from None

    def _refused(self, error: Exception) -> ConnectionError:
        return ConnectionError(
            f"{self.connector}: {self.address} does not let us in: {words_of(error)}"
        )


def words_of(error: Exception) -> str:
    """What the server says, or the client library, in one line."""
    return printable(" ".join(str(error).split()))[:400]


class StreamInfo:
    """What a server knows of a stream, or that there is none.

    ``first``    the id of the first entry, if there is one
    ``last``     the id of the last one that ever was
    ``added``    how many were ever added
    ``removed``  how many of those are gone
    """

    def __init__(self, answer: Mapping[str, Any] | None) -> None:
        known = answer or {}
        first = known.get("first-entry")
        self.first: str | None = None if first is None else first[0]
        self.last: str = known.get("last-generated-id", "0-0")
        self.added: int = known.get("entries-added", 0)
        self.removed: int = self.added - known.get("length", 0)
