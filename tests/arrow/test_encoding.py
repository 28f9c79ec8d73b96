"""Values of Python are in a column of Arrow as they were, or are refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.arrow import Encoder, SchemaMismatch

ENCODER = Encoder()
ZONES = st.sampled_from([UTC, timezone(timedelta(hours=5, minutes=30))])
LATE = datetime(2013, 2, 8, 12, 0, 0, 5)
LEAVES = [
    pa.bool_(), pa.int8(), pa.uint16(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(),
    pa.float64(), pa.decimal128(9, 2), pa.decimal256(50, 4), pa.string(), pa.large_string(),
    pa.binary(), pa.large_binary(), pa.binary(2), pa.date32(), pa.date64(), pa.timestamp("s"),
    pa.timestamp("ms", "UTC"), pa.timestamp("us"), pa.timestamp("us", "Asia/Tokyo"),
    pa.timestamp("ns"), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.duration("s"),
    pa.duration("us"), pa.dictionary(pa.int32(), pa.string()), pa.uuid(),
]  # fmt: skip
KINDS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        inner.map(pa.list_)
        | inner.map(pa.large_list)
        | inner.map(lambda kind: pa.list_(kind, 2))
        | inner.map(lambda kind: pa.map_(pa.string(), kind))
        | inner.map(lambda kind: pa.struct([("a", kind), ("b", pa.int64())]))
    ),
    max_leaves=3,
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**66), 2**66)
    | st.integers(-3, 300)
    | st.floats(allow_nan=False)
    | st.sampled_from([0.0, 1.0, -2.5, 1e300])
    | st.decimals(allow_nan=False, allow_infinity=False, places=2, min_value=-99, max_value=99)
    | st.sampled_from(["", "a", "é", b"", b"ab", b"\xff", UUID(int=7)])
    | st.dates(min_value=date(1900, 1, 1), max_value=date(2100, 1, 1))
    | st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1))
    | st.datetimes(min_value=datetime(1900, 1, 1), max_value=datetime(2100, 1, 1), timezones=ZONES)
    | st.sampled_from([LATE, LATE.replace(microsecond=0), LATE.replace(tzinfo=UTC)])
    | st.times()
    | st.times(timezones=ZONES)
    | st.timedeltas(min_value=timedelta(-900), max_value=timedelta(900))
    | st.sampled_from([time(1, 2, 3), timedelta(seconds=9), np.float32(1.5), np.int16(7)])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.tuples(inner, inner)
        | st.fixed_dictionaries({"a": inner}, optional={"b": st.integers(0, 9), "c": inner})
        | st.dictionaries(st.text(max_size=1), inner, max_size=2)
    ),
    max_leaves=4,
)


def is_same(before: Any, after: Any, kind: pa.DataType) -> bool:
    """Whether what Arrow gives is what it was given, by what Python says of both."""
    types = pa.types
    if before is None or after is None:
        return before is after
    if types.is_struct(kind):
        named = before if isinstance(before, Mapping) else dict(zip(after, before, strict=True))
        return all(is_same(named.get(f.name), after[f.name], f.type) for f in kind) and (
            after.keys() >= named.keys()
        )
    if types.is_map(kind):
        pairs = before.items() if isinstance(before, Mapping) else before
        return [*dict(pairs)] == [key for key, _ in after] and all(
            is_same(item, kept, kind.item_type)
            for (_, item), (_, kept) in zip(pairs, after, strict=True)
        )
    if types.is_nested(kind):
        return len(before) == len(after) and all(
            is_same(a, b, kind.value_type) for a, b in zip(before, after, strict=True)
        )
    if types.is_timestamp(kind) and kind.tz is not None and before.tzinfo is None:
        before = before.replace(tzinfo=UTC)
    if types.is_floating(kind) and kind.bit_width < 64:
        return math.isclose(before, after, rel_tol=1e-6, abs_tol=1e-44)
    return isinstance(before, bool) == isinstance(after, bool) and bool(before == after)


@settings(max_examples=settings().max_examples * 5)  # of which one in ten is taken
@given(KINDS, st.lists(VALUES, min_size=1, max_size=3))
def test_values_are_as_they_were_or_refused(kind: pa.DataType, values: list[Any]) -> None:
    try:
        array = ENCODER.encode(values, pa.field("a", kind), "a")
    except SchemaMismatch:
        return
    array.validate(full=True)
    assert array.type == kind
    for before, after in zip(values, array.to_pylist(), strict=True):
        assert is_same(before, after, kind), (before, after)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.bool_(), True), (pa.bool_(), np.True_), (pa.int8(), -128), (pa.uint64(), 2**64 - 1),
        (pa.int64(), np.uint8(7)), (pa.float32(), 0.1), (pa.float32(), math.inf),
        (pa.float64(), 3), (pa.float64(), np.float32(2.5)), (pa.decimal128(4, 2), Decimal("1.5")),
        (pa.decimal128(4, 2), 7), (pa.string(), np.str_("a")), (pa.large_string(), "é"),
        (pa.dictionary(pa.int8(), pa.string()), "a"), (pa.binary(), bytearray(b"a")),
        (pa.binary(2), b"ab"), (pa.date32(), LATE.date()), (pa.timestamp("us"), LATE),
        (pa.timestamp("us", "UTC"), LATE.astimezone(UTC)),
        (pa.timestamp("s"), LATE.replace(microsecond=0)), (pa.timestamp("us"), pd.Timestamp(LATE)),
        (pa.time32("ms"), time(1, 2, 3, 4000)), (pa.time64("us"), time(1, 2, 3, 4)),
        (pa.duration("us"), timedelta(microseconds=1)), (pa.uuid(), UUID(int=7)),
        (pa.list_(pa.int64()), (1, 2)), (pa.list_(pa.float64(), 2), [1.0, 2.0]),
        (pa.list_(pa.float32()), np.array([1.5, 2.5])), (pa.list_(pa.int64()), np.array([1, 2])),
        (pa.list_(pa.float32(), 2), np.array([1.5, 2.5], "f4")),
        (pa.list_(pa.list_(pa.int64())), np.array([[1, 2], [3, 4]])),
        (pa.struct([]), {}),
        (pa.struct([("a", pa.int64())]), {"a": None}), (pa.map_(pa.string(), pa.int8()), {"a": 1}),
        (pa.month_day_nano_interval(), timedelta(days=1)), (pa.null(), None),
    ],
    ids=repr,
)  # fmt: skip
def test_a_type_takes_what_it_holds(kind: pa.DataType, value: Any) -> None:
    for values in ([value], [None, value, value]):
        array = ENCODER.encode(values, pa.field("a", kind), "a")
        assert len(array) == len(values)
        assert array.null_count == sum(each is None for each in values)


@pytest.mark.parametrize(
    ("kind", "value", "words"),
    [
        (pa.int64(), 1.5, "a: it is of type float, and needs to be int64"),
        (pa.int64(), Decimal(1), "a: it is of type Decimal, and needs to be int64"),
        (pa.int64(), np.float32(1), "a: it is of type float32, and needs to be int64"),
        (pa.float64(), True, "a: it is of type bool, and needs to be double"),
        (pa.float32(), 1e300, "a: it is too large, and needs to be float"),
        (pa.date32(), LATE, "a: it is of type datetime, and needs to be date32"),
        (pa.timestamp("us"), 5, "a: it is of type int, and needs to be timestamp"),
        (pa.timestamp("us"), LATE.replace(tzinfo=UTC), "a: it has a time zone, and needs to be"),
        (pa.timestamp("s"), LATE, "a: it has more than seconds, and needs to be timestamp"),
        (pa.timestamp("us"), pd.Timestamp(1), "a: it has nanoseconds, and needs to be timestamp"),
        (pa.time64("us"), time(1, tzinfo=UTC), "a: it has a time zone, and needs to be time64"),
        (pa.time32("ms"), time(1, 2, 3, 4), "a: it has more than milliseconds, and needs to be"),
        (pa.duration("s"), timedelta(microseconds=1), "a: it has more than seconds, and needs to"),
        (pa.duration("us"), pd.Timedelta(5, "ns"), "a: it has nanoseconds, and needs to be"),
        (pa.string(), b"a", "a: it is of type bytes, and needs to be string"),
        (pa.dictionary(pa.int8(), pa.string()), 1, "a: it is of type int, and needs to be dict"),
        (pa.list_(pa.string()), "ab", "a: it is of type str, and needs to be an array"),
        (pa.list_(pa.int8()), [1.5], "a.element: it is of type float, and needs to be int8"),
        (pa.list_(pa.int8()), np.array([1.5]), "a.element: it is of type float64, and needs"),
        (pa.list_(pa.int8()), np.array([300]), "a.element: Value 300 too large"),
        (pa.list_(pa.float32()), np.array([1e300]), "a.element: it is too large, and needs"),
        (pa.list_(pa.bool_()), np.array([1]), "a.element: it is of type int64, and needs"),
        (pa.list_(pa.int8(), 2), [1], "a: it has 1 elements, and needs 2"),
        (pa.map_(pa.string(), pa.int8()), {"x": 1.5}, "a.value: it is of type float"),
        (pa.struct([("b", pa.int8())]), {"b": 1.5}, "a.b: it is of type float"),
        (
            pa.struct([pa.field("b", pa.int8(), nullable=False)]),
            {"b": None},
            "a.b: there is no value, and the field is NOT NULL",
        ),
    ],
    ids=repr,
)
def test_what_would_be_changed_is_refused(kind: pa.DataType, value: Any, words: str) -> None:
    for values in ([value], [None, value]):
        with pytest.raises(SchemaMismatch) as caught:
            ENCODER.encode(values, pa.field("a", kind), "a")
        assert str(caught.value).startswith(words)
