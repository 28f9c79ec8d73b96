"""Columns of Arrow have the same values as another type, or are refused."""

from __future__ import annotations

import math
from contextlib import suppress
from datetime import UTC, date, time, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from penstock.arrow import Encoder, SchemaMismatch, cast_exactly
from tests.arrow.values import LATE, LEAVES, is_same

ZONED = LATE.replace(tzinfo=UTC)
PAIR = pa.struct({"a": pa.int8(), "b": pa.int8()})


def shown(given: Any) -> str:
    return repr(given.to_pylist() if isinstance(given, pa.Array) else given)


POOL: list[Any] = [
    True, -1, 0, 1, 300, 2**24 + 1, 2**53 + 1, 2**64 - 1, 0.5, 1.0, 0.1, 1e300, -math.inf,
    Decimal("1.00"), Decimal("1.25"), Decimal("9999999.99"), "a", "1", b"ab", b"\xff", UUID(int=7),
    LATE.date(), LATE, LATE.replace(microsecond=0), ZONED, ZONED.replace(microsecond=7000),
    time(1, 2, 3), time(1, 2, 3, 4), timedelta(seconds=7), timedelta(microseconds=7), None,
]  # fmt: skip


def arrays_of(kind: pa.DataType) -> list[pa.Array]:
    """One for each value that the type holds."""
    arrays = []
    for value in POOL:
        with suppress(SchemaMismatch):
            arrays.append(Encoder().encode([value], pa.field("a", kind), "a"))
    return arrays


@pytest.mark.parametrize("wrapped", [lambda kind: kind, pa.list_], ids=["leaf", "list"])
@pytest.mark.parametrize("first", LEAVES, ids=str)
def test_values_are_as_they_were_or_refused(first: pa.DataType, wrapped: Any) -> None:
    made = 0
    for array in arrays_of(first):
        column = array if wrapped is not pa.list_ else pa.ListArray.from_arrays([0, 1], array)
        for second in map(wrapped, LEAVES):
            try:
                cast = cast_exactly(column, second, "a")
            except SchemaMismatch:
                continue
            made += 1
            (before,), (after,) = column.to_pylist(), cast.to_pylist()
            assert is_same(before, after, second), (before, after, second)
    assert made >= len(arrays_of(first)) > 0  # its own type, at least


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        (pa.array([1.0, None]), pa.int8(), [1, None]),
        (pa.array([7]), pa.float32(), [7.0]),
        (pa.array([7]), pa.decimal128(5, 2), [Decimal("7.00")]),
        (pa.array([Decimal("7.00")]), pa.int16(), [7]),
        (pa.array([0.5, math.inf]), pa.float32(), [0.5, math.inf]),
        (pa.array(["a"]).dictionary_encode(), pa.large_string(), ["a"]),
        (pa.array(["a"]), pa.dictionary(pa.int8(), pa.string()), ["a"]),
        (pa.array([b"ab"]), pa.binary(2), [b"ab"]),
        (pa.array([date(2013, 2, 8)]), pa.date64(), [date(2013, 2, 8)]),
        (pa.array([LATE]), pa.timestamp("us", "UTC"), [ZONED]),
        (pa.array([ZONED]), pa.timestamp("ns", "Asia/Tokyo"), [ZONED]),
        (pa.array([time(1)]), pa.time32("s"), [time(1)]),
        (pa.array([timedelta(1)]), pa.duration("s"), [timedelta(1)]),
        (pa.array([[1.0, 2.0]]), pa.list_(pa.int8(), 2), [[1, 2]]),
        (pa.array([{"b": 1, "a": 2}]), PAIR, [{"a": 2, "b": 1}]),
        (pa.array([{"b": 1}]), PAIR, [{"a": None, "b": 1}]),
        (pa.nulls(1), pa.list_(pa.int8()), [None]),
    ],
    ids=shown,
)  # fmt: skip
def test_a_column_of_the_same_values_is_made(
    column: pa.Array, kind: pa.DataType, values: list[Any], chunked: bool
) -> None:
    given_column = pa.chunked_array([column, column]) if chunked else column
    cast = cast_exactly(given_column, kind, "a")
    assert cast.type == kind
    assert cast.to_pylist() == values * (1 + chunked)


@pytest.mark.parametrize(
    ("column", "kind", "words"),
    [
        (pa.array([1.5]), pa.int64(), "a: Float value 1.500000 was truncated"),
        (pa.array([300]), pa.int8(), "a: Integer value 300 not in range"),
        (pa.array([2**60 + 1]), pa.float64(), "a: Integer value 1152921504606846977 not in range"),
        (pa.array([1e300]), pa.float32(), "a: a value is too large, and needs to be float"),
        (pa.array([[1e300]]), pa.list_(pa.float32()), "a: a value is too large"),
        (pa.array([{"b": 1e300}]), pa.struct({"b": pa.float32()}), "a: a value is too large"),
        (pa.array([1.25]), pa.decimal128(5, 1), "a: it is of type double, and needs to be decimal"),
        (pa.array([Decimal("1.25")]), pa.decimal128(5, 1), "a: Rescaling Decimal value would"),
        (pa.array([Decimal("1.25")]), pa.float64(), "a: it is of type decimal128(3, 2), and needs"),
        (pa.array([2]), pa.bool_(), "a: it is of type int64, and needs to be bool"),
        (pa.array([True]), pa.int8(), "a: it is of type bool, and needs to be int8"),
        (pa.array(["5"]), pa.int8(), "a: it is of type string, and needs to be int8"),
        (pa.array([5]), pa.string(), "a: it is of type int64, and needs to be string"),
        (pa.array([b"a"]), pa.string(), "a: it is of type binary, and needs to be string"),
        (pa.array([LATE]), pa.date32(), "a: it is of type timestamp[us], and needs to be date32"),
        (pa.array([ZONED]), pa.timestamp("us"), "a: it is of type timestamp[us, tz=UTC], and"),
        (pa.array([LATE]), pa.timestamp("s"), "a: Casting from timestamp[us] to timestamp"),
        (pa.array([5]), pa.timestamp("us"), "a: it is of type int64, and needs to be time"),
        (pa.array([[ZONED]]), pa.list_(pa.timestamp("us")), "a.element: it is of type timestamp"),
        (pa.array([{"b": 1, "c": 2}]), PAIR, "a: the schema has no field 'c'"),
        (
            pa.array([[("k", True)]], pa.map_(pa.string(), pa.bool_())),
            pa.map_(pa.string(), pa.int8()),
            "a.value: it is of type bool, and needs to be int8",
        ),
    ],
    ids=shown,
)  # fmt: skip
def test_a_column_of_which_a_value_would_be_changed_is_refused(
    column: pa.Array, kind: pa.DataType, words: str
) -> None:
    for each in (column, pa.chunked_array([column])):
        with pytest.raises(SchemaMismatch) as caught:
            cast_exactly(each, kind, "a")
        assert str(caught.value).startswith(words)


def test_a_number_in_a_map_that_would_be_infinite_is_found_wherever_the_column_begins() -> None:
    small, large = pa.map_(pa.string(), pa.float32()), pa.map_(pa.string(), pa.float64())
    column = pa.array([[("a", 1e300)], None, [("a", 1.5), ("b", None)], [], [("c", 1e300)]], large)
    assert cast_exactly(column[1:4], small, "m").to_pylist() == column[1:4].to_pylist()
    for wrong in (
        column,
        column[:1],
        column[2:],
        column[4:],
        pa.chunked_array([column[1:], column]),
    ):
        with pytest.raises(SchemaMismatch, match="m: a value is too large"):
            cast_exactly(wrong, small, "m")


def test_an_integer_is_no_short_float() -> None:
    """Arrow rounds it, where it compares others."""
    with pytest.raises(SchemaMismatch, match="n: it is of type int16, and needs to be halffloat"):
        cast_exactly(pa.array([2049], pa.int16()), pa.float16(), "n")
