"""Functions that keep something for each key, against plain Python with a dictionary."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.spark import SparkFlow, UserError
from penstock.spark.egress.rows import RowReader
from penstock.spark.ingest.conversion import Converter
from penstock.spark.ingest.schema import Schema
from penstock.spark.stateful_stage import PROVIDER
from penstock.testing import ManualSubscriber
from tests.spark.capabilities import has_state_of_rows
from tests.spark.test_spark_flow import result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.usefixtures("spark"), pytest.mark.timeout(300)]

PATIENCE = 240.0
HOUR = timedelta(hours=1)
ORDERS = [(number % 7, number % 2 == 0, float(number)) for number in range(300)]
SCHEMA = "customer long, paid boolean, total double"
TOTALS = "customer long, orders long, total double"


@pytest.fixture(autouse=True)
def _other_tests_have_their_store(spark: SparkSession) -> Iterator[None]:
    yield
    spark.conf.unset(PROVIDER)


def orders(**options: Any) -> SparkFlow:
    return Flow.from_iterable(ORDERS).on_spark(SCHEMA, output_mode="update", **options)


def totalled(customer: int, rows: Iterable[Any], state: Any) -> Iterator[Any]:
    """How many orders each customer has made, and for how much; nothing is kept of customer 3."""
    count, total = state.value or (0, 0.0)
    for row in rows:
        count, total = count + 1, total + row.total
    state.update({"total": total, "orders": count})
    if customer == 3:
        state.remove()
    yield {"orders": count, "customer": customer, "total": total}


def expected() -> dict[int, tuple[int, float]]:
    kept: dict[int, tuple[int, float]] = defaultdict(lambda: (0, 0.0))
    for customer, _, total in ORDERS:
        kept[customer] = (kept[customer][0] + 1, kept[customer][1] + total)
    return dict(kept)


if has_state_of_rows():

    def test_state_is_exact_over_a_stop_in_the_middle_of_a_batch(tmp_path: Path) -> None:
        def run(wanted: int) -> ManualSubscriber[Any]:
            subscriber: ManualSubscriber[Any] = ManualSubscriber(request=wanted)
            flow = orders(name="totals", checkpoint=tmp_path / "checkpoint", batch_rows=70)
            flow.stateful(
                totalled, key="customer", schema=TOTALS, state="orders long, total double"
            ).subscribe(subscriber)
            return subscriber

        first = run(9)  # of the seven customers in each batch
        first.await_elements(9, PATIENCE)
        first.cancel()
        second = run(1 << 40)
        second.await_end(PATIENCE)
        second.assert_completed()
        last = {row.customer: (row.orders, row.total) for row in second.elements}
        assert last.pop(3)[0] < expected()[3][0]  # those of its last batch
        assert last == {who: what for who, what in expected().items() if who != 3}

    def test_a_key_may_be_of_several_columns_and_a_function_give_nothing() -> None:
        def unpaid(key: tuple[int, bool], rows: Iterable[Any], state: Any) -> list[Any] | None:
            customer, paid = key
            count = sum(1 for _ in rows) + (state.value.orders if state.value else 0)
            state.update((count,))
            return None if paid else [(customer, count, 0.0)]

        flow = orders(batch_rows=70).stateful(
            unpaid, key=("customer", "paid"), schema=TOTALS, state="orders long"
        )
        last = {row.customer: row.orders for row in result(flow.rows())}
        wanted = {who: sum(1 for each in ORDERS if each[:2] == (who, False)) for who in range(7)}
        assert last == wanted

    def test_what_the_function_raises_ends_the_stream_with_its_line() -> None:
        def failing(key: int, rows: Iterable[Any], state: Any) -> Iterator[Any]:
            yield from (1 // (row.customer - row.customer) for row in rows)

        flow = orders().stateful(failing, key="customer", schema=TOTALS, state="n long")
        with pytest.raises(UserError, match=r"ZeroDivisionError: .* \(in stateful, at .*\.py:\d+"):
            result(flow.rows())

    @pytest.mark.parametrize(
        ("made", "kept", "said"),
        [
            (1.5, 1, "stateful made a wrong element: 1.5 in field 'n' does not fit the schema: it"),
            (1, 1.5, "stateful keeps a wrong value: 1.5 in field 'n' does not fit the schema: it"),
            (1, 1 << 40, "stateful keeps a wrong value: 1099511627776 in field 'n' .* too large"),
        ],
    )
    def test_a_value_that_its_schema_would_change_ends_the_stream(
        made: Any, kept: Any, said: str
    ) -> None:
        def wrong(key: int, rows: Iterable[Any], state: Any) -> Iterator[Any]:
            state.update((kept,))
            yield key, made

        flow = orders().stateful(
            wrong, key="customer", schema="customer long, n int", state="n int"
        )
        with pytest.raises(UserError, match=said):
            result(flow.rows())

    def test_values_of_all_types_are_kept_as_they_are() -> None:
        noon = datetime(2026, 3, 29, 12, 0, 0, 5)
        values = {
            "at timestamp": noon, "there timestamp": noon.replace(tzinfo=timezone(-HOUR)),
            "local timestamp_ntz": noon, "day date": noon.date(), "data binary": b"\x00\xff",
            "price decimal(9, 3)": Decimal("1.5"), "counts map<string, timestamp>": {"a": noon},
            "place struct<at: timestamp, all: array<struct<y: string, at: timestamp_ntz>>>":
                (noon, [{"y": "a", "at": noon}, ("b", None)]),
            "lists array<array<int>>": [[1], None, []], "single float": 0.5, "small byte": None,
        }  # fmt: skip
        schema, given = ", ".join(values), tuple(values.values())

        def remembered(key: int, rows: Iterable[Any], state: Any) -> Iterator[Any]:
            value = given if state.value is None else tuple(state.value)
            state.update(value)
            yield (key, *value)

        flow = Flow.of((1,), (1,), (1,)).on_spark("k long", batch_rows=1)
        rows = result(
            flow.stateful(remembered, key="k", schema=f"k long, {schema}", state=schema).rows()
        )
        (expected_row,) = RowReader(Schema.of(schema).arrow).rows(
            Converter(Schema.of(schema)).convert([given]).batch
        )
        assert [tuple(row)[1:] for row in rows] == [tuple(expected_row)] * 3


# Refusals.


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"key": ()}, r"needs as its key the names of columns, not \(\)"),
        ({"key": 7}, "needs as its key the names of columns, not 7"),
        ({"schema": "no schema"}, "'schema' is not a type"),
        ({"function": 7}, "stateful .* 7"),
    ],
    ids=["no key", "no name", "no schema", "no function"],
)
def test_a_wrong_argument_is_refused_at_once(options: dict[str, Any], said: str) -> None:
    given: dict[str, Any] = {"key": "customer", "schema": TOTALS, "state": "n long", **options}
    function = given.pop("function", totalled)
    needed = said if has_state_of_rows() else "needs Spark 4.1 or later"
    with pytest.raises((TypeError, ValueError, RuntimeError), match=needed):
        orders().stateful(function, **given)


def test_a_session_of_the_user_is_not_given_another_store(spark: SparkSession) -> None:
    spark.conf.unset(PROVIDER)
    needed = "needs RocksDB for its state" if has_state_of_rows() else "needs Spark 4.1 or later"
    with pytest.raises((ValueError, RuntimeError), match=needed):
        orders(session=spark).stateful(totalled, key="customer", schema=TOTALS, state="n long")
