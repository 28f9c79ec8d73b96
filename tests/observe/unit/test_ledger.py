"""What went in and is nowhere is lost; what nobody counts is not known."""

from __future__ import annotations

import pytest

from penstock.observe import Conservation, Passage
from penstock.observe.ledger import difference


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


def lost(conservation: Conservation, *passages: Passage, settled: bool = False) -> int:
    missing = conservation.missing(passages, settled=settled)
    assert missing is not None
    return sum(count for _, count in missing)


def test_without_a_passage_nobody_knows() -> None:
    assert Conservation().missing([], settled=False) is None
    assert Conservation().missing([], settled=True) is None


def test_in_the_end_all_that_is_missing_is_lost() -> None:
    passages = [Passage("a", "b", 5, 4), Passage("b", "c", 4, 4), Passage("c", "d", 4, 2)]
    assert lost(Conservation(), *passages, settled=True) == 3


def test_what_one_look_misses_may_be_between_two_gauges() -> None:
    conservation = Conservation()
    assert lost(conservation, Passage("a", "b", 5, 4)) == 0
    assert lost(conservation, Passage("a", "b", 6, 6)) == 0
    assert lost(conservation, Passage("a", "b", 7, 6)) == 0


def test_what_two_looks_in_a_row_miss_is_lost() -> None:
    conservation = Conservation()
    lost(conservation, Passage("a", "b", 5, 4))
    assert lost(conservation, Passage("a", "b", 7, 5)) == 1
    assert lost(conservation, Passage("a", "b", 9, 8)) == 1


def test_two_counts_of_the_same_stages_are_told_apart_by_what_they_say() -> None:
    conservation = Conservation()
    lost(conservation, Passage("a", "a", 5, 4, failing="unread"), Passage("a", "a", 5, 5))
    assert lost(conservation, Passage("a", "a", 5, 5), Passage("a", "a", 5, 4)) == 0


@pytest.mark.parametrize(
    ("passage", "words"),
    [
        (Passage("a", "b", 5, 4), "left a and never reached b"),
        (Passage("a", "a", 5, 4), "entered a and never left it"),
        (Passage("a", "a", 5, 4, failing="came too big"), "came too big"),
    ],
)
def test_what_is_missing_has_words(passage: Passage, words: str) -> None:
    assert passage.words == words


@pytest.mark.parametrize(
    ("terms", "found"), [((3, 2), 0), ((3, 1), 1), ((3, 4), -2), ((3, None), None)]
)
def test_the_difference_is_what_is_in_no_term(
    terms: tuple[int | None, ...], found: int | None
) -> None:
    assert difference(5, terms, settled=True) == found
    assert difference(5, terms, settled=False) is None
