"""The notation of marble diagrams."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.testing.marbles import Frames, draw_marbles, read_marbles
from tests.testing.unit.diagrams import frames


@pytest.mark.parametrize(
    ("diagram", "expected"),
    [
        ("-", ((),)),
        ("a", (("a",),)),
        ("a-B-(3d)|", (("a",), (), ("B",), (), ("3", "d"), ("|",))),
        ("--#", ((), (), ("#",))),
        ("(ab|)", (("a", "b", "|"),)),
        ("(#)", (("#",),)),
        (" a ( b c ) | ", (("a",), ("b", "c"), ("|",))),
    ],
)
def test_each_character_takes_a_frame_and_a_group_takes_one(diagram: str, expected: Frames) -> None:
    assert read_marbles(diagram) == expected


@given(frames())
def test_what_is_drawn_reads_the_same(some: Frames) -> None:
    assert read_marbles(draw_marbles(some)) == some


@given(frames(), st.data())
def test_spaces_make_no_difference(some: Frames, data: st.DataObject) -> None:
    diagram = draw_marbles(some)
    gaps = data.draw(st.lists(st.integers(0, 2), min_size=len(diagram), max_size=len(diagram)))
    spaced = "".join(" " * gap + each for gap, each in zip(gaps, diagram, strict=True))
    assert read_marbles(spaced) == some


@pytest.mark.parametrize(
    ("diagram", "problem", "caret"),
    [
        ("a-*b", "'*' has no meaning; letters, digits and - ( ) | # have", 2),
        ("a\tb", r"'\t' has no meaning", 1),
        ("aé", "'é' has no meaning", 1),
        ("a-(bc-|", "no time passes within a group", 5),
        ("a-(bc", "this group is never closed", 2),
        ("a-bc)", "no group is open that could be closed here", 4),
        ("a()", "this group is empty; a frame without signals is '-'", 2),
        ("(a(b))", "a group cannot hold another one", 2),
        ("a|b", "nothing can follow the end of the stream", 2),
        ("a#-", "nothing can follow the end of the stream", 2),
        ("(a|b)", "nothing can follow the end of the stream", 3),
        ("(a|)|", "nothing can follow the end of the stream", 4),
        ("a | (", "nothing can follow the end of the stream", 4),
    ],
)
def test_a_mistake_is_pointed_at(diagram: str, problem: str, caret: int) -> None:
    with pytest.raises(ValueError, match="position") as failure:
        read_marbles(diagram)
    headline, shown, pointer = str(failure.value).splitlines()
    assert headline.startswith(f"position {caret} of the marble diagram: {problem}")
    assert shown == "    " + diagram.replace("\t", "?")
    assert pointer == "    " + " " * caret + "^"


@pytest.mark.parametrize("diagram", ["", "  "])
def test_a_diagram_without_a_frame_is_refused(diagram: str) -> None:
    with pytest.raises(ValueError, match="at least one frame, such as '-'"):
        read_marbles(diagram)


def test_a_letter_without_a_meaning_is_pointed_at() -> None:
    with pytest.raises(ValueError, match="position 2 .* values has no element for 'b'"):
        read_marbles("a-b|", known={"a"})


def test_a_diagram_is_a_text() -> None:
    number: Any = 3
    with pytest.raises(TypeError, match="a marble diagram is a str, not 3"):
        read_marbles(number)
