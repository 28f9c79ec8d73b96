"""Text of others, as it may be shown: on a terminal, in a log, in an error."""

from __future__ import annotations

import re
from reprlib import Repr
from typing import Final
from unicodedata import category

__all__ = ["printable", "shorten"]

KEPT: Final = "\u200c\u200d"
"""The two joiners: some scripts and many emoji need them, and a terminal does nothing by them."""

SUSPECT: Final = re.compile(r"[^\x20-\x7e]")
ESCAPED: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""The kinds of characters that command a terminal, hide, turn a line round or end it."""

LONGEST: Final = 200
SHORT: Final = Repr()
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
