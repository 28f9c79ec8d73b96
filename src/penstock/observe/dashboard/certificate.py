"""TLS for the page, from a certificate and its key."""

from __future__ import annotations

import ssl
import stat
from pathlib import Path

from penstock.observe.unavailable import DashboardUnavailable

__all__ = ["tls"]


def tls(certificate: Path | None, key: Path | None) -> ssl.SSLContext | None:
    """What serves with a certificate; ``None`` if there is none."""
    if certificate is None and key is None:
        return None
    if certificate is None or key is None:
        given, missing = ("key", "certificate") if certificate is None else ("certificate", "key")
        raise ValueError(
            f"TLS needs a certificate and its key; there is a {given} without {missing}"
        )
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        certificate.open("rb").close()
        if stat.S_IMODE(key.stat().st_mode) & 0o007:
            raise DashboardUnavailable(
                f"every user of this machine can read the key {key}, so it is no secret any more; "
                f"make a new one, for its owner alone: chmod 600 {key}"
            )
        context.load_cert_chain(certificate, key, password=refuse_password)
    except ssl.SSLError as error:
        raise DashboardUnavailable(
            f"{certificate} and {key} are no certificate and the key that belongs to it, in PEM: "
            f"{error.reason or error}"
        ) from error
    except OSError as error:
        raise DashboardUnavailable(f"{error.filename} cannot be read: {error.strerror}") from error
    return context


def refuse_password() -> str:
    """Nobody is asked for a password while a pipeline starts."""
    raise DashboardUnavailable("the key of the page has a password; give one without")
