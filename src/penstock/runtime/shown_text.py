"""Text of others and addresses, as they may be shown: on a terminal, in a log, in an error."""

from __future__ import annotations

import re
from reprlib import Repr
from typing import Any, Final
from unicodedata import category

from penstock.runtime.secret_fields import MASK, fields_of, has_secret_fields, is_secret

__all__ = [
    "HIDDEN",
    "printable",
    "shorten",
    "shown_address",
    "shown_element",
    "shown_value",
    "shown_words",
]

KEPT: Final = "\u200c\u200d"
"""The two joiners: some scripts and many emoji need them, and a terminal does nothing by them."""

SUSPECT: Final = re.compile(r"[^\x20-\x7e]")
ESCAPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The kinds of characters that command a terminal, hide, turn a line round or end it."""

LONGEST: Final = 200
TABLES: Final = ("pyarrow", "pandas", "polars")
"""The packages whose tables show their values, whatever the fields are called."""


class ShortRepr(Repr):
    """Without the values of secret fields."""

    def repr_dict(self, x: dict[Any, Any], level: int) -> str:
        """A dict."""
        if has_secret_fields():
            x = {key: MASK if is_secret(key) else value for key, value in x.items()}
        return super().repr_dict(x, level)

    def repr_instance(self, x: Any, level: int) -> str:
        """Anything that is of no type of Python itself."""
        if not has_secret_fields():
            return super().repr_instance(x, level)
        name, found = type(x).__name__, fields_of(x)
        if found is None:
            table = type(x).__module__.partition(".")[0] in TABLES
            return f"<{name}>" if table else super().repr_instance(x, level)
        if level <= 0:
            return f"{name}(...)"
        shown = (
            f"{key}={MASK if is_secret(key) else self.repr1(value, level - 1)}"
            for key, value in found.items()
        )
        return f"{name}({', '.join(shown)})"


SHORT: Final = ShortRepr()
SHORT.maxstring = SHORT.maxother = LONGEST
SHORT.maxlong = 40
SHORT.maxlevel = 3


def printable(text: str, *, lines: bool = False) -> str:
    r"""``text`` with what could command a terminal written as an escape, as in ``repr``.

    So a remote text can neither set the clipboard, nor move the cursor, nor turn its line round,
    nor look like a line of ours. With ``lines``, line breaks and tabs stay: for a text of ours, of
    several lines, that has some of another within it.

    >>> print(printable("a\x1b]52;c;aGk=\x07b\nc"))
    a\x1b]52;c;aGk=\x07b\nc
    """
    return SUSPECT.sub(_escaped_within_lines if lines else _escaped, text)


def _escaped(found: re.Match[str]) -> str:
    character = found[0]
    if category(character) not in ESCAPED or character in KEPT:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def _escaped_within_lines(found: re.Match[str]) -> str:
    return found[0] if found[0] in "\n\t" else _escaped(found)


def shorten(value: object) -> str:
    """The ``repr`` of ``value`` in one line of bounded length, without what commands a terminal.

    Never raises an ``Exception``.
    """
    try:
        text = SHORT.repr(value)
    except Exception as error:
        return f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    line = printable(" ".join(text.splitlines()))
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."


def shown_element(element: object) -> str:
    """As ``shorten``, for what flows: where fields are secret, what has no fields is not shown.

    Nobody knows what is in it: a line of text may hold all fields of a row.
    """
    if has_secret_fields() and fields_of(element) is None:
        return f"<{type(element).__name__}, not shown>"
    return shorten(element)


def shown_value(name: object, value: object) -> str:
    """As ``shorten``, for the value of a field, which may be a secret one."""
    return repr(MASK) if is_secret(name) else shorten(value)


def shown_words(kind: str, words: str, name: object = None) -> str:
    """What a library says of a row, or of the field ``name``: it may repeat a secret value.

    Then no more than the ``kind`` of the error is shown.
    """
    may_tell = has_secret_fields() if name is None else is_secret(name)
    return f"{kind}, whose words may have a secret value" if may_tell else words


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
