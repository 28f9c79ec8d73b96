"""How a publisher gets onto Spark: through a journal, within the room that it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.api import Publisher
from penstock.flow.checks import require_callable
from penstock.flow.engine.stage import Replay
from penstock.runtime.arguments import require_int
from penstock.spark.ingest.schema import Schema, SchemaLike
from penstock.spark.plan import (
    BATCH_ROWS,
    SparkInput,
    new_plan,
    require_replay,
    require_resumable,
    resume_mode,
)
from penstock.spark.session.spark_session import SparkSettings
from penstock.spark.spark_flow import SparkFlow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["MAX_BYTES", "MAX_ROWS", "on_spark"]

MAX_ROWS = 1 << 19
MAX_BYTES = 1 << 26


def on_spark(
    publisher: Publisher[Any],
    schema: SchemaLike,
    *,
    name: str = "pipeline",
    checkpoint: str | Path | None = None,
    master: str | None = None,
    remote: str | None = None,
    session: SparkSession | None = None,
    resume: Replay | None = None,
    position: Callable[[Any], object] | None = None,
    dead_letters: Callable[[Any], object] | None = None,
    max_rows: int | None = None,
    max_bytes: int | None = None,
    batch_rows: int | None = None,
    output_mode: str = "append",
    accept_state_change: bool = False,
) -> SparkFlow:
    """The elements of ``publisher`` on Spark; see ``Flow.on_spark``."""
    operator = "on_spark"
    declared = None if resume is None else require_replay(resume)
    for option, function in (("position", position), ("dead_letters", dead_letters)):
        if function is not None:
            require_callable(f"{operator}({option}=)", function)
    given = SparkInput(
        publisher,
        Schema.of(schema),
        require_int(operator, "max_rows", MAX_ROWS if max_rows is None else max_rows),
        require_int(operator, "max_bytes", MAX_BYTES if max_bytes is None else max_bytes),
        resume_mode(publisher, declared, position),
        position,
        dead_letters,
    )
    settings = SparkSettings(master=master, remote=remote, session=session)
    plan = new_plan(
        given, settings, name, checkpoint, output_mode, accept_state_change=accept_state_change
    )
    rows = require_int(operator, "batch_rows", BATCH_ROWS if batch_rows is None else batch_rows)
    plan = replace(plan, batch_rows=rows)
    require_resumable(plan)
    return SparkFlow(plan)
