"""Tables of Iceberg as sinks, read back by DuckDB, by the manifests, and by pyiceberg."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import itemgetter
from pathlib import Path
from traceback import format_exception
from typing import Any

import pyarrow
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
)
from pyiceberg.types import DateType, LongType, NestedField, StringType, TimestamptzType

from penstock import Flow
from penstock.connectors import Writer, read_iceberg, write_iceberg
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.delivery.lives import Checkpoint, lived, refused
from tests.connectors.flights import Departure, Flight
from tests.lake.iceberg import catalog_in, iceberg_rows, settings_in
from tests.lake.numbered import numbers

PATIENCE = 60
NAME = "lake.rows"


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = catalog_in(tmp_path)
    yield made
    made.close()


def written(writer: Writer, *elements: Any) -> None:
    Flow.of(*elements).subscribe(writer)
    assert writer.wait(PATIENCE)
    assert writer.error is None


def seen(catalog: Catalog) -> list[Any]:
    """Two readers agree on the rows, in any order."""
    rows = iceberg_rows(catalog)
    other = catalog.load_table(NAME).scan().to_arrow().to_pylist()
    assert sorted(map(repr, other)) == sorted(map(repr, rows))
    return rows


def test_rows_and_batches_become_one_table(catalog: Catalog, tmp_path: Path) -> None:
    schema = pyarrow.schema([("origin", pyarrow.string()), ("delay", pyarrow.float64())])
    batch = pyarrow.RecordBatch.from_pydict({"delay": [3.5], "origin": ["BOS"]})
    written(
        write_iceberg(settings_in(tmp_path), NAME, schema=schema),
        {"delay": 1, "origin": "JFK"},
        batch,
        Flight("EWR", None),
        pyarrow.table({"origin": ["SFO"], "delay": [4.0]}),
        Departure("LGA", 2.5),
        ("DCA", 5),
    )
    assert [tuple(row.values()) for row in seen(catalog)] == [
        ("JFK", 1.0), ("BOS", 3.5), ("EWR", None), ("SFO", 4.0), ("LGA", 2.5), ("DCA", 5.0),
    ]  # fmt: skip


TRANSFORMS = {
    "day": (TimestamptzType(), DayTransform(), [datetime(2013, 2, 8, 17, tzinfo=UTC), None]),
    "month": (DateType(), MonthTransform(), [date(2013, 2, 8), date(1960, 1, 1)]),
    "bucket": (LongType(), BucketTransform(4), [-7, 1 << 60]),
    "truncate": (StringType(), TruncateTransform(2), ["JFK", ""]),
    "identity": (StringType(), IdentityTransform(), ["a/b=c", "", None]),
}


@pytest.mark.parametrize(("kind", "transform", "values"), TRANSFORMS.values(), ids=TRANSFORMS)
def test_a_table_with_partitions_has_the_rows_as_they_are(
    catalog: Catalog, kind: Any, transform: Any, values: list[Any]
) -> None:
    partition = PartitionSpec(PartitionField(1, 1000, transform, "part"))
    fields = (NestedField(1, "v", kind), NestedField(2, "n", LongType()))
    catalog.create_table(NAME, Schema(*fields), partition_spec=partition)
    rows = [{"v": value, "n": number} for number, value in enumerate(values)]
    written(write_iceberg(catalog, NAME), *rows)
    for read in (
        iceberg_rows(catalog),
        catalog.load_table(NAME).scan().to_arrow().to_pylist(),
        read_iceberg(catalog, NAME).to_list().run_sync() or [],
    ):
        assert sorted(read, key=itemgetter("n")) == rows
    wanted = {transform.transform(kind)(value) for value in values}
    partitions = catalog.load_table(NAME).inspect.partitions().column("partition").to_pylist()
    assert len(partitions) == len(wanted)


def test_a_batch_is_a_commit_that_says_its_number(catalog: Catalog) -> None:
    checkpoint = Checkpoint()
    batches = [numbers(1, 2), [], numbers(3)]
    lived(checkpoint, write_iceberg(catalog, NAME), batches)
    table = catalog.load_table(NAME)
    assert len(table.snapshots()) == 2
    assert '"batch": 2' in table.properties["penstock.mark"]
    assert "commit.retry.num-retries" not in table.properties
    assert seen(catalog) == numbers(1, 2, 3)
    words = write_iceberg(catalog, NAME).sink.check(checkpoint.begin_run())
    assert words == "goes on in the Iceberg table lake.rows after batch 2"
    lived(checkpoint, write_iceberg(catalog, NAME), batches)
    assert len(catalog.load_table(NAME).snapshots()) == 2


def test_types_that_iceberg_does_not_have_become_those_that_it_has(catalog: Catalog) -> None:
    moment = datetime(2026, 1, 2, 3, 4, 5, 678_901, UTC)
    batch = pyarrow.table(
        {
            "text": pyarrow.array(["é"]).dictionary_encode(),
            "large": pyarrow.array(["a"], pyarrow.large_string()),
            "moment": pyarrow.array([moment], pyarrow.timestamp("ns", "Europe/Berlin")),
            "count": pyarrow.array([7], pyarrow.uint32()),
            "small": pyarrow.array([7], pyarrow.int8()),
            "price": pyarrow.array([Decimal("1.50")]),
            "parts": pyarrow.array([[{"a": 1}]]),
        }
    )
    for _ in range(2):
        written(write_iceberg(catalog, NAME), batch)
    row = {
        "text": "é", "large": "a", "moment": moment, "count": 7, "small": 7,
        "price": Decimal("1.50"), "parts": [{"a": 1}],
    }  # fmt: skip
    assert catalog.load_table(NAME).scan().to_arrow().to_pylist() == [row, row]
    with pytest.raises(ValueError, match=r"no type for the column t, duration\[us\]; schema="):
        write_iceberg(catalog, NAME, schema=pyarrow.schema([("t", pyarrow.duration("us"))]))


@pytest.mark.parametrize(
    ("second", "words"),
    [
        ({"n": "late"}, "n cannot be 'late': it is of type str, and needs to be int64; schema="),
        ({"n": 2, "m": 3}, "the columns are n, but an element has n, m"),
        (pyarrow.RecordBatch.from_pydict({"m": [1]}), "the columns are n, but a batch has m"),
        (pyarrow.RecordBatch.from_pydict({"n": ["1"]}), "n is int64, and string in a batch"),
    ],
)
def test_another_schema_in_the_middle_is_one_clear_line(
    catalog: Catalog, second: Any, words: str
) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, write_iceberg(catalog, NAME), [numbers(1)])
    sink = write_iceberg(catalog, NAME).sink
    sink.open(checkpoint.begin_run())
    sink.begin(1)

    def give() -> None:
        sink(second)
        sink.commit(1)

    with pytest.raises(ValueError, match=f"^write_iceberg: .*{words}"):
        give()
    sink.close()
    assert seen(catalog) == numbers(1)


def test_a_table_with_other_columns_is_refused(catalog: Catalog) -> None:
    written(write_iceberg(catalog, NAME), *numbers(1))
    for schema, words in (
        ([("m", pyarrow.int64())], "has the columns n, and the rows have m"),
        ([("n", pyarrow.string())], "has int64 for n, and the rows have string"),
    ):
        writer = write_iceberg(catalog, NAME, schema=pyarrow.schema(schema))
        assert words in refused(writer, None)
    sink = write_iceberg(catalog, NAME).sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 4})
    with catalog.load_table(NAME).update_schema() as update:
        update.rename_column("n", "m")
    with pytest.raises(DeliveryRefused, match="has the columns m, and the rows have n"):
        sink.commit(0)
    sink.close()


def test_rows_of_others_stay_and_may_come_within_a_commit(catalog: Catalog) -> None:
    other = pyarrow.table({"n": [9]})
    table = catalog.create_table(NAME, other.schema)
    table.append(other)
    assert write_iceberg(catalog, NAME).sink.check(Epoch.begun()) == (
        "adds to the Iceberg table lake.rows"
    )
    sink: Any = write_iceberg(catalog, NAME).sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 1})
    store = sink.store

    def late(*arguments: Any) -> None:
        catalog.load_table(NAME).append(other)
        store(*arguments)

    sink.store = late
    sink.commit(0)
    sink.close()
    assert sorted(row["n"] for row in seen(catalog)) == [1, 9, 9]


def test_a_catalog_or_namespace_that_is_not_there_is_refused(
    catalog: Catalog, tmp_path: Path
) -> None:
    line = refused(write_iceberg(catalog, "sea.rows"), None)
    assert line == (
        "write_iceberg: the catalog ours has no namespace sea for sea.rows; make it first, by "
        "create_namespace"
    )
    settings = {**settings_in(tmp_path), "uri": f"sqlite:///{tmp_path}/no/secret.db"}
    assert "rows cannot be loaded: " in refused(write_iceberg(settings, NAME), None)


def test_arguments_that_cannot_be_used_are_refused_at_once(catalog: Catalog) -> None:
    make: Any = write_iceberg
    with pytest.raises(ValueError, match="the name of a namespace and of a table, such as"):
        make(catalog, "rows")
    with pytest.raises(TypeError, match="catalog must be the name of one, a dict") as error:
        make({"password": ["secret"]}, NAME)
    assert "secret" not in str(error.value)
    with pytest.raises(TypeError, match="schema must be a pyarrow.Schema, not 'n long'"):
        make(catalog, NAME, schema="n long")
    sink = make({"uri": "secret"}, NAME).sink
    assert "secret" not in f"{sink.name} {sink._place!r}"


@pytest.mark.parametrize("uri", ["me:s3cret@host", "http://me:s3cret@127.0.0.1:9", "me:s3c@ret@x"])
@pytest.mark.parametrize("kind", ["rest", "sql"])
def test_a_password_in_the_address_of_a_catalog_is_not_shown(uri: str, kind: str) -> None:
    settings = {"type": kind, "uri": uri, "warehouse": "s3://bucket"}
    line = refused(write_iceberg(settings, NAME), None)
    assert "cannot be loaded" in line
    assert "s3c" not in line
    with pytest.raises(ValueError, match=r"read_iceberg: lake.rows: ") as caught:
        read_iceberg(settings, NAME).to_list().run_sync()
    assert "s3c" not in "".join(format_exception(caught.value))
