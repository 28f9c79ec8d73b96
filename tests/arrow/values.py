"""Types of Arrow and values of Python, and whether two values are the same."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, timezone
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

__all__ = ["KINDS", "LATE", "LEAVES", "VALUES", "is_same"]

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
