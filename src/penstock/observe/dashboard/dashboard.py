"""The page of a pipeline, from its address to its end."""

from __future__ import annotations

import errno
import re
import socket
import ssl
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from penstock.observe.dashboard.keys import Keys
from penstock.observe.observer import Observer

if TYPE_CHECKING:
    from penstock.observe.dashboard.server import PageServer

__all__ = ["Dashboard", "DashboardUnavailable"]

LOOPBACK: Final = {
    "127.0.0.1": ("127.0.0.1", socket.AF_INET),
    "localhost": ("127.0.0.1", socket.AF_INET),
    "::1": ("::1", socket.AF_INET6),
}
TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,}")


class DashboardUnavailable(RuntimeError):
    """The page cannot be served here; the text says why, and what to do."""


class Dashboard:
    """Serves the page of a pipeline, to this machine only and to those who have a key.

    It listens from the start, on a thread of its own, until it is closed. ``port=0`` takes any
    that is free. Its address opens the page once; ``announce`` is told the next one then, on the
    thread of the server. A ``token`` stays valid, and is for programs: as ``Authorization: Bearer``
    it opens every route. A page that is open goes on by itself after a restart only if port and
    token are the same again. With a ``certificate`` and its ``key``, both in PEM, it speaks TLS.

        with Dashboard(observer) as dashboard:
            print(dashboard.address)
            ...
    """

    def __init__(
        self,
        observer: Observer,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        certificate: Path | None = None,
        key: Path | None = None,
        announce: Callable[[str], object] | None = None,
    ) -> None:
        token = None if token is None else require_token(token)
        context = tls(certificate, key)
        new_serving = load_serving()
        listener = listen(host, port)
        place = f"{'https' if context else 'http'}://{authority(listener)}"
        self._keys = Keys(place, token, announce)
        serving = new_serving(observer, listener, self._keys, context)
        # A daemon: a program that forgets to close it can end all the same.
        self._thread = threading.Thread(target=serving.run, name="penstock dashboard", daemon=True)
        self._thread.start()
        self._stop = serving.started.result()
        self._closing = threading.Lock()

    @property
    def address(self) -> str:
        """What to open in a browser, once; then there is another one."""
        return self._keys.address

    def close(self) -> None:
        """Stop serving. Windows that are open say so, and wait."""
        with self._closing:
            if self._thread.is_alive():
                self._stop()
                self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def load_serving() -> type[PageServer]:
    """What serves, loaded when it is needed: it takes packages that not everybody has."""
    try:
        from penstock.observe.dashboard.server import PageServer
    except ImportError as missing:
        raise DashboardUnavailable(
            f"the dashboard needs {missing.name}: pip install 'penstock[dashboard]'"
        ) from missing
    return PageServer


def require_token(token: str) -> str:
    """A token that can stand in an address and cannot be guessed."""
    if not TOKEN.fullmatch(token):
        raise ValueError(
            "the token of a dashboard has 16 characters or more, each a letter, a digit, - or _"
        )
    return token


def listen(host: str, port: int) -> socket.socket:
    """A socket that nobody outside this machine can reach."""
    if host not in LOOPBACK:
        raise ValueError(
            f"a dashboard listens on {' or '.join(LOOPBACK)}, not on {host}: "
            "a tunnel (ssh -L) reaches it from elsewhere"
        )
    if not 0 <= port <= 65535:
        raise ValueError(f"the port of a dashboard is from 0 (any) to 65535, not {port}")
    address, family = LOOPBACK[host]
    try:
        return socket.create_server((address, port), family=family)
    except OSError as error:
        raise DashboardUnavailable(why_not(error, port)) from error


def why_not(error: OSError, port: int) -> str:
    """Why a port cannot be had, and what to do."""
    if error.errno == errno.EADDRINUSE:
        return (
            f"port {port} is in use, so the dashboard cannot have it: "
            "end what listens there, choose another port, or take port 0 for any that is free"
        )
    if error.errno == errno.EACCES:
        return f"port {port} is reserved by the system: choose one above 1023 for the dashboard"
    return f"the dashboard cannot listen on port {port}: {error.strerror}"


def authority(listener: socket.socket) -> str:
    """Host and port, as they stand in an address."""
    host, port = listener.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


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
