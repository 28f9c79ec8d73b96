"""Text of others commands no terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.runtime import printable, shorten

CLIPBOARD = "\x1b]52;c;ZXZpbA==\x07"
"""Sets the clipboard of a terminal that allows it."""


class Hostile:
    """Its ``repr`` is what others wrote."""

    def __repr__(self) -> str:
        return f"<{CLIPBOARD}\u202e>"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("delay of 12 min, naïve, 東京, 👩‍✈️", "delay of 12 min, naïve, 東京, 👩‍✈️"),
        (CLIPBOARD, r"\x1b]52;c;ZXZpbA==\x07"),
        ("\x9b2J", r"\x9b2J"),  # one byte that is ESC and [ at once
        ("a\rb\bc\x7f", r"a\rb\x08c\x7f"),
        ("all is well\n2026-01-01 ERROR forged", r"all is well\n2026-01-01 ERROR forged"),
        ("exe.\u202efdp", r"exe.\u202efdp"),  # shown from right to left
        ("\u2028\u2029\ufeff\u2066", r"\u2028\u2029\ufeff\u2066"),
        ("\ud83d alone", r"\ud83d alone"),
        ("", ""),
    ],
)
def test_what_commands_a_terminal_is_escaped(text: str, shown: str) -> None:
    assert printable(text) == shown


def test_lines_stay_where_the_text_around_is_ours() -> None:
    assert printable(f"one\n\ttwo{CLIPBOARD}\r", lines=True) == (
        "one\n\ttwo\\x1b]52;c;ZXZpbA==\\x07\\r"
    )


def test_an_element_in_a_message_commands_no_terminal() -> None:
    assert shorten(Hostile()) == r"<\x1b]52;c;ZXZpbA==\x07\u202e>"
    assert shorten([CLIPBOARD]) == r"['\x1b]52;c;ZXZpbA==\x07']"


@given(st.text())
def test_nothing_is_left_that_a_terminal_would_obey(text: str) -> None:
    assert not {*printable(text)} & {*map(chr, range(32)), *map(chr, range(127, 160))}
    printable(text).encode()  # raises if there is half a character
