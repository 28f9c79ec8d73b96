"""Whether a server that hangs up does so because it wants a certificate of ours.

It may say so by an alert, but not every server does, and an alert is lost if the server resets the
connection after it: with TLS 1.3, a client has sent its request before the server misses the
certificate. So a server that hangs up without an answer is probed by a connection on which nothing
is sent.
"""

from __future__ import annotations

import asyncio
import ssl
from typing import Any, Final
from urllib.parse import urlsplit

from penstock.connectors.shared.tls import causes

__all__ = ["WANTED", "wants_certificate"]

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
