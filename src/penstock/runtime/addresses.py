"""Addresses as they may be shown: where something is, and none of what opens it."""

from __future__ import annotations

import re
from typing import Final

from penstock.runtime.foreign_text import printable

__all__ = ["HIDDEN", "shown_address"]

HIDDEN: Final = "..."
"""What stands for a part that is not shown."""

PARTS: Final = re.compile(
    r"(?P<scheme>(?:jdbc:|k8s://(?=\w+://))?[a-z][a-z0-9+.-]*://)?"
    r"(?P<authority>[^/?#]*)(?P<path>[^?#;]*)(?P<parameters>;[^?#]*)?"
    r"(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL | re.IGNORECASE,
)
HOST: Final = re.compile(r"(\[[0-9a-fA-F:.]+(%\w+)?\]|[^\s:\[\]]*(\[[^\]]*\])?)(:\d*)?")
"""A name or number with a port; also ``local[4]``, which Spark takes for an address."""

COMMA: Final = re.compile(r",(?![^\[]*\])")
"""Between two hosts, and not within ``local-cluster[2,1,1024]``."""


def shown_address(address: str) -> str:
    """``address`` without user, password, values of parameters and fragment.

    The one way to show an address: in errors, logs, on the page and on the command line. Names of
    parameters stay. Where an ``@`` comes after the host, the host may be the beginning of a
    password that should have been escaped: then no more than the scheme is shown.

    >>> shown_address("wss://me:secret@example.org:8443/live?airport=JFK&token=abc#top")
    'wss://example.org:8443/live?airport=...&token=...'
    >>> shown_address("sc://example.org:15002/;token=abc;user_id=me")
    'sc://example.org:15002/;token=...;user_id=...'
    """
    parts = PARTS.fullmatch(address)
    assert parts is not None  # every part may be empty
    scheme = parts["scheme"] or ""
    hosts = parts["authority"].rpartition("@")[2]
    rest = address[parts.end("authority") :]
    if "@" in rest or not all(map(HOST.fullmatch, COMMA.split(hosts))):
        return f"{scheme}{HIDDEN}"
    shown = f"{scheme}{hosts}{parts['path']}"
    if parts["parameters"]:
        shown += without_values(parts["parameters"], ";")
    if parts["query"]:
        shown += f"?{without_values(parts['query'], '&')}"
    return printable(shown)


def without_values(parameters: str, separator: str) -> str:
    """The names of parameters; one without a value may be a value itself."""
    return separator.join(
        f"{each.partition('=')[0]}={HIDDEN}" if "=" in each else (each and HIDDEN)
        for each in parameters.split(separator)
    )
