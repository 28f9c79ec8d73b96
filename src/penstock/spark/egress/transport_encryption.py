"""TLS for the way on which batches come back from a server of Spark Connect.

Each query has a key of its own, and a certificate of that key which its senders trust, and nothing
else: nobody signs it, and it is worth nothing when the query has ended. The certificate goes to the
server with the function that sends; the key stays here, and no file of it is left.

Python can use a certificate and not make one. That is left to the ``openssl`` command.
"""

from __future__ import annotations

import logging
import os
import shutil
import ssl
import subprocess
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from penstock.runtime import shorten
from penstock.spark.failures import SparkUnavailable

__all__ = ["NAME", "SWITCH", "OwnCertificate", "certificate_for", "trusting"]

SWITCH: Final = "PENSTOCK_CONNECT_TLS"
"""The environment variable that says when batches are encrypted."""

CHOICES: Final = ("auto", "always", "never")
NAME: Final = "penstock"
"""The host that the certificate is of: it does not matter where that is."""

PATIENCE: Final = 60.0
REQUEST: Final = f"""
[req]
distinguished_name = subject
x509_extensions = extensions
prompt = no
[subject]
commonName = {NAME}
[extensions]
subjectAltName = DNS:{NAME}
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth
"""
NO_CHECK_TIME: Final = 0x200000
"""OpenSSL's X509_V_FLAG_NO_CHECK_TIME."""

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class OwnCertificate:
    """``context`` is for the end that listens, ``text`` is what its senders have to trust."""

    text: str
    context: ssl.SSLContext = field(repr=False)


def certificate_for(host: str) -> OwnCertificate | None:
    """A new one, if what is sent to ``host`` goes over a network; ``SparkUnavailable`` if it can't.

    The user may want it on loopback as well, or never.
    """
    choice = os.environ.get(SWITCH) or "auto"
    if choice not in CHOICES:
        raise SparkUnavailable(f"{SWITCH} is auto, always or never, not {shorten(choice)}")
    is_here = ip_address(host).is_loopback
    if choice == "never" and not is_here:
        logger.warning("rows come back from Spark in the clear, as %s=never says", SWITCH)
    if choice == "never" or (choice == "auto" and is_here):
        return None
    program = shutil.which("openssl")
    if program is None:
        raise SparkUnavailable(
            "the rows that come back from the Spark Connect server cannot be encrypted: there is "
            f"no openssl command; install OpenSSL, or let them come in the clear by {SWITCH}=never"
        )
    return made_by(program)


def made_by(program: str) -> OwnCertificate:
    """A certificate of a new key; ``program`` is the path of OpenSSL's command."""
    with TemporaryDirectory(
        prefix="penstock-certificate-"
    ) as place:  # which is for its owner alone
        request, key, certificate = (Path(place, name) for name in ("request", "key", "pem"))
        request.write_text(REQUEST)
        command = [program, "req", "-x509", "-config", str(request), "-days", "3650", "-sha256"]
        command += ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        command += ["-keyout", str(key), "-out", str(certificate)]
        try:
            subprocess.run(
                command, check=True, capture_output=True, stdin=subprocess.DEVNULL, timeout=PATIENCE
            )
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.minimum_version = ssl.TLSVersion.TLSv1_2
            context.num_tickets = 0  # nobody comes back to a connection
            context.load_cert_chain(certificate, key)
            return OwnCertificate(certificate.read_text(), context)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stderr", b"") or b""
            reason = said.decode(errors="replace").strip().splitlines()[-1:] or [str(error)]
            raise SparkUnavailable(
                "the rows that come back from the Spark Connect server cannot be encrypted: "
                f"{program} made no certificate: {reason[0]}; correct that, or let them come in "
                f"the clear by {SWITCH}=never"
            ) from error


def trusting(certificate: str) -> ssl.SSLContext:
    """For a sender: that certificate is the only authority there is."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.load_verify_locations(cadata=certificate)
    # It is new, and the clock of the sender may be late.
    context.verify_flags |= ssl.VerifyFlags(NO_CHECK_TIME)
    return context
