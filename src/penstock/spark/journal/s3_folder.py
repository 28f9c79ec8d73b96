"""A folder on S3, whose files are created and replaced only by who has seen what is there.

``pyarrow.fs`` has no conditional writes, so this is ``obstore``, with ``If-None-Match`` and
``If-Match``.

An S3 that has answered before is waited for while it does not: for two minutes, or as many seconds
as the environment variable ``PENSTOCK_S3_TIMEOUT`` says. The first request is an error after a few
seconds, since the address may be wrong.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, Final, TypeVar
from urllib.parse import urlsplit

from penstock.runtime import printable
from penstock.spark.journal.errors import JournalUnusable
from penstock.spark.journal.store import StoredFile

if TYPE_CHECKING:
    from obstore.store import S3Store

__all__ = ["Overtaken", "S3Folder", "is_s3"]

SCHEME: Final = "s3"
ENDPOINTS: Final = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
RETRIES: Final[Any] = {"max_retries": 5, "retry_timeout": timedelta(seconds=30)}
TIMEOUT: Final = "PENSTOCK_S3_TIMEOUT"
SECONDS: Final = 120.0
PAUSE: Final = 0.5
UNANSWERED: Final = " - HTTP error:"
UNAVAILABLE: Final = "non-2xx status code: 5"
REASON: Final = re.compile(r"<Code>(.*?)</Code>.*?<Message>(.*?)</Message>", re.DOTALL)


Answer = TypeVar("Answer")
logger = logging.getLogger("penstock")


class Unanswered(OSError):
    """S3 cannot be reached, or cannot answer now."""


class Overtaken(OSError):
    """A file is not as it was seen last: somebody else has written it."""


def is_s3(place: object) -> bool:
    """Whether a place is on S3."""
    return isinstance(place, str) and urlsplit(place).scheme == SCHEME


class S3Folder:
    """Files under a prefix of a bucket; all methods raise ``OSError``, with one line.

    Requests are made, and waited for, on the thread that calls.

    ``waits``  whether somebody has had an answer there before, so that it is waited for
    """

    def __init__(self, place: str, *, waits: bool = False) -> None:
        self.place = place.rstrip("/")
        self._waits = waits
        parts = urlsplit(place)
        if not parts.netloc or "@" in parts.netloc or parts.query or parts.fragment:
            raise JournalUnusable(
                "a place on S3 is like s3://bucket/folder; its region, its endpoint and who asks "
                "are told by AWS_REGION, AWS_ENDPOINT_URL and the other variables of AWS"
            )
        self._bucket = parts.netloc
        self._store = opened(self.place)

    def describe(self, name: str = "") -> str:
        """A file, or the folder, as its user knows it."""
        return f"{self.place}/{name}" if name else self.place

    def files(self, folder: str = "") -> list[StoredFile]:
        """The files in a folder, and not in those below."""
        found = self._answer(lambda: self._store.list_with_delimiter(folder or None))
        return [StoredFile(each["path"].rpartition("/")[2], each["size"]) for each in
                found["objects"]]  # fmt: skip

    def entries(self, folder: str = "") -> list[str]:
        """The names of files and folders in a folder."""
        found = self._answer(lambda: self._store.list_with_delimiter(folder or None))
        paths = [each["path"] for each in found["objects"]] + [*found["common_prefixes"]]
        return [path.rstrip("/").rpartition("/")[2] for path in paths]

    def all_below(self, folder: str) -> list[str]:
        """The paths of all files below a folder."""
        return self._answer(
            lambda: [each["path"] for some in self._store.list(folder) for each in some]
        )

    def read(self, name: str) -> bytes:
        """The content of a file; ``FileNotFoundError`` if there is none."""
        return self.seen(name)[0]

    def seen(self, name: str) -> tuple[bytes, str | None]:
        """The content of a file, and the tag by which it may be replaced."""

        def get() -> tuple[bytes, str | None]:
            found = self._store.get(name)
            return bytes(found.bytes()), found.meta["e_tag"]

        return self._answer(get)

    def has(self, name: str) -> bool:
        """Whether there is a file."""
        try:
            self._answer(lambda: self._store.head(name))
        except FileNotFoundError:
            return False
        return True

    def put(self, name: str, content: bytes) -> None:
        """Write or replace a file, whatever is there."""
        self._answer(lambda: self._store.put(name, content, use_multipart=False))

    def create(self, name: str, content: bytes) -> None:
        """Make a file; ``Overtaken`` if there is one with another content."""
        self._put_if(name, content, "create")

    def replace(self, name: str, content: bytes, tag: str | None) -> None:
        """Replace the file that was seen with ``tag``; ``Overtaken`` if it is another one now."""
        self._put_if(name, content, "create" if tag is None else {"e_tag": tag})

    def delete(self, name: str) -> None:
        """Delete a file; no error if it is gone."""
        try:
            self._answer(lambda: self._store.delete(name))
        except FileNotFoundError:
            pass

    def _put_if(self, name: str, content: bytes, mode: Any) -> None:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def put() -> None:
            try:
                self._store.put(name, content, mode=mode, use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                # An answer may have been lost, after which we have asked once more.
                if bytes(self._store.get(name).bytes()) != content:
                    raise Overtaken(f"{self.describe(name)} was written by somebody else") from None

        self._answer(put)

    def _answer(self, ask: Callable[[], Answer]) -> Answer:
        """What S3 answers; one that has answered before is waited for."""
        seconds = timeout() if self._waits else 0.0
        end = monotonic() + seconds
        is_told = False
        while True:
            try:
                with self._explained():
                    found = ask()
            except Unanswered as error:
                if not self._waits:
                    raise
                if monotonic() >= end:
                    raise Unanswered(f"{error}; it was waited for {seconds:g} s") from None
                if not is_told:
                    is_told = True
                    logger.warning("%s; it is waited for, at most %g s", error, seconds)
                sleep(PAUSE)
            else:
                self._waits = True
                if is_told:
                    logger.warning("%s: S3 answers again", self.place)
                return found

    @contextmanager
    def _explained(self) -> Iterator[None]:
        from obstore.exceptions import (
            BaseError,
            PermissionDeniedError,
            UnauthenticatedError,
        )

        try:
            yield
        except FileNotFoundError as error:
            self._require_bucket(error)
            raise FileNotFoundError(f"there is no such file in {self.place}") from None
        except (PermissionDeniedError, UnauthenticatedError) as error:
            raise PermissionError(f"{self.place}: S3 does not let us in: {reason(error)}") from None
        except BaseError as error:
            self._require_bucket(error)
            kind = Unanswered if is_unanswered(error) else OSError
            raise kind(f"{self.place}: {reason(error)}") from None

    def _require_bucket(self, error: Exception) -> None:
        if "NoSuchBucket" in str(error):
            raise OSError(f"{self.place}: there is no bucket {self._bucket}") from None


def opened(place: str) -> S3Store:
    """What reads and writes there; it asks nobody yet."""
    try:
        from obstore.store import S3Store
    except ModuleNotFoundError:
        raise JournalUnusable(
            f"{place} needs obstore, which is not installed: pip install 'penstock[s3]'"
        ) from None
    endpoint = next((os.environ[name] for name in ENDPOINTS if os.environ.get(name)), "")
    # In the clear only where that was said.
    options: Any = {"allow_http": endpoint.startswith("http://")}
    return S3Store.from_url(place, client_options=options, retry_config=RETRIES)


def timeout() -> float:
    """For how many seconds an S3 is waited for that has answered before."""
    given = os.environ.get(TIMEOUT, "")
    try:
        seconds = float(given or SECONDS)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise JournalUnusable(
            f"the environment variable {TIMEOUT} must be a number of seconds, not {given!r}"
        )
    return seconds


def is_unanswered(error: Exception) -> bool:
    """Whether the same request may have an answer later."""
    words = str(error).partition("\n")[0]
    return UNANSWERED in words or UNAVAILABLE in words


def reason(error: Exception) -> str:
    """What S3 says, in one line."""
    text = str(error)
    said = REASON.search(text)
    words = ": ".join(said.groups()) if said else text.splitlines()[0]
    if UNANSWERED in words:
        words = f"S3 does not answer: {words.rpartition(UNANSWERED)[2].strip()}"
    return printable(words)[:300]
