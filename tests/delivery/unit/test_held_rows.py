"""How many rows a sink holds, by their number and by their size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.delivery import HeldRows
from penstock.delivery.held_rows import MOST_BYTES, bytes_of

MOST_ROWS = 10_000
MEGABYTE = 1 << 20


def held_of(row_at: Callable[[int], Any], most_rows: int = MOST_ROWS) -> int:
    """How many rows are enough, where it is asked after each."""
    held = HeldRows(most_rows)
    return next(rows for rows in count(1) if held.are_enough(rows, row_at))


def test_small_rows_are_bounded_by_their_number() -> None:
    assert held_of(lambda place: {"number": place, "text": "x" * 80}) == MOST_ROWS


@given(st.integers(min_value=1, max_value=5 * MEGABYTE))
def test_large_rows_are_bounded_by_their_size(size: int) -> None:
    row = {"number": 1, "bytes": bytes(size)}
    rows = held_of(lambda place: row)
    assert rows == MOST_ROWS or rows * size <= 5 * MOST_BYTES
    assert rows == MOST_ROWS or rows * (size + 100) >= MOST_BYTES


@pytest.mark.parametrize("before", [3, 100, 1_000, 5_000])
def test_rows_that_become_larger_are_noticed(before: int) -> None:
    """After no more than some hundred, however many came before."""
    rows = held_of(lambda place: "small" if place < before else "x" * MEGABYTE)
    assert before < rows <= before + 2 * 256


@pytest.mark.parametrize("every", [2, 3, 4, 8])
@pytest.mark.parametrize("turn", [0, 1])
def test_rows_that_are_large_by_turns_are_noticed(every: int, turn: int) -> None:
    rows = held_of(lambda place: "x" * MEGABYTE if place % every == turn else "small")
    assert rows <= 40 * every * (MOST_BYTES // MEGABYTE)


def test_it_begins_again_with_what_it_held_forgotten() -> None:
    held = HeldRows(MOST_ROWS)
    assert held.are_enough(16, lambda place: "x" * MEGABYTE)
    held.start()
    assert not held.are_enough(16, lambda place: "x")
    assert held.next == 64
    assert not held.are_enough(63, lambda place: "x" * MEGABYTE)  # it is not asked before
    assert held.are_enough(64, lambda place: "x" * MEGABYTE)


@given(st.integers(min_value=1, max_value=15))
def test_few_rows_are_enough_where_no_more_may_be_held(most_rows: int) -> None:
    assert held_of(lambda place: (place,), most_rows) == most_rows


class Named(NamedTuple):
    number: int
    content: Any


@dataclass
class Data:
    number: int
    content: Any


@dataclass(slots=True)
class Slots:
    number: int
    content: Any


class Plain:
    def __init__(self, content: Any) -> None:
        self.content = content


@pytest.mark.parametrize(
    "content",
    [
        "x" * MEGABYTE,
        bytes(MEGABYTE),
        bytearray(MEGABYTE),
        ["x" * 1024] * 1024,
        ("x" * 1024,) * 1024,
        numpy.zeros(MEGABYTE // 8),
        pyarrow.array([0.0] * (MEGABYTE // 8)),
        {"deeper": {"still": ["x" * MEGABYTE]}},
    ],
    ids=["text", "bytes", "bytearray", "list", "tuple", "NumPy", "Arrow", "nested"],
)
@pytest.mark.parametrize(
    "row",
    [
        lambda content: {"number": 1, "content": content},
        lambda content: (1, content),
        lambda content: Named(1, content),
        lambda content: Data(1, content),
        lambda content: Slots(1, content),
        Plain,
        lambda content: {**{str(number): number for number in range(200)}, "content": content},
    ],
    ids=["dictionary", "tuple", "named tuple", "dataclass", "slots", "object", "wide"],
)
def test_what_is_in_a_row_is_found(row: Callable[[Any], Any], content: Any) -> None:
    assert MEGABYTE <= bytes_of(row(content)) <= MEGABYTE * 1.1


def test_no_more_than_some_parts_are_looked_at() -> None:
    seen: list[int] = []

    class Part:
        @property
        def nbytes(self) -> int:
            seen.append(1)
            return 10

    cube = [[[Part() for _ in range(20)] for _ in range(20)] for _ in range(20)]
    assert bytes_of({"cube": cube}) == 20 * 20 * 20 * 10
    assert len(seen) < 200


def test_what_contains_itself_has_a_size() -> None:
    within: list[Any] = ["x" * 100]
    within.append(within)
    assert bytes_of(within) >= 100
