"""What opens the page: a token for programs, an address that works once, and a cookie of a session.

The address leads a browser in. It stands among the arguments of the browser, where other users of
the machine can read it, so it is worth nothing once the browser has used it. What the browser gets
for it is a cookie. Browsers do not tell one port of a machine from another, and would show the
cookie to any program that listens on another one; so it is for one folder, whose name nobody can
guess.
"""

from __future__ import annotations

import hmac
import secrets
from base64 import urlsafe_b64encode
from collections.abc import Callable

__all__ = ["Keys"]


class Keys:
    """The keys of one dashboard, at ``place``, such as ``http://127.0.0.1:8080``.

    ``token``     stays valid, and is for programs; without one there is no such key
    ``announce``  is told the next address when one was used, on the thread of the server
    """

    def __init__(
        self, place: str, token: str | None, announce: Callable[[str], object] | None = None
    ) -> None:
        self._place = place
        self._token = token
        self._announce = announce
        self._ticket = secrets.token_urlsafe()
        # The same again after a restart with the same token: then a page that is open goes on.
        seed = token or secrets.token_urlsafe()
        self.folder = "/" + derived(seed, f"the folder of {place}")
        self._session = derived(seed, f"the session of {place}")
        # Cookies are shared by all ports of a host: each dashboard has a name of its own.
        self._cookie = f"penstock_{place.rpartition(':')[2]}"

    @property
    def address(self) -> str:
        """What opens the page, once."""
        return f"{self._place}/?token={self._ticket}"

    @property
    def cookie(self) -> str:
        """What a browser is given, as it stands in the header."""
        secure = "; Secure" if self._place.startswith("https:") else ""
        return (
            f"{self._cookie}={self._session}; HttpOnly; SameSite=Strict; "
            f"Path={self.folder}/{secure}"
        )

    def is_token(self, given: str) -> bool:
        """Whether a program knows the token."""
        return self._token is not None and same(given, self._token)

    def is_session(self, cookies: dict[str, str]) -> bool:
        """Whether a browser was let in before."""
        return same(cookies.get(self._cookie, ""), self._session)

    def redeem(self, given: str) -> bool:
        """Whether a browser is let in by the address that it was given, which is then used up."""
        if not same(given, self._ticket):
            return False
        self._ticket = secrets.token_urlsafe()
        if self._announce is not None:
            self._announce(self.address)
        return True


def same(given: str, key: str) -> bool:
    """Compare in a time that tells nothing."""
    return secrets.compare_digest(given.encode(), key.encode())


def derived(seed: str, purpose: str) -> str:
    """A secret of its own, from which nobody can come to know the seed."""
    return urlsafe_b64encode(hmac.digest(seed.encode(), purpose.encode(), "sha256")).decode()[:-1]
