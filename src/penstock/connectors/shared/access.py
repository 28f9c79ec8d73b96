"""What a source shows to a server so that it is let in, and whom it trusts."""

from __future__ import annotations

import base64
import logging
import re
import ssl
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from urllib.parse import unquote, urlsplit, urlunsplit

from penstock.connectors.shared.reconnecting import current_listener
from penstock.connectors.shared.tls import SourceTls, require_source_tls
from penstock.runtime import shorten, shown_address

__all__ = ["Access", "Auth", "hint_at_auth", "require_access"]

Auth: TypeAlias = str | tuple[str, str] | Callable[[], str | tuple[str, str]]
"""A bearer token, a pair of user and password, or a function that gives either."""

NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
VALUE: Final = re.compile(r"[\x20-\x7e\t]*")
TOKEN: Final = re.compile(r"[\x21-\x7e]+")
OURS: Final = frozenset(
    {"accept", "accept-encoding", "connection", "content-length", "host", "last-event-id"}
    | {"transfer-encoding", "upgrade"}
)
"""The headers that a connector sets itself, beside those of the websocket handshake."""

logger = logging.getLogger(__name__)
_hinted: Final[set[str]] = set()


class Access:
    """The headers of each connection, and the authorities that it trusts. None of it is shown.

    A function that gives the credentials is called on the event loop, before each connection.
    """

    def __init__(
        self,
        connector: str,
        headers: Mapping[str, str],
        auth: Auth | None,
        context: ssl.SSLContext | None,
    ) -> None:
        self._connector = connector
        self._headers = dict(headers)
        self._auth = auth
        self.context = context

    @property
    def is_secret(self) -> bool:
        """Whether there is something that only this server may see."""
        return bool(self._headers) or self._auth is not None

    def headers(self) -> dict[str, str]:
        """What the next connection sends; a function that gives the credentials is called now."""
        if self._auth is None:
            return dict(self._headers)
        auth = self._auth() if callable(self._auth) else self._auth
        return {**self._headers, "Authorization": authorization(self._connector, auth)}

    def __repr__(self) -> str:
        return "Access(...)"


def require_access(
    connector: str,
    url: str,
    headers: Mapping[str, str] | None,
    auth: Auth | None,
    tls: SourceTls | None,
) -> tuple[str, Access]:
    """``url`` without credentials and fragment, and those credentials with the rest."""
    parts = urlsplit(url)
    sent = require_headers(connector, {} if headers is None else headers)
    if auth is not None and not callable(auth):
        authorization(connector, auth)  # now: credentials of a wrong kind are the user's mistake
    user, at, host = parts.netloc.rpartition("@")
    if at:
        if auth is not None:
            raise ValueError(
                f"{connector}: there are credentials in the url and in auth; keep auth"
            )
        name, _, password = user.partition(":")
        auth = (unquote(name), unquote(password))
        authorization(connector, auth)
        hint_at_auth(connector, shown_address(url))
    if auth is not None and any(name.lower() == "authorization" for name in sent):
        raise ValueError(f"{connector}: headers has an Authorization beside auth; keep one of them")
    is_encrypted = parts.scheme.lower() in ("wss", "https")
    access = Access(connector, sent, auth, require_source_tls(connector, is_encrypted, tls))
    return urlunsplit(parts._replace(netloc=host, fragment="")), access


def hint_at_auth(
    connector: str, shown: str, better: str = "give it as auth=(user, password)"
) -> str:
    """Say that there is a better place for a password; in the log once for each address."""
    words = (
        f"{connector}: the address {shown} has a password in it, which others may see in your code "
        f"and settings; {better}"
    )
    listener = current_listener()
    if listener is not None:
        listener.has_advice(words)
    if shown not in _hinted:
        _hinted.add(shown)
        logger.warning("%s", words)
    return words


def require_headers(connector: str, headers: Any) -> Mapping[str, str]:
    """``headers``, when each can be sent; an error names the header and not what it says."""
    if not isinstance(headers, Mapping):
        kind = type(headers).__name__
        raise TypeError(f"{connector}: headers must map names to texts, and is of type {kind}")
    for name, value in headers.items():
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise ValueError(f"{connector}: headers has {shorten(name)}, which is no name of one")
        if name.lower() in OURS or name.lower().startswith("sec-websocket-"):
            raise ValueError(f"{connector}: the header {name} is set by the connector itself")
        if not isinstance(value, str) or not VALUE.fullmatch(value):
            raise ValueError(f"{connector}: the header {name} must be a text in ASCII, in one line")
    return dict(headers)


def authorization(connector: str, auth: Any) -> str:
    """The header for credentials; an error never shows them."""
    match auth:
        case (str(user), str(password)) if isinstance(auth, tuple):
            if ":" in user:
                raise ValueError(f"{connector}: the user in auth must not have a colon")
            pair = base64.b64encode(f"{user}:{password}".encode()).decode("ascii")
            return f"Basic {pair}"
        case str(token):
            if not TOKEN.fullmatch(token):
                raise ValueError(f"{connector}: the token in auth must be in ASCII, without spaces")
            return f"Bearer {token}"
        case _:
            raise TypeError(
                f"{connector}: auth must be (user, password), a bearer token, or a function that "
                f"gives one of these, not of type {type(auth).__name__}"
            )
