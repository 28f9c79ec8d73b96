"""What keeps something for each key, as a step of a stream, on Spark's own state store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from penstock.flow.checks import require_callable
from penstock.runtime import shorten
from penstock.runtime.arguments import require_choice
from penstock.spark.ingest.schema import Schema, SchemaLike
from penstock.spark.plan import SparkPlan
from penstock.spark.workers.functions import FrameStage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["PROCESSING_TIME", "PROVIDER", "ROCKSDB", "stateful_stage"]

STATEFUL: Final = "stateful"
PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
EVENT_TIME: Final = "event_time"
PROCESSING_TIME: Final = "processing_time"
TIMES: Final = {PROCESSING_TIME: "ProcessingTime", EVENT_TIME: "EventTime"}
"""By which time keys time out, as Spark calls it."""
WATERMARKED: Final = "spark.watermarkDelayMs"
"""What Spark notes at a column that has a watermark."""
ROCKSDB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def stateful_stage(
    plan: SparkPlan,
    function: Any,
    key: str | Sequence[str],
    schema: SchemaLike,
    state: SchemaLike,
    timeouts: str | None = None,
) -> FrameStage:
    """The step, if this Spark can take it; refuses what Spark would refuse in many lines."""
    from pyspark.sql import GroupedData

    if not hasattr(GroupedData, "transformWithState"):
        raise RuntimeError(f"{STATEFUL} needs Spark 4.1 or later, which gives functions rows")
    from penstock.spark.workers.stateful import StatefulFunction

    if plan.output_mode == "complete":
        raise ValueError(f"{STATEFUL} makes rows of each batch: output_mode is append or update")
    require_store(plan)
    keys = require_keys(key)
    made = Schema.of(schema)
    time = None if timeouts is None else require_choice(STATEFUL, "timeouts", timeouts, TIMES)
    if time == PROCESSING_TIME and plan.until_end:
        raise ValueError(
            f"{STATEFUL}: timeouts={PROCESSING_TIME!r} lets Spark run batches by the clock for "
            f"ever, and from_stream(until_end=True) would never end; take {EVENT_TIME!r}, or leave "
            "until_end out"
        )
    processor = StatefulFunction(
        require_callable(STATEFUL, function),
        made,
        Schema.of(state),
        by_watermark=None if time is None else time == EVENT_TIME,
    )
    mode, time_mode = plan.output_mode.capitalize(), TIMES.get(time or "", "None")

    def grouped(frame: DataFrame) -> DataFrame:
        missing = [each for each in keys if each not in frame.columns]
        if missing:
            known = ", ".join(frame.columns)
            raise ValueError(f"{STATEFUL} has the key {missing[0]!r}, and the rows have {known}")
        if time == EVENT_TIME:
            require_watermark(frame)
        if plan.settings.session is None:
            frame.sparkSession.conf.set(PROVIDER, ROCKSDB)
        return frame.groupBy(*keys).transformWithState(processor, made.spark, mode, time_mode)

    return FrameStage(STATEFUL, grouped, processor)


def require_watermark(frame: DataFrame) -> None:
    """Event time stands where the watermark of the rows is."""
    if not any(WATERMARKED in field.metadata for field in frame.schema.fields):
        raise ValueError(
            f"{STATEFUL}: timeouts={EVENT_TIME!r} needs a watermark upstream, such as "
            ".frame(lambda frame: frame.withWatermark('at', '10 seconds'))"
        )


def require_keys(key: Any) -> tuple[str, ...]:
    """The names of the columns by which rows belong together."""
    keys = (key,) if isinstance(key, str) else tuple(key) if isinstance(key, Sequence) else ()
    if not keys or not all(isinstance(each, str) and each for each in keys):
        raise ValueError(f"{STATEFUL} needs as its key the names of columns, not {shorten(key)}")
    return keys


def require_store(plan: SparkPlan) -> None:
    """A session of the user's own is not changed, and needs the store that Spark asks for."""
    session = plan.settings.session
    if session is not None and session.conf.get(PROVIDER, "") != ROCKSDB:
        raise ValueError(
            f"{STATEFUL} needs RocksDB for its state, and this session has another store; set "
            f"{PROVIDER}={ROCKSDB}"
        )
