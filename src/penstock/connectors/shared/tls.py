"""Transport encryption: whom a source trusts, and what each side shows of itself.

It may say so by an alert, but not every server does, and an alert is lost if the server resets the
connection after it: with TLS 1.3, a client has sent its request before the server misses the
certificate. So a server that hangs up without an answer is probed by a connection on which nothing
is sent.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlsplit

from penstock.runtime import shorten
from penstock.runtime.arguments import PathGiven, require_file

__all__ = [
    "WANTED",
    "ServerTls",
    "SourceTls",
    "causes",
    "certificate_problem",
    "require_server_tls",
    "require_source_tls",
    "wants_certificate",
]

SourceTls: TypeAlias = ssl.SSLContext | PathGiven
"""A context for clients, or the file of the authorities that a source trusts, as PEM."""

ServerTls: TypeAlias = ssl.SSLContext | PathGiven | tuple[PathGiven, PathGiven]
"""A context for servers, a file with certificate and key, or a file for each, as PEM."""

UNKNOWN_AUTHORITY: Final = frozenset({18, 19, 20, 21})
"""OpenSSL's codes for a certificate whose authority is not trusted."""


def require_source_tls(
    connector: str, is_encrypted: bool, given: SourceTls | None
) -> ssl.SSLContext | None:
    """The context for the connections of a source; none for the authorities of this machine."""
    if given is None:
        return None
    if not is_encrypted:
        raise ValueError(
            f"{connector}: ssl is for an encrypted url, which begins with wss or https"
        )
    if isinstance(given, str | PathLike):
        path = require_file(connector, given)
        try:
            return ssl.create_default_context(cafile=path)
        except (ssl.SSLError, OSError) as error:
            raise ValueError(
                f"{connector}: {path} has no certificate of an authority: {error}"
            ) from None
    if not isinstance(given, ssl.SSLContext):
        raise TypeError(
            f"{connector}: ssl must be an SSLContext or the path of a file with certificates, "
            f"not {shorten(given)}"
        )
    if given.protocol is ssl.PROTOCOL_TLS_SERVER:
        raise ValueError(
            f"{connector}: ssl is a context for servers; a source needs one for clients"
        )
    return given


def require_server_tls(connector: str, given: ServerTls | None) -> ssl.SSLContext | None:
    """The context of a server, which has a certificate and its key; none to serve in the clear."""
    if given is None:
        return None
    if isinstance(given, ssl.SSLContext):
        return with_certificate(connector, given)
    files: tuple[Any, ...] = given if isinstance(given, tuple) else (given,)
    if not 1 <= len(files) <= 2 or not all(isinstance(each, str | PathLike) for each in files):
        raise TypeError(
            f"{connector}: ssl must be an SSLContext, the path of a file with certificate and key, "
            f"or a pair of paths, not {shorten(given)}"
        )
    return loaded(connector, *(require_file(connector, each) for each in files))


def loaded(connector: str, certificate: Path, key: Path | None = None) -> ssl.SSLContext:
    """A context with what is in these files."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        # Without a password, a key that needs one would have OpenSSL ask at the terminal.
        context.load_cert_chain(certificate, key, password="")
    except (ssl.SSLError, OSError) as error:
        where = certificate if key is None else f"{certificate} with {key}"
        raise ValueError(
            f"{connector}: {where} is no certificate with its key, which must need no password: "
            f"{error}; for others give an SSLContext"
        ) from None
    return context


def with_certificate(connector: str, context: ssl.SSLContext) -> ssl.SSLContext:
    """``context``, when it can serve; tried by a handshake in memory, since it does not tell."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname, client.verify_mode = False, ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    try:
        ends = (
            client.wrap_bio(to_client, to_server),
            context.wrap_bio(to_server, to_client, server_side=True),
        )
        for end in ends:
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass  # the server has answered, so it has something to show
    except (ssl.SSLError, ValueError) as error:  # the latter from Python 3.14 on
        raise ValueError(
            f"{connector}: ssl cannot serve, because it has no certificate with a key, or is a "
            f"context for clients: {error}"
        ) from None
    return context


def certificate_problem(error: BaseException | None) -> str:
    """What is wrong with the certificate of a server, if ``error`` comes from that; in one line."""
    for each in causes(error):
        if isinstance(each, ssl.SSLCertVerificationError):
            advice = (
                "; give the file of its authority as ssl="
                if each.verify_code in UNKNOWN_AUTHORITY
                else ""
            )
            reason = each.verify_message.rstrip(".")
            return f"the certificate of the server is refused: {reason}{advice}"
    return ""


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and all that it comes from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


WANTED: Final = (
    "the server wants a certificate of ours that it trusts; give ssl= an SSLContext that has one, "
    "by load_cert_chain"
)
PATIENCE: Final = 3.0
"""Seconds after which a server that has not hung up will not do so for want of a certificate."""

ALERTS: Final = frozenset(
    {"CERTIFICATE_REQUIRED", "BAD_CERTIFICATE", "UNSUPPORTED_CERTIFICATE", "CERTIFICATE_REVOKED"}
    | {"CERTIFICATE_EXPIRED", "CERTIFICATE_UNKNOWN", "UNKNOWN_CA", "ACCESS_DENIED"}
)
"""The alerts that can only be about our certificate, or that there is none."""


async def wants_certificate(url: str, context: ssl.SSLContext | None, error: BaseException) -> bool:
    """Whether that is why the server at ``url`` gave no answer; ``error`` says how it did so."""
    if urlsplit(url).scheme not in ("wss", "https"):
        return False
    if is_refused(error):
        return True
    asked = CertificateRequestProbe()
    if not (await hangs_up(url, asked.context, asked) and asked.was_asked):
        return False
    # The context of a user may have a certificate, so the server may have had another reason.
    return context is None or await hangs_up(url, context)


class CertificateRequestProbe:
    """A context without a certificate that sees whether a server asks for one.

    It trusts everybody, for nothing is sent through it.
    """

    def __init__(self) -> None:
        self.was_asked = False
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        # Python has no public way to see it; where this one is missing, only alerts tell.
        watched: Any = self.context
        watched._msg_callback = self._see

    def _see(
        self, connection: object, direction: str, version: object, content: object,
        message: Any, data: bytes,
    ) -> None:  # fmt: skip
        if direction == "read" and getattr(message, "name", "") == "CERTIFICATE_REQUEST":
            self.was_asked = True


async def hangs_up(
    url: str, context: ssl.SSLContext, asked: CertificateRequestProbe | None = None
) -> bool:
    """Whether the server ends a connection on which nothing was sent."""
    parts = urlsplit(url)
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(
                parts.hostname, parts.port or 443, ssl=context
            )
            try:
                if asked is not None and not asked.was_asked:
                    return False  # whatever it does, that is not the reason
                return not await reader.read(1)
            finally:
                writer.transport.abort()
    except TimeoutError:
        return False
    except (ssl.SSLError, ConnectionError) as error:
        if asked is not None and is_refused(error):
            asked.was_asked = True
        return not isinstance(error, ConnectionRefusedError | ssl.SSLCertVerificationError)
    except OSError:
        return False


def is_refused(error: BaseException) -> bool:
    """Whether an alert says that our certificate is missing, or not the right one."""
    return any(
        isinstance(each, ssl.SSLError) and alert_in(each) in ALERTS for each in causes(error)
    )


def alert_in(error: ssl.SSLError) -> str:
    """The name of an alert in OpenSSL's words, such as TLSV13_ALERT_CERTIFICATE_REQUIRED."""
    return str(error.reason or "").partition("ALERT_")[2]
