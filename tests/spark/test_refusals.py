"""What a user does wrong gets one sentence that says what to do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow
from penstock.spark import CheckpointError, SparkFailed, SparkFlow
from tests.spark.capabilities import has_read_limits

SCHEMA = "number long, name string"


def on_spark(**options: Any) -> SparkFlow:
    return Flow.of((1, "one"), (2, "two")).on_spark(SCHEMA, **options)


@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("assemble", "kind", "words"),
    [
        (
            lambda: on_spark().frame(lambda frame: frame.select("nummer")).rows(),
            SparkFailed,
            "with name `nummer` cannot be resolved. Did you mean",
        ),
        (
            lambda: on_spark().sql("SELEC * FROM {stream}").rows(),
            SparkFailed,
            "Syntax error at or near 'SELEC'",
        ),
        (
            lambda: on_spark().frame(lambda frame: frame.groupBy("name").count()).rows(),
            SparkFailed,
            "append. This output mode is not supported for streaming aggregations",
        ),
        (
            lambda: on_spark().write("parket", path="nowhere"),
            SparkFailed,
            "Failed to find the data source: parket",
        ),
        (
            lambda: on_spark().frame(lambda frame: None).rows(),
            TypeError,
            "frame needs a function that returns a DataFrame, not None",
        ),
        (
            lambda: on_spark(checkpoint="nowhere://at/all").rows(),
            CheckpointError,
            "nowhere://at/all is no place for a checkpoint",
        ),
    ],
)
def test_what_spark_refuses_comes_in_one_line(
    assemble: Callable[[], Flow[Any]], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind) as caught:
        assemble().run_sync()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_publishers_in_tasks_ask_for_a_spark_that_tells_where_a_batch_begins() -> None:
    older = pytest.raises(RuntimeError, match="partitioned needs Spark 4.2 or later")
    with nullcontext() if has_read_limits() else older:
        SparkFlow.partitioned(lambda _: Flow.of((1, "one")), partitions=1, schema=SCHEMA)


def test_a_position_that_json_does_not_have_is_refused() -> None:
    flow = Flow.resumable(lambda position: Flow.of((1, "one")))
    with pytest.raises(TypeError, match="the position of a source must be something that JSON has"):
        flow.on_spark(SCHEMA, position=lambda element: {element}).rows().run_sync()


@pytest.mark.usefixtures("spark")
@pytest.mark.timeout(300)
def test_a_run_waits_for_the_one_that_was_stopped_a_moment_ago(tmp_path: Path) -> None:
    flow = on_spark(name="again", checkpoint=tmp_path / "checkpoint", batch_rows=1).rows()
    assert flow.take(1).run_sync() == (1, "one")
    assert flow.take(1).run_sync() is not None
