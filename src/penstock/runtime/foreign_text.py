"""Text of others, as it may be shown: on a terminal, in a log, in an error."""

from __future__ import annotations

import re
from typing import Final
from unicodedata import category

__all__ = ["printable"]

KEPT: Final = "\u200c\u200d"
"""The two joiners: some scripts and many emoji need them, and a terminal does nothing by them."""

SUSPECT: Final = re.compile(r"[^\x20-\x7e]")
ESCAPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The kinds of characters that command a terminal, hide, turn a line round or end it."""


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
