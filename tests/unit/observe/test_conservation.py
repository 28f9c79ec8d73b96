"""What went in and is nowhere is lost; what nobody counts is not known."""

from __future__ import annotations

import pytest

from penstock.observe import Conservation, Passage


@pytest.mark.parametrize(
    ("passage", "missing"),
    [
        (Passage("a", "b", entered=5, left=5), 0),
        (Passage("a", "b", entered=5, left=2, held=2, aside=1), 0),
        (Passage("a", "b", entered=5, left=4), 1),
        (Passage("a", "b", entered=5, left=2, held=1, aside=1), 1),
        (Passage("a", "b", entered=5, left=7), 0),
    ],
)
def test_missing_is_what_is_neither_through_nor_held_nor_aside(
    passage: Passage, missing: int
) -> None:
    assert passage.missing == missing


def test_without_a_passage_nobody_knows() -> None:
    assert Conservation().lost([], settled=False) is None
    assert Conservation().lost([], settled=True) is None


def test_in_the_end_all_that_is_missing_is_lost() -> None:
    passages = [Passage("a", "b", 5, 4), Passage("b", "c", 4, 4), Passage("c", "d", 4, 2)]
    assert Conservation().lost(passages, settled=True) == 3


def test_what_one_look_misses_may_be_between_two_gauges() -> None:
    conservation = Conservation()
    assert conservation.lost([Passage("a", "b", 5, 4)], settled=False) == 0
    assert conservation.lost([Passage("a", "b", 6, 6)], settled=False) == 0
    assert conservation.lost([Passage("a", "b", 7, 6)], settled=False) == 0


def test_what_two_looks_in_a_row_miss_is_lost() -> None:
    conservation = Conservation()
    conservation.lost([Passage("a", "b", 5, 4)], settled=False)
    assert conservation.lost([Passage("a", "b", 7, 5)], settled=False) == 1
    assert conservation.lost([Passage("a", "b", 9, 8)], settled=False) == 1
