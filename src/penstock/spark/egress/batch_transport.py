"""How batches come back to this program: by a call of Spark's, or from a server by TLS.

Each query has a key of its own, and a certificate of that key which its senders trust, and nothing
else: nobody signs it, and it is worth nothing when the query has ended. The certificate goes to the
server with the function that sends; the key stays here, and no file of it is left.

Python can use a certificate and not make one. That is left to the ``openssl`` command.

In a classic session ``foreachBatch`` calls this program. Over Spark Connect it runs in a process of
the server: there, each batch is sent back as an Arrow stream, and the process waits until it was
delivered, just as Spark waits for a call.
"""

from __future__ import annotations

import logging
import os
import secrets
import shutil
import socket
import ssl
import struct
import subprocess
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

import pyarrow as pa

from penstock.runtime import shorten
from penstock.spark.egress.arrow_batches import BatchCollector
from penstock.spark.egress.dataframe_sinks import BatchFanOut
from penstock.spark.egress.token_gate import TokenGate
from penstock.spark.egress.unanswered_calls import unanswered_call
from penstock.spark.failures import SparkUnavailable, Stopped
from penstock.spark.private_api import call_connection, is_remote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "NAME",
    "SWITCH",
    "Admit",
    "BatchTransport",
    "Deliver",
    "OwnCertificate",
    "certificate_for",
    "require_transport",
    "transport_from",
    "trusting",
]

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


Deliver = Callable[[int, pa.Table], None]
"""Takes the number of a batch and its rows; returns when they are delivered."""

Admit = Callable[[int], None]
"""Takes the number of a batch; returns when it is to be computed."""

TOKEN_BYTES: Final = 32
HEADER: Final = struct.Struct(">qq")
"""The number of a batch, and how many rows it has, or that it waits to be computed."""
WAITS: Final = -1
DONE: Final = b"\1"
CONNECT_SECONDS: Final = 30.0
LOOPBACK: Final = "127.0.0.1"


class BatchTransport(Protocol):
    """A way back."""

    error: Exception | None
    """Why a batch was not delivered."""

    @property
    def sink(self) -> Callable[[DataFrame, int], None]:
        """What ``foreachBatch`` is given."""

    def hang_up(self) -> None:
        """No batch will come any more."""


def transport_from(
    session: SparkSession, deliver: Deliver, share: BatchFanOut, admit: Admit | None = None
) -> BatchTransport:
    """The way back from ``session``, for what is left of a batch when Spark's sinks have it."""
    if is_remote(session):
        host = address_towards(session)
        return SocketTransport(deliver, host, share, certificate_for(host), admit)
    return CallbackTransport(deliver, share, admit)


def require_transport(session: SparkSession) -> str:
    """How batches would come back from a server; ``SparkUnavailable`` if they could not."""
    encrypted = certificate_for(address_towards(session)) is not None
    return "batches come back " + ("encrypted" if encrypted else "in the clear")


class CallbackTransport:
    """Spark calls this program, from a thread of its JVM, over a socket of py4j."""

    def __init__(self, deliver: Deliver, share: BatchFanOut, admit: Admit | None = None) -> None:
        self._deliver = deliver
        self._share = share
        self._admit = admit
        self._collect = BatchCollector()
        self._connections: set[Any] = set()
        self.error: Exception | None = None
        logging.getLogger("py4j.clientserver").addFilter(is_about_others)

    @property
    def sink(self) -> Callable[[DataFrame, int], None]:
        """What ``foreachBatch`` is given."""
        return self._take

    def _take(self, frame: DataFrame, number: int) -> None:
        self._connections.add(call_connection(frame))
        try:
            with unanswered_call():
                if self._admit is not None:
                    self._admit(number)
                self._share(frame, number, partial(self._deliver, number), self._collect)
        except Exception as error:
            self.error = error
            # The JVM matches what it gets against patterns that a long text overflows.
            raise Stopped(f"batch {number} was not delivered") from None

    def hang_up(self) -> None:
        """Let the thread end that took the calls; py4j would keep it as long as the JVM lives."""
        for connection in self._connections:
            if connection is not None and connection.socket is not None:
                shut_down(connection.socket)
        self._connections.clear()


def is_about_others(record: logging.LogRecord) -> bool:
    """Whether py4j is to log it: that we end a query by an exception is no news."""
    return not (record.exc_info and isinstance(record.exc_info[1], Stopped))


class SocketTransport:
    """A server sends batches to this program, which listens for as long as the query runs.

    With a ``certificate``, they come encrypted.
    """

    def __init__(
        self,
        deliver: Deliver,
        host: str,
        share: BatchFanOut | None = None,
        certificate: OwnCertificate | None = None,
        admit: Admit | None = None,
    ) -> None:
        self._deliver = deliver
        self._admit = admit
        self._share = share or BatchFanOut()
        self._token = secrets.token_bytes(TOKEN_BYTES)
        self._changing = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._hung_up = False
        self.error: Exception | None = None
        self._trust = "" if certificate is None else certificate.text
        tls = None if certificate is None else certificate.context
        self._gate = TokenGate(host, self._token, self._start, tls=tls)

    @property
    def sink(self) -> SocketSender:
        """What ``foreachBatch`` is given; it goes to the server."""
        asks = self._admit is not None
        return SocketSender(*self._gate.address, self._token, self._share, self._trust, asks)

    def hang_up(self) -> None:
        """Stop to listen; who waits for an answer gets none."""
        with self._changing:
            self._hung_up = True
            for connection in self._connections:
                shut_down(connection)
        self._gate.close()

    def _start(self, connection: socket.socket) -> None:
        """Let each sender that knows the token have a thread; called where the gate listens."""
        threading.Thread(
            target=self._serve, args=(connection,), name="penstock-spark-return", daemon=True
        ).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            with self._changing:
                if self._hung_up:
                    return
                self._connections.add(connection)
            try:
                with connection.makefile("rwb") as stream:
                    self._receive(stream)
            except (OSError, pa.ArrowInvalid, struct.error):
                pass  # the sender is gone, and Spark knows
            finally:
                with self._changing:
                    self._connections.discard(connection)

    def _receive(self, stream: Any) -> None:
        number, size = HEADER.unpack(stream.read(HEADER.size))
        rows = None if size == WAITS else pa.ipc.open_stream(stream).read_all()
        if rows is not None and rows.num_rows != size:
            return  # the sender was killed between two parts
        try:
            if rows is not None:
                self._deliver(number, rows)
            elif self._admit is not None:
                self._admit(number)
        except Exception as error:
            self.error = error
            return
        stream.write(DONE)
        stream.flush()


@dataclass(frozen=True)
class SocketSender:
    """Sends batches back from the server. ``host`` and ``port`` are those of the user's program.

    ``certificate`` is the one that it has; without one, batches are sent in the clear. ``asks``
    says whether it is asked before a batch is computed.
    """

    host: str
    port: int
    token: bytes = field(repr=False)
    share: BatchFanOut = field(default_factory=BatchFanOut)
    certificate: str = field(default="", repr=False)
    asks: bool = False

    def __call__(self, frame: DataFrame, number: int) -> None:
        """Return when the batch is delivered."""
        if self.asks:
            self._send(number, None)
        self.share(frame, number, partial(self._send, number))

    def _send(self, number: int, rows: pa.Table | None) -> None:
        """Return when the rows are delivered; without rows, when the batch is to be computed."""
        with self._connected() as connection:
            connection.settimeout(None)  # the user's program may take its time
            with connection.makefile("rwb") as stream:
                size = WAITS if rows is None else rows.num_rows
                stream.write(self.token + HEADER.pack(number, size))
                if rows is not None:
                    with pa.ipc.new_stream(stream, rows.schema) as writer:
                        writer.write_table(rows)
                stream.flush()
                if stream.read(len(DONE)) != DONE:
                    raise Stopped(f"batch {number} was not delivered")

    def _connected(self) -> socket.socket:
        """Nothing is said before the other end has shown the certificate, if it has to."""
        place = (self.host, self.port)
        try:
            connection = socket.create_connection(place, CONNECT_SECONDS)
        except OSError as error:  # words of Spark's own, by which the program knows what to do
            raise ConnectionError(
                f"Failed to connect to the program at {place}: {error}"
            ) from error
        if not self.certificate:
            return connection
        try:
            return trusting(self.certificate).wrap_socket(connection, server_hostname=NAME)
        except BaseException:
            connection.close()
            raise


def address_towards(session: SparkSession) -> str:
    """The address of this machine, as the server of ``session`` sees it."""
    client: Any = session.client
    host = urlsplit(f"//{client.host}").hostname or LOOPBACK
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((host, 9))  # sends nothing: it only chooses a way
        except OSError:
            return LOOPBACK
        address: str = probe.getsockname()[0]
        return address


def shut_down(connection: socket.socket) -> None:
    """End a connection, which may have ended."""
    try:
        # Not by that of an encrypted one, which would have its reader go on in the clear.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)
    except OSError:
        pass
