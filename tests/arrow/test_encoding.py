"""Values of Python are in a column of Arrow as they were, or are refused."""

from __future__ import annotations

import math
from datetime import UTC, time, timedelta
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
from tests.arrow.values import KINDS, LATE, VALUES, is_same

ENCODER = Encoder()


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
        (pa.map_(pa.struct([("a", pa.int8())]), pa.int8()), [({"a": 1}, 2), ({"a": 2}, 3)]),
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
