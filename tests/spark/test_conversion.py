"""Values cross into Arrow and come back as they were, and what does not fit is found."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict, namedtuple
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.egress.rows import RowReader
from penstock.spark.ingest.conversion import Converter, SchemaMismatch
from penstock.spark.ingest.schema import Schema
from tests.spark.values import SCHEMAS, as_row, elements

FLIGHTS = Schema.of("flight long, origin string, delay double")
NamedFlight = namedtuple("NamedFlight", "flight origin delay")
TurnedFlight = namedtuple("TurnedFlight", "delay origin flight")
Stranger = namedtuple("Stranger", "flight origin late")


@dataclass
class Flight:
    delay: float
    flight: int
    origin: str


@dataclass
class Place:
    city: str
    gate: int | None


def converted(schema: str | Schema, *given_elements: Any) -> pa.RecordBatch:
    """The batch of elements that all fit."""
    batch, dead_letters = Converter(Schema.of(schema)).convert(given_elements)
    assert dead_letters == []
    return batch


def back(batch: pa.RecordBatch) -> list[Any]:
    return list(RowReader(batch.schema).rows(batch))


def there_and_back(kind: str, value: object) -> Any:
    ((returned,),) = back(converted(f"a {kind}", (value,)))
    return returned


@given(st.data())
def test_values_of_every_type_come_back_as_they_were(data: st.DataObject) -> None:
    schema = data.draw(SCHEMAS)
    given_elements = data.draw(st.lists(elements(schema), max_size=5))
    batch = converted(schema, *given_elements)
    batch.validate(full=True)
    assert batch.schema.equals(schema.arrow)
    whole = pa.struct(list(schema.arrow))
    assert back(batch) == [as_row(element, whole) for element in given_elements]


@given(st.data())
def test_a_part_of_a_batch_has_the_rows_of_that_part(data: st.DataObject) -> None:
    schema = data.draw(SCHEMAS)
    batch = converted(schema, *data.draw(st.lists(elements(schema), min_size=3, max_size=6)))
    assert back(batch.slice(1, 2)) == back(batch)[1:3]


@given(st.data())
def test_rows_can_be_elements_again(data: st.DataObject) -> None:
    schema = data.draw(SCHEMAS)
    batch = converted(schema, *data.draw(st.lists(elements(schema), max_size=4)))
    assert converted(schema, *back(batch)).equals(batch)


@pytest.mark.parametrize(
    "element",
    [
        (7, "JFK", 2.5),
        [7, "JFK", 2.5],
        {"flight": 7, "origin": "JFK", "delay": 2.5},
        OrderedDict(origin="JFK", delay=2.5, flight=7),
        MappingProxyType({"flight": 7, "origin": "JFK", "delay": 2.5}),
        NamedFlight(7, "JFK", 2.5),
        TurnedFlight(2.5, "JFK", 7),
        Flight(2.5, 7, "JFK"),
        (np.int32(7), np.str_("JFK"), np.float64(2.5)),
    ],
    ids=[
        "tuple",
        "list",
        "dict",
        "ordered",
        "proxy",
        "named",
        "turned",
        "dataclass",
        "numpy",
    ],
)
def test_elements_of_every_kind_have_fields(element: Any) -> None:
    assert back(converted(FLIGHTS, element, element)) == [(7, "JFK", 2.5)] * 2


def test_elements_of_several_kinds_can_be_mixed() -> None:
    batch = converted(FLIGHTS, (1, "JFK", 0.5), Flight(1.5, 2, "LGA"), {"flight": 3})
    assert back(batch) == [(1, "JFK", 0.5), (2, "LGA", 1.5), (3, None, None)]


def test_nested_values_of_every_kind_have_fields() -> None:
    schema = "place struct<city: string, gate: int>"
    batch = converted(schema, (Place("Rome", None),), ({"city": "Oslo"},), (("Bonn", 3),), (None,))
    assert back(batch) == [(("Rome", None),), (("Oslo", None),), (("Bonn", 3),), (None,)]
    assert back(batch)[2].place.gate == 3


def test_no_elements_make_an_empty_batch() -> None:
    assert converted(FLIGHTS).num_rows == 0
    assert converted(FLIGHTS).schema.equals(FLIGHTS.arrow)


def test_a_datetime_without_a_zone_is_taken_as_utc() -> None:
    assert there_and_back("timestamp", datetime(2013, 1, 1, 5)) == datetime(
        2013, 1, 1, 5, tzinfo=UTC
    )


def test_a_map_may_come_as_arrow_itself_gives_one() -> None:
    assert there_and_back("map<string,int>", [("x", 1), ("y", None)]) == {"x": 1, "y": None}


def test_a_timestamp_comes_back_in_utc() -> None:
    paris = datetime(2013, 1, 1, 5, tzinfo=timezone(timedelta(hours=1)))
    returned = there_and_back("timestamp", paris)
    assert (returned, returned.tzinfo) == (paris, UTC)


def test_what_is_no_number_stays_none() -> None:
    returned = there_and_back("double", float("nan"))
    assert returned != returned


ZONED = datetime(2013, 1, 1, tzinfo=UTC)
UNFIT: list[tuple[str, Any, str, str]] = [
    ("long", 1.5, "a", "it is of type float, and needs to be long"),
    ("long", 1.0, "a", "type float"),
    ("long", Decimal("1.5"), "a", "type Decimal"),
    ("long", True, "a", "type bool"),
    ("long", "1", "a", "type str"),
    ("long", 2**63, "a", "too large"),
    ("byte", 128, "a", "too large"),
    ("double", "x", "a", "type str"),
    ("float", 1e300, "a", "it is too large, and needs to be float"),
    ("double", 2**60 + 1, "a", "outside of the range"),
    ("boolean", 1, "a", "type int"),
    ("string", 1, "a", "type int"),
    ("string", b"x", "a", "type bytes"),
    ("string", "\ud800", "a", "surrogates not allowed"),
    ("binary", "x", "a", "type str"),
    ("decimal(4,1)", Decimal("1.23"), "a", "data loss"),
    ("decimal(4,1)", Decimal(1234), "a", "precision"),
    ("decimal(4,1)", Decimal("Infinity"), "a", "not a valid"),
    ("decimal(4,1)", 1.5, "a", "type float"),
    ("date", datetime(2013, 1, 1, 5), "a", "type datetime"),
    ("timestamp", date(2013, 1, 1), "a", "type date"),
    ("timestamp", 5, "a", "type int"),
    ("timestamp_ntz", ZONED, "a", "it has a time zone"),
    ("interval day to second", 5, "a", "type int"),
    ("array<string>", "abc", "a", "it is of type str, and needs to be an array"),
    ("array<int>", {1, 2}, "a", "type set"),
    ("array<int>", [1, "2"], "a.element", "type str"),
    ("map<string,int>", ["x", 1], "a", "it is of type list, and needs to be a map"),
    ("map<string,int>", [("x", 1), ("x", 2)], "a", "the key 'x' comes twice"),
    ("map<string,int>", {1: 1}, "a.key", "type int"),
    ("map<string,int>", {None: 1}, "a.key", "there is no value, and the field is NOT NULL"),
    ("map<string,int>", {"x": 1.5}, "a.value", "type float"),
    ("struct<b: int>", {"c": 1}, "a", "the schema has no field 'c'"),
    ("struct<b: int>", (1, 2), "a", "the number of values is 2, of fields 1"),
    ("struct<b: int>", {"b": "x"}, "a.b", "type str"),
    ("struct<b: int NOT NULL>", {}, "a.b", "NOT NULL"),
    ("struct<b: int>", 5, "a", "it is of type int, and needs to be a mapping"),
    ("int NOT NULL", None, "a", "there is no value, and the field is NOT NULL"),
]


@pytest.mark.parametrize(("kind", "value", "field", "reason"), UNFIT)
def test_a_value_that_would_not_come_back_does_not_fit(
    kind: str, value: Any, field: str, reason: str
) -> None:
    batch, (dead_letter,) = Converter(Schema.of(f"a {kind}")).convert([(value,)])
    assert batch.num_rows == 0
    assert (dead_letter.position, dead_letter.element, dead_letter.field) == (0, (value,), field)
    assert dead_letter.value == value
    assert reason in dead_letter.reason


@pytest.mark.parametrize(
    ("element", "reason"),
    [
        ((1, "JFK"), "the number of values is 2, of fields 3"),
        ({"flight": 1, "orign": "JFK"}, "the schema has no field 'orign'"),
        ({"flight": 1, "origin": "JFK", "delay": 1.0, "late": 1}, "the schema has no field 'late'"),
        (MappingProxyType({"late": 1}), "the schema has no field 'late'"),
        (Stranger(1, "JFK", 1.0), "a Stranger has the fields flight, origin, late, and the schema"),
        (Place("Rome", 1), "a Place has the fields city, gate, and the schema flight, origin"),
        (5, "it is of type int, and needs to be a mapping, a tuple or a dataclass"),
        ("JFK", "type str"),
        (Flight, "type type"),
    ],
)
def test_an_element_with_other_fields_does_not_fit(element: Any, reason: str) -> None:
    batch, (dead_letter,) = Converter(FLIGHTS).convert([element])
    assert batch.num_rows == 0
    assert (dead_letter.position, dead_letter.element, dead_letter.field, dead_letter.value) == (
        0, element, "", element,
    )  # fmt: skip
    assert reason in dead_letter.reason


WRONG: list[Any] = [
    (1.5, "JFK", 0.5), (1, "JFK", "late"), ("x", b"y", "z"), (1,), {"a": 1}, 7, None,
]  # fmt: skip


@given(st.lists(st.sampled_from([*WRONG, "right"]), max_size=200))
def test_among_many_elements_exactly_those_that_do_not_fit_are_left_out(chosen: list[Any]) -> None:
    given_elements = [
        (place, f"s{place}", place / 2) if each == "right" else each
        for place, each in enumerate(chosen)
    ]
    batch, dead_letters = Converter(FLIGHTS).convert(given_elements)
    right = [place for place, each in enumerate(chosen) if each == "right"]
    assert back(batch) == [(place, f"s{place}", place / 2) for place in right]
    assert [dead_letter.position for dead_letter in dead_letters] == sorted(
        {*range(len(chosen))} - {*right}
    )
    assert all(given_elements[each.position] is each.element for each in dead_letters)


def test_a_misfit_says_what_is_wrong_in_one_sentence() -> None:
    _, (dead_letter,) = Converter(FLIGHTS).convert([(1, "JFK", "late")])
    sentence = (
        "'late' in field 'delay' does not fit the schema: it is of type str, and needs to be double"
    )
    assert str(dead_letter) == sentence
    assert isinstance(dead_letter.error(), SchemaMismatch)
    assert str(dead_letter.error()) == sentence


def test_a_misfit_in_all_of_its_fields_names_the_first() -> None:
    _, (dead_letter,) = Converter(FLIGHTS).convert([("x", 1, "y")])
    assert dead_letter.field == "flight"


# Elements that are columns already.


def test_a_batch_of_the_schema_is_kept_as_it_is() -> None:
    batch = converted(FLIGHTS, (1, "JFK", 0.5))
    assert converted(FLIGHTS, batch) is batch


def test_columns_are_found_by_name_and_cast_to_the_schema() -> None:
    table = pa.table(
        {
            "delay": pa.array([1, 2], pa.int8()),
            "origin": pa.array(["JFK", None]).dictionary_encode(),
            "flight": pa.array([1.0, 2.0]),
        }
    )
    assert back(converted(FLIGHTS, table)) == [(1, "JFK", 1.0), (2, None, 2.0)]


def test_batches_tables_and_rows_keep_their_sequence() -> None:
    first = converted(FLIGHTS, (1, "a", 0.0), (2, "b", 0.0))
    second = pa.Table.from_batches([converted(FLIGHTS, (4, "d", 0.0)), first])
    batch, dead_letters = Converter(FLIGHTS).convert([first, (3, "c", 0.0), 9, second, 9])
    assert [row.flight for row in back(batch)] == [1, 2, 3, 4, 1, 2]
    assert [dead_letter.position for dead_letter in dead_letters] == [2, 4]


@pytest.mark.parametrize(
    ("schema", "columns", "field", "reason"),
    [
        ("a int", {"b": pa.array([1])}, "", "the columns are b, and those of the schema a"),
        ("a int", {"a": pa.array([1.5])}, "a", "truncated"),
        ("a int", {"a": pa.array(["1"])}, "a", "it is of type string, and needs to be int"),
        ("a int NOT NULL", {"a": pa.array([1, None])}, "a", "NOT NULL"),
        (
            "a struct<b: int NOT NULL>",
            {"a": pa.array([{"b": None}], pa.struct([("b", pa.int32())]))},
            "a",
            "null",
        ),
    ],
)
def test_columns_that_do_not_fit_are_refused_as_a_whole(
    schema: str, columns: Mapping[str, pa.Array], field: str, reason: str
) -> None:
    element = pa.record_batch(columns)
    batch, (dead_letter,) = Converter(Schema.of(schema)).convert([element])
    assert batch.num_rows == 0
    assert (dead_letter.position, dead_letter.element, dead_letter.field) == (0, element, field)
    assert reason in dead_letter.reason


def test_a_null_within_columns_is_refused_where_there_must_be_none() -> None:
    schema = Schema.of("a struct<b: array<struct<c: int NOT NULL>>>")
    kind = schema.arrow.field("a").type
    inner = kind.field("b").type.value_type
    hidden = pa.StructArray.from_arrays([pa.array([1, None], pa.int32())], fields=list(inner))
    lists = pa.ListArray.from_arrays(
        pa.array([0, 2], pa.int32()), hidden, type=kind.field("b").type
    )
    element = pa.RecordBatch.from_arrays(
        [pa.StructArray.from_arrays([lists], fields=list(kind))], schema=schema.arrow
    )
    _, (dead_letter,) = Converter(schema).convert([element])
    assert (dead_letter.field, "NOT NULL" in dead_letter.reason) == ("a.b.element.c", True)


# Rows.


def test_a_row_has_its_fields_as_attributes() -> None:
    (row,) = back(converted(FLIGHTS, (7, "JFK", 2.5)))
    assert (row.flight, row.origin, row.delay) == (7, "JFK", 2.5)
    assert repr(row) == "Row(flight=7, origin='JFK', delay=2.5)"
    assert row._replace(flight=8) == (8, "JFK", 2.5)


def test_names_that_cannot_be_attributes_are_reached_by_place() -> None:
    (row,) = back(converted("`count(1)` long, class string, ok int", (7, "x", 1)))
    assert (row._0, row._1, row.ok) == (7, "x", 1)
    assert row._asdict() == {"count(1)": 7, "class": "x", "ok": 1}


@pytest.mark.parametrize(
    "names",
    [
        ("fi", "\ufb01"),  # the same for Python, once they stand in code
        ("\uff34\uff52\uff55\uff45", "\uff49\uff46"),
        ("__debug__", "\uff3f\uff3fdebug\uff3f\uff3f"),
        ("a=print(1)", "b\nprint(1)"),
        ("a`", "{b}"),
        ("__import__('os')", "lambda"),
    ],
)
def test_columns_may_be_called_anything(names: tuple[str, str]) -> None:
    schema = Schema.of(pa.schema([(name, pa.int64()) for name in names]))
    assert Schema.of(schema.ddl) == schema
    batch = pa.record_batch([[1], [2]], schema=schema.arrow)
    row: Any = next(RowReader(batch.schema).rows(batch))
    assert row == (1, 2)
    assert row._asdict() == dict(zip(names, (1, 2), strict=True))
    assert pickle.loads(pickle.dumps(row)) == row


def test_rows_can_be_pickled_and_copied() -> None:
    (row,) = back(converted("a int, place struct<city: string, `the gate`: int>", (1, ("x", 2))))
    for other in (pickle.loads(pickle.dumps(row)), copy.deepcopy(row)):
        assert other == row
        assert type(other) is type(row)
        assert other.place.city == "x"


def test_a_batch_without_columns_has_rows_without_values() -> None:
    batch = pa.RecordBatch.from_struct_array(pa.array([{}, {}], pa.struct([])))
    assert back(batch) == [(), ()]


@pytest.mark.parametrize(
    "kind", [pa.timestamp("us"), pa.timestamp("us", tz="UTC"), pa.date32()], ids=str
)
@pytest.mark.parametrize("number", [-(10**8), 10**8])
def test_a_time_that_python_cannot_hold_is_an_error_and_not_a_number(
    kind: pa.DataType, number: int
) -> None:
    moment = number if pa.types.is_date(kind) else number * 86_400_000_000
    integers = pa.int32() if pa.types.is_date(kind) else pa.int64()
    batch = pa.record_batch({"a": pa.array([None, moment], integers).view(kind)})
    with pytest.raises(ValueError, match="outside the years 1 to 9999.*take batches"):
        back(batch)
