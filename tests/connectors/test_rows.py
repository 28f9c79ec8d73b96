"""Elements as rows: what sinks make of dictionaries, named tuples, the rows of Spark and others."""

from __future__ import annotations

import csv
import gc
import json
import sqlite3
import weakref
from collections import OrderedDict
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from io import StringIO
from itertools import permutations
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import duckdb
import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Flow, collect_undelivered
from penstock.connectors import (
    Writer,
    write_csv,
    write_delta,
    write_duckdb,
    write_json_lines,
    write_parquet,
    write_sqlite,
)
from penstock.connectors.files.csv_files import CsvText
from penstock.connectors.shared.arrow_rows import RowGroup
from penstock.connectors.shared.formats import json_text
from penstock.connectors.shared.rows import RowValues
from penstock.delivery import Epoch
from penstock.spark.egress.rows import RowReader, row_type
from penstock.spark.ingest.conversion import Converter
from tests.spark.values import SCHEMAS, elements

PATIENCE = 60
COLUMNS = ("id", "origin", "from")
"""The last one cannot be an attribute."""

AsElement = Callable[[dict[str, Any]], Any]


class Turned(NamedTuple):
    """Has its values in another order."""

    origin: str
    other: str
    id: int


class Renaming(Turned):
    """Says by itself what it has."""

    def _asdict(self) -> dict[str, Any]:
        return {"from": self.other, "id": self.id, "origin": self.origin}


def row_of_spark(named: dict[str, Any]) -> Any:
    return row_type(tuple(named))._make(named.values())


def turned_row_of_spark(named: dict[str, Any]) -> Any:
    return row_of_spark(dict(reversed(named.items())))


KINDS: dict[str, AsElement] = {
    "dictionary": dict,
    "turned dictionary": lambda named: dict(reversed(named.items())),
    "ordered dictionary": OrderedDict,
    "view": MappingProxyType,
    "row of Spark": row_of_spark,
    "turned row of Spark": turned_row_of_spark,
    "named by itself": lambda named: Renaming(named["origin"], named["from"], named["id"]),
    "tuple": lambda named: tuple(named.values()),
    "list": lambda named: [*named.values()],
}


def flight(number: int) -> dict[str, Any]:
    return {"id": number, "origin": f"JFK {number % 7}", "from": "é" * (number % 3)}


@given(st.lists(st.sampled_from([*KINDS]), min_size=1, max_size=40), st.permutations(COLUMNS))
def test_all_elements_with_the_columns_give_the_same_values(
    kinds: list[str], columns: list[str]
) -> None:
    values = RowValues("sink", columns)
    flights = [flight(number) for number in range(len(kinds))]
    given_elements = [
        KINDS[kind](each if kind not in ("tuple", "list") else {c: each[c] for c in columns})
        for kind, each in zip(kinds, flights, strict=True)
    ]
    expected = [tuple(each[column] for column in columns) for each in flights]
    assert [tuple(values(each)) for each in given_elements] == expected
    assert values.of_all(given_elements) in (None, expected)
    by_column = values.columns_of(given_elements)
    assert by_column is None or [*zip(*by_column, strict=True)] == expected


@pytest.mark.parametrize("kind", ["dictionary", "row of Spark", "turned row of Spark"])
def test_many_of_one_class_are_taken_at_once(kind: str) -> None:
    values = RowValues("sink", COLUMNS)
    flights = [flight(number) for number in range(9)]
    given_elements = [*map(KINDS[kind], flights)]
    assert values.of_all(given_elements) == [tuple(each.values()) for each in flights]
    assert values.columns_of(given_elements) == [
        [each[column] for each in flights] for column in COLUMNS
    ]


@pytest.mark.parametrize("kind", [dict, row_of_spark])
def test_one_column_is_a_row_too(kind: AsElement) -> None:
    values = RowValues("sink", ["n"])
    assert tuple(values(kind({"n": "abc"}))) == ("abc",)
    assert tuple(values(kind({"n": "abc"}))) == ("abc",)
    assert values.of_all([kind({"n": "abc"})]) == [("abc",)]


def strangers() -> list[Any]:
    """Elements that have other columns than those of ``COLUMNS``."""
    less, more = {"id": 1, "origin": "JFK"}, {**flight(1), "late": True}
    other = {"id": 1, "origin": "JFK", "to": "LGA"}
    named = [kind(each) for kind in (dict, row_of_spark) for each in (less, more, other)]
    return [*named, (1, 2), [1, 2, 3, 4], Turned("JFK", "LGA", 1), 7, "abc", None, {"id"}]


@pytest.mark.parametrize("stranger", strangers(), ids=repr)
@pytest.mark.parametrize("before", [dict, row_of_spark])
def test_an_element_with_other_columns_is_refused_after_any(
    before: AsElement, stranger: Any
) -> None:
    values = RowValues("sink", COLUMNS)
    for number in range(3):
        values(before(flight(number)))
    with pytest.raises(ValueError, match=r"^sink: (the columns are|an element has) id, origin"):
        values(stranger)
    assert [*values(before(flight(3)))] == [*flight(3).values()]


def test_a_class_is_not_remembered_for_ever() -> None:
    values = RowValues("sink", COLUMNS)
    kinds: list[weakref.ref[type]] = []
    for number in range(200):
        kind = type("Row", (row_type(COLUMNS),), {})
        kinds.append(weakref.ref(kind))
        assert [*values(kind(*flight(number).values()))] == [*flight(number).values()]
    del kind
    gc.collect()
    assert sum(each() is not None for each in kinds) <= 32


def test_a_row_with_two_columns_of_one_name_is_refused() -> None:
    row = row_type(("id", "origin", "id"))(1, "JFK", 2)
    with pytest.raises(ValueError, match=r"^a row has two columns called 'id'; give one of them"):
        row._asdict()
    with pytest.raises(ValueError, match=r"two columns called 'id'"):
        RowValues("sink", ("id", "origin"))(row)
    with pytest.raises(ValueError, match=r"two columns called 'id'"):
        json_text({"both": [row]})


@dataclass(frozen=True)
class Store:
    """A sink, and its rows as another program finds them."""

    sink: Callable[[Path], Writer]
    rows: Callable[[Path], list[tuple[Any, ...]]]


def of_sqlite(path: Path) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(path)) as database:
        return database.execute('SELECT id, origin, "from" FROM t ORDER BY rowid').fetchall()


def of_duckdb(path: Path) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(path)) as database:
        return database.execute('SELECT id, origin, "from" FROM t').fetchall()


def of_parquet(path: Path) -> list[tuple[Any, ...]]:
    files = sorted(path.glob("*.parquet"))
    return [
        tuple(row[name] for name in COLUMNS)
        for file in files
        for row in pyarrow.parquet.read_table(file).to_pylist()
    ]


def of_csv(path: Path) -> list[tuple[Any, ...]]:
    with path.open(newline="", encoding="utf-8") as file:
        return [(int(row["id"]), row["origin"], row["from"]) for row in csv.DictReader(file)]


def of_json(path: Path) -> list[tuple[Any, ...]]:
    return [tuple(map(json.loads(line).get, COLUMNS)) for line in path.read_text().splitlines()]


STORES = {
    "sqlite": Store(lambda path: write_sqlite(path, "t"), of_sqlite),
    "duckdb": Store(lambda path: write_duckdb(path, "t"), of_duckdb),
    "parquet": Store(write_parquet, of_parquet),
    "csv": Store(lambda path: write_csv(path, columns=COLUMNS), of_csv),
    "json": Store(write_json_lines, of_json),
}


def batches_of(count: int) -> list[list[Any]]:
    """Each kind by itself, then all orders of three, then each element of another one."""
    named = [kind for name, kind in KINDS.items() if name not in ("tuple", "list")]
    numbers = iter(range(count))

    def some(kinds: list[AsElement], size: int) -> list[Any]:
        return [kinds[place % len(kinds)](flight(next(numbers))) for place in range(size)]

    batches = [some([kind], 700) for kind in named]
    batches += [some([*three], 7) for three in permutations(named, 3)]
    return [*batches, some(named, count - sum(map(len, batches)))]


@pytest.mark.parametrize("in_batches", [True, False], ids=["batches", "one by one"])
@pytest.mark.parametrize("store", [*STORES])
def test_a_store_has_the_rows_of_all_kinds_in_their_order(
    store: str, in_batches: bool, tmp_path: Path
) -> None:
    count = 7_000
    path = tmp_path / "flights"
    writer = STORES[store].sink(path)
    if in_batches:
        writer.sink.open(Epoch.begun())
        for number, batch in enumerate(batches_of(count)):
            assert writer.sink.begin(number)
            for element in batch:
                writer.sink(element)
            writer.sink.commit(number)
        writer.sink.close()
    else:
        given_elements = [element for batch in batches_of(count) for element in batch]
        Flow.from_iterable(given_elements).subscribe(writer)
        assert writer.wait(PATIENCE)
        assert writer.error is None
    expected = [tuple(flight(number).values()) for number in range(count)]
    assert STORES[store].rows(path) == expected


class Place(NamedTuple):
    city: str
    gate: int | None


@dataclass
class Leg:
    start: Place
    stops: list[Place]


LEG: dict[str, Any] = {
    "start": {"city": "NYC", "gate": 7},
    "stops": [{"city": "ORD", "gate": None}],
}


@pytest.mark.parametrize(
    "element",
    [
        {"start": Place("NYC", 7), "stops": [Place("ORD", None)]},
        Leg(Place("NYC", 7), [Place("ORD", None)]),
        row_of_spark({"start": Place("NYC", 7), "stops": [row_of_spark(LEG["stops"][0])]}),
        MappingProxyType({"start": MappingProxyType(LEG["start"]), "stops": (Place("ORD", None),)}),
    ],
    ids=["dictionary", "dataclass", "row of Spark", "view"],
)
def test_json_has_the_names_of_what_is_inside(element: Any) -> None:
    assert json.loads(json_text(element)) == LEG
    assert json.loads(json_text([element, {"deeper": (element,)}])) == [LEG, {"deeper": [LEG]}]


def test_what_json_does_not_have_is_refused_wherever_it_is() -> None:
    within: list[Any] = []
    within.append(within)
    with pytest.raises(ValueError, match="nested too deeply"):
        json_text({"a": within})
    with pytest.raises(ValueError, match="has no form in JSON"):
        json_text({"a": Place("NYC", float("nan"))})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"NYC.* has no form in JSON: make .* of its bytes first"):
        json_text({"a": [Place("NYC", b"7")]})  # type: ignore[arg-type]
    noon = datetime(2013, 2, 8, 12, tzinfo=UTC)
    assert json_text([{"at": {"noon": noon}}]) == '[{"at": {"noon": "2013-02-08T12:00:00+00:00"}}]'


@given(st.data())
def test_the_rows_of_a_batch_are_the_batch_again(data: st.DataObject) -> None:
    schema = data.draw(SCHEMAS)
    given_elements = data.draw(st.lists(elements(schema), min_size=1, max_size=5))
    batch, dead_letters = Converter(schema).convert(given_elements)
    assert dead_letters == []
    group = RowGroup("sink", schema.arrow)
    for row in RowReader(batch.schema).rows(batch):
        group.add(row)
    assert group.take().combine_chunks().equals(pyarrow.Table.from_batches([batch]))


def window(minute: int, **more: Any) -> Any:
    """As Spark has the column of a window, in an order of its own if it has more."""
    start = datetime(2013, 2, 8, 12, minute)
    return row_of_spark({**more, "start": start, "end": start.replace(second=59)})


STRUCTS = [{"window": window(minute), "all": [window(minute)]} for minute in range(50)]
AS_DICTIONARIES = [
    {"window": each["window"]._asdict(), "all": [each["window"]._asdict()]} for each in STRUCTS
]


@pytest.mark.parametrize(
    "value", [b"7", bytearray(b"7"), [1], (1, 2), {"a": 1}, {1}, Place("NYC", 7), LEG], ids=repr
)
@pytest.mark.parametrize("kind", [dict, row_of_spark])
def test_what_has_no_form_in_csv_is_refused_after_what_has(
    kind: AsElement, value: Any, tmp_path: Path
) -> None:
    writer = write_csv(tmp_path / "flights", ["id", "at"])
    with collect_undelivered():
        Flow.of(
            *(kind({"id": number, "at": at}) for number, at in ((1, "a"), (2, value)))
        ).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert str(writer.error).startswith("write_csv: at is ")
    assert "has no form in CSV" in str(writer.error)
    assert (tmp_path / "flights").read_text().splitlines() == ["id,at", "1,a"]


@pytest.mark.parametrize(
    ("value", "error"),
    [("\ud800", UnicodeEncodeError), (10**5000, ValueError)],
    ids=["no UTF-8", "too many digits"],
)
@pytest.mark.parametrize("kind", [dict, row_of_spark])
def test_the_rows_before_one_that_has_no_text_are_written(
    kind: AsElement, value: Any, error: type[Exception], tmp_path: Path
) -> None:
    writer = write_csv(tmp_path / "flights", ["id", "at"])
    with collect_undelivered():
        rows = (kind({"id": number, "at": at}) for number, at in ((1, "é"), (2, value), (3, "c")))
        Flow.of(*rows).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert type(writer.error) is error
    assert (tmp_path / "flights").read_text(encoding="utf-8").splitlines() == ["id,at", "1,é"]


@pytest.mark.parametrize(
    "wrong", [{"n": 9, "t": 7}, {"n": "nine", "t": 7}, {"m": 9, "t": "x"}], ids=repr
)
@pytest.mark.parametrize("before", [5, 700])
@pytest.mark.parametrize("together", [True, False], ids=["together", "one by one"])
@pytest.mark.parametrize("store", ["parquet", "delta"])
def test_the_rows_before_one_that_does_not_fit_are_stored(
    store: str, together: bool, before: int, wrong: Any, tmp_path: Path
) -> None:
    rows: list[Any] = [{"n": number, "t": "x"} for number in range(before)]
    schema = pyarrow.schema([("n", pyarrow.int64()), ("t", pyarrow.string())])
    make: Any = {"parquet": write_parquet, "delta": write_delta}[store]
    sink = make(str(tmp_path / "flights"), schema=schema).sink
    sink.open(None)
    with pytest.raises(ValueError, match=r"cannot be .* schema= says|an element has m, t"):
        give(sink, [*rows, wrong, {"n": "later", "t": "x"}], together=together)
    sink.close()
    assert pyarrow.parquet.read_table(tmp_path / "flights").to_pylist() == rows


def give(sink: Any, elements: list[Any], *, together: bool) -> None:
    """As a ``Writer`` does, or a pipeline without Spark."""
    try:
        if together:
            sink.give_all(elements)
        else:
            for element in elements:
                sink(element)
    finally:
        sink.close()


@given(
    st.lists(
        st.lists(st.none() | st.text() | st.integers() | st.dates(), min_size=2, max_size=2),
        min_size=1,
    )
)
def test_lines_of_many_are_those_of_each(rows: list[list[Any]]) -> None:
    text = CsvText(["a", "b"])
    elements = [row_type(("a", "b"))._make(row) for row in rows]
    expected = StringIO(newline="")
    csv.writer(expected).writerows(rows)
    assert text.lines(elements) == expected.getvalue()
    assert "".join(f"{text.line(each)}\r\n" for each in elements) == expected.getvalue()


@pytest.mark.parametrize("kind", [dict, row_of_spark])
def test_structs_keep_their_names_in_a_store(kind: AsElement, tmp_path: Path) -> None:
    rows = [*map(kind, STRUCTS)]
    writers = {
        "parquet": write_parquet(tmp_path / "parquet"),
        "delta": write_delta(str(tmp_path / "delta")),
        "duckdb": write_duckdb(tmp_path / "duckdb", "t"),
    }
    for writer in writers.values():
        Flow.from_iterable(rows).subscribe(writer)
        assert writer.wait(PATIENCE)
        assert writer.error is None
    with duckdb.connect(str(tmp_path / "duckdb")) as database:
        names = ["window", "all"]
        found = database.execute('SELECT "window", "all" FROM t').fetchall()
    assert [dict(zip(names, row, strict=True)) for row in found] == AS_DICTIONARIES
    for place in ("parquet", "delta"):
        table = pyarrow.parquet.read_table(tmp_path / place, partitioning=None)
        stored = [json.loads(json_text(row), object_hook=without_zone) for row in table.to_pylist()]
        assert stored == [json.loads(json_text(each)) for each in AS_DICTIONARIES]


def without_zone(named: dict[str, Any]) -> dict[str, Any]:
    """Delta has no times without a zone that all of its readers know."""
    return {
        name: each.removesuffix("+00:00") if isinstance(each, str) else each
        for name, each in named.items()
    }


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (
            {"window": window(1, late=True), "all": []},
            "a Row has the fields late, start, end, and the schema start, end",
        ),
        (
            {"window": window(1), "all": [window(1, late=True)]},
            "all.element: a Row has the fields late, start, end, and the schema start, end",
        ),
        ({"window": {"start": None, "late": None}, "all": []}, "the schema has no field 'late'"),
    ],
    ids=["struct", "list", "None"],
)
@pytest.mark.parametrize("store", ["parquet", "delta", "duckdb"])
def test_a_field_that_a_struct_does_not_have_is_refused(
    store: str, later: Any, words: str, tmp_path: Path
) -> None:
    writer = {
        "parquet": write_parquet(tmp_path / "flights", file_rows=1),
        "delta": write_delta(str(tmp_path / "flights"), commit_rows=1),
        "duckdb": write_duckdb(tmp_path / "flights", "t", commit_rows=1),
    }[store]
    with collect_undelivered():
        Flow.of(STRUCTS[0], later).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert words in str(writer.error)


def test_the_places_of_the_fields_of_a_struct_do_not_matter(tmp_path: Path) -> None:
    turned = row_of_spark({"end": STRUCTS[1]["window"].end, "start": STRUCTS[1]["window"].start})
    writer = write_parquet(tmp_path / "flights", file_rows=1)
    Flow.of({"window": STRUCTS[0]["window"]}, {"window": turned}).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None
    found = pyarrow.parquet.read_table(tmp_path / "flights").to_pylist()
    assert [each["window"] for each in found] == [each["window"] for each in AS_DICTIONARIES[:2]]
