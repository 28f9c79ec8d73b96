"""State that an earlier query has kept is not read by one that would give it another meaning."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import Flow
from penstock.cli.spark_check import SparkCheck
from penstock.spark import SparkFlow, StateChanged
from penstock.spark.checkpoint import Checkpoint
from penstock.spark.deployment import spark_plan_in
from penstock.spark.state import (
    differing,
    digest_of,
    in_words,
    require_same_state,
    stateful_operators,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.timeout(300)

Query = Callable[["DataFrame"], "DataFrame"]
COLUMNS = (
    "timestamp AS at",
    "value AS degrees",
    "cast(value AS string) AS city",
    "cast(value % 7 AS string) AS country",
    "array(value) AS all",
)
MANY = [f"value + {number} AS column_{number}" for number in range(40)]


def stream(session: SparkSession) -> DataFrame:
    return session.readStream.format("rate").load().selectExpr(*COLUMNS, *MANY)


def sql(text: str) -> Query:
    return lambda frame: frame.sparkSession.sql(text, stream=frame)


def windows(length: str, late: str = "10 minutes", slide: str | None = None) -> Query:
    def query(frame: DataFrame) -> DataFrame:
        from pyspark.sql.functions import window

        return frame.withWatermark("at", late).groupBy(window("at", length, slide)).count()

    return query


def joined(hours: int) -> Query:
    def query(frame: DataFrame) -> DataFrame:
        from pyspark.sql.functions import expr

        left, right = (frame.withWatermark("at", "1 hour").alias(name) for name in "ab")
        near = f"a.city = b.city AND a.at < b.at + INTERVAL {hours} HOURS AND a.at >= b.at"
        return left.join(right, expr(near))

    return query


def once(key: Any, frames: Any, state: Any) -> Iterator[Any]:
    yield from frames


def twice(key: Any, frames: Any, state: Any) -> Iterator[Any]:
    yield from frames
    yield from frames


def in_pandas(function: Any) -> Query:
    return lambda frame: (
        frame.select("city", "degrees")
        .groupBy("city")
        .applyInPandasWithState(
            function, "city string, degrees long", "n long", "update", "NoTimeout"
        )
    )


BY_CITY = "SELECT city, max(degrees) AS most FROM {stream} GROUP BY city"
CHANGES: dict[str, tuple[Query, Query]] = {
    "max to min": (sql(BY_CITY), sql(BY_CITY.replace("max", "min"))),
    "count to sum": (
        sql("SELECT city, count(degrees) AS n FROM {stream} GROUP BY city"),
        sql("SELECT city, sum(degrees) AS n FROM {stream} GROUP BY city"),
    ),
    "another key": (sql(BY_CITY), sql(BY_CITY.replace("city", "country"))),
    "another key of the same name": (
        sql(BY_CITY),
        lambda frame: sql(BY_CITY)(frame.drop("city").withColumnRenamed("country", "city")),
    ),
    "another value of the same name": (
        sql(BY_CITY),
        lambda frame: sql(BY_CITY)(frame.selectExpr("city", "degrees * 2 AS degrees")),
    ),
    "one of many columns": (
        lambda frame: frame.select("column_38").dropDuplicates(["column_38"]),
        lambda frame: frame.select("column_39").dropDuplicates(["column_39"]),
    ),
    "longer windows": (windows("1 hour"), windows("2 hours")),
    "longer sliding windows": (
        windows("1 hour", slide="10 minutes"),
        windows("2 hours", slide="10 minutes"),
    ),
    "another watermark": (windows("1 hour"), windows("1 hour", late="1 minute")),
    "keys of what is distinct": (
        lambda frame: frame.dropDuplicates(["city"]),
        lambda frame: frame.dropDuplicates(["country"]),
    ),
    "a wider join": (joined(1), joined(2)),
    "another element of an array": (
        sql("SELECT one, count(*) AS n FROM (SELECT explode(all) one FROM {stream}) GROUP BY one"),
        sql(
            "SELECT one, count(*) AS n FROM "
            "(SELECT explode(array(degrees + 1)) one FROM {stream}) GROUP BY one"
        ),
    ),
    "another function": (in_pandas(once), in_pandas(twice)),
    "no state": (sql(BY_CITY), sql("SELECT city, degrees FROM {stream}")),
}
SAME: dict[str, tuple[Query, Query]] = {
    "a projection downstream": (
        sql(BY_CITY),
        lambda frame: sql(BY_CITY)(frame).selectExpr("upper(city) AS town", "most + 1 AS more"),
    ),
    "other names": (sql(BY_CITY), sql(BY_CITY.replace("most", "highest"))),
    "a filter downstream": (sql(BY_CITY), sql(BY_CITY + " HAVING max(degrees) > 3")),
    "a filter upstream": (sql(BY_CITY), sql(BY_CITY.replace(" GROUP", " WHERE degrees > 3 GROUP"))),
    "no state": (lambda frame: frame.select("city"), lambda frame: frame.select("degrees")),
    "a watermark without state": (
        lambda frame: frame.withWatermark("at", "1 hour"),
        lambda frame: frame.withWatermark("at", "2 hours"),
    ),
}


@pytest.mark.parametrize(("before", "after"), CHANGES.values(), ids=CHANGES)
def test_a_change_of_what_state_means_is_seen(
    spark: SparkSession, before: Query, after: Query
) -> None:
    assert stateful_operators(before(stream(spark))) != stateful_operators(after(stream(spark)))


@pytest.mark.parametrize(("before", "after"), SAME.values(), ids=SAME)
def test_what_is_not_the_business_of_state_makes_no_difference(
    spark: SparkSession, before: Query, after: Query
) -> None:
    assert stateful_operators(before(stream(spark))) == stateful_operators(after(stream(spark)))


def test_a_query_says_the_same_in_each_session(spark: SparkSession) -> None:
    for query, _ in CHANGES.values():
        other = query(stream(spark.newSession()))
        stream(spark).select("city").collect  # noqa: B018 - numbers of expressions move on
        assert stateful_operators(query(stream(spark))) == stateful_operators(other)


def test_an_operator_is_written_without_what_differs_from_run_to_run(spark: SparkSession) -> None:
    operators = stateful_operators(sql(BY_CITY)(stream(spark)))
    city = "cast(value as string)"
    assert operators == [f"Aggregate [{city}], [{city}, max(value)]"]


def test_a_function_is_known_by_its_code_and_not_by_its_line() -> None:
    def make(result: str, before: str = "") -> Any:
        names: dict[str, Any] = {"__name__": "elsewhere"}
        exec(f"{before}def function(key, frames, state):\n    return {result}", names)
        return names["function"]

    assert digest_of(make("2")) == digest_of(make("2", "\n\n"))
    assert digest_of(make("2")) != digest_of(make("3"))


def test_what_was_kept_by_another_version_is_not_compared(tmp_path: Path) -> None:
    checkpoint = Checkpoint(tmp_path)
    checkpoint.claim("numbers", [])
    (tmp_path / "spark" / "offsets").mkdir(parents=True)
    (tmp_path / "spark" / "offsets" / "0").write_text("v1\n")
    checkpoint.remember("state.json", json.dumps({"versions": "Spark 3.5", "operators": ["a"]}))
    mine = json.dumps({"versions": "Spark 4.3", "operators": ["b"]})
    assert not require_same_state(mine, checkpoint, "numbers")
    with pytest.raises(StateChanged, match="keeps the state of a, and the pipeline 'numbers' now"):
        require_same_state(mine.replace("4.3", "3.5"), checkpoint, "numbers")


def test_the_difference_is_shown_and_not_all_that_is_the_same() -> None:
    same = "x" * 200
    shown = differing(f"Aggregate [{same}max(a){same}]", f"Aggregate [{same}min(a){same}]")
    assert shown.startswith("Aggregate …xxx")
    assert "max(a)" in shown
    assert len(shown) < 150


def by_city(rows: list[tuple[str, int]], query: str, place: Path, **options: Any) -> SparkFlow:
    source = Flow.from_iterable(rows).concat(Flow.never())
    return source.on_spark(
        "city string, degrees long",
        name="cities",
        checkpoint=place,
        output_mode="update",
        **options,
    ).sql(query)


def rows_of(flow: SparkFlow, count: int) -> list[Any]:
    return sorted(flow.rows().take(count).to_list().run_sync() or [])


def check(flow: SparkFlow) -> object:
    """What ``penstock check`` asks Spark last."""
    pipeline = spark_plan_in(flow)
    assert pipeline is not None
    *_, (subject, _, question) = SparkCheck(pipeline).questions(with_session=True)
    assert subject == "query"
    return question()


@pytest.mark.usefixtures("spark")
def test_a_changed_query_does_not_read_state_unless_it_is_told_to(tmp_path: Path) -> None:
    place = tmp_path / "checkpoint"
    first = [("Rome", 30), ("Oslo", 10)]
    both = [*first, ("Rome", 20), ("Oslo", 5)]
    lowest = BY_CITY.replace("max", "min")
    assert rows_of(by_city(first, BY_CITY, place), 2) == [("Oslo", 10), ("Rome", 30)]
    with pytest.raises(StateChanged) as caught:
        rows_of(by_city(both, lowest, place), 2)
    said = str(caught.value)
    assert "max(degrees)" in said
    assert "min(degrees)" in said
    assert "--accept-state-change" in said
    assert "\n" not in said
    with pytest.raises(StateChanged, match=r"max\(degrees\).*min\(degrees\)"):
        check(by_city(both, lowest, place))
    downstream = f"SELECT upper(city) AS city, most FROM ({BY_CITY})"
    assert rows_of(by_city(both, downstream, place), 2) == [("OSLO", 10), ("ROME", 30)]
    assert "its state means the same as before" in str(check(by_city(both, downstream, place)))
    more = [*both, ("Oslo", 3)]
    accepted = by_city(more, lowest, place, accept_state_change=True)
    assert rows_of(accepted, 1)[0].city in ("Oslo", "Rome")


def test_words_of_a_frame_name_the_versions(spark: SparkSession) -> None:
    assert spark.version in json.loads(in_words(stream(spark)))["versions"]
