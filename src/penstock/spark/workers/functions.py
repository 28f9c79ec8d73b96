"""What runs in Spark's workers: the user's functions, fused into one pass over Arrow batches."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from penstock.runtime import hidden_fields, hide_only, shorten
from penstock.spark.egress.rows import RowReader, row_type
from penstock.spark.failures import UserError, place_of
from penstock.spark.ingest.conversion import Converter
from penstock.spark.ingest.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = [
    "BatchStage",
    "FrameStage",
    "FusedFunctions",
    "FusedPass",
    "RowStage",
    "SparkStage",
    "applied",
    "fused",
    "leading",
]


@dataclass(frozen=True)
class RowStage:
    """``map``, ``filter`` or ``flat_map``: a function of one row.

    ``schema``  that of the rows which it makes; ``None`` if it is that of the rows which it gets
    """

    name: str
    function: Callable[[Any], Any]
    schema: Schema | None = None


@dataclass(frozen=True)
class BatchStage:
    """``map_batches``: a function of a ``RecordBatch``."""

    name: str
    function: Callable[[pa.RecordBatch], pa.RecordBatch]
    schema: Schema | None = None


@dataclass(frozen=True)
class FrameStage:
    """A function of Spark's own data frame, which may do anything.

    ``sent``  what it sends to the workers, as far as that is known
    """

    name: str
    function: Callable[[DataFrame], DataFrame]
    sent: object = None


SparkStage = RowStage | BatchStage | FrameStage


def leading(stages: Sequence[SparkStage]) -> tuple[RowStage | BatchStage, ...]:
    """Those at the front that Python runs."""
    front: list[RowStage | BatchStage] = []
    for stage in stages:
        if isinstance(stage, FrameStage):
            break
        front.append(stage)
    return tuple(front)


def applied(stages: Sequence[SparkStage], frame: DataFrame) -> DataFrame:
    """What all stages make of ``frame``; neighbouring functions in one pass."""
    run: list[RowStage | BatchStage] = []
    for stage in stages:
        if isinstance(stage, FrameStage):
            frame = require_frame(stage.name, stage.function(fused(run, frame)))
            run = []
        else:
            run.append(stage)
    return fused(run, frame)


def require_frame(name: str, made: Any) -> Any:
    """What a user's function made of a data frame, when it is one again."""
    if not hasattr(made, "writeStream"):
        raise TypeError(f"{name} needs a function that returns a DataFrame, not {shorten(made)}")
    return made


def fused(stages: Sequence[RowStage | BatchStage], frame: DataFrame) -> DataFrame:
    """``frame`` downstream of stages that Python runs: one crossing for all of them."""
    if not stages:
        return frame
    way = FusedPass(tuple(stages), Schema.of(frame.schema))
    return frame.mapInArrow(way, way.last.spark)


@dataclass(frozen=True)
class FusedPass:
    """One pass over the batches of a partition, through several stages. Goes to the workers."""

    stages: tuple[RowStage | BatchStage, ...]
    schema: Schema
    secret: tuple[str, ...] = field(default_factory=hidden_fields)

    @property
    def last(self) -> Schema:
        """That of the rows which come out."""
        return schema_after(self.stages, self.schema)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What Spark calls once for each partition."""
        hide_only(self.secret)  # in the process of a worker nobody has said so
        schema = self.schema
        made: Iterator[pa.RecordBatch] = (with_schema(batch, schema) for batch in batches)
        rows: list[RowStage] = []
        for stage in self.stages:
            if isinstance(stage, RowStage):
                rows.append(stage)
                continue
            made, schema = through_rows(rows, schema, made)
            made, schema, rows = through_batches(stage, schema, made), stage.schema or schema, []
        made, _ = through_rows(rows, schema, made)
        return made


def schema_after(stages: Iterable[RowStage | BatchStage], schema: Schema) -> Schema:
    """The schema of what stages make of rows of ``schema``."""
    for stage in stages:
        schema = stage.schema or schema
    return schema


class FusedFunctions(NamedTuple):
    """A pass as a text, and the schema of the rows which come out."""

    text: str
    schema: Schema


def with_schema(batch: pa.RecordBatch, schema: Schema) -> pa.RecordBatch:
    """``batch`` with the types of ``schema``, which differ in what Spark calls equal."""
    if batch.schema.equals(schema.arrow):
        return batch
    return pa.RecordBatch.from_arrays(
        [
            column.cast(field.type)
            for column, field in zip(batch.columns, schema.arrow, strict=True)
        ],
        schema=schema.arrow,
    )


def through_batches(
    stage: BatchStage, schema: Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """``batches`` downstream of ``map_batches``."""
    converter = Converter(stage.schema or schema)
    for batch in batches:
        with blaming(stage.name):
            made = stage.function(batch)
        yield converted(converter, [made], stage.name)


def through_rows(
    stages: Sequence[RowStage], schema: Schema, batches: Iterator[pa.RecordBatch]
) -> tuple[Iterator[pa.RecordBatch], Schema]:
    """``batches`` downstream of stages that take rows, and their schema."""
    if not stages:
        return batches, schema
    last = schema_after(stages, schema)
    return row_passes(tuple(stages), schema, last, batches), last


def row_passes(
    stages: tuple[RowStage, ...], schema: Schema, last: Schema, batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """One batch of rows after the other."""
    reader, converter = RowReader(schema.arrow), Converter(last)
    for batch in batches:
        rows: Iterable[Any] = reader.rows(batch)
        for stage in stages:
            rows = through_stage(stage, rows)
        made = list(rows)
        if made:
            yield converted(converter, made, stages[-1].name)


def through_stage(stage: RowStage, rows: Iterable[Any]) -> Iterable[Any]:
    """``rows`` downstream of one stage."""
    function = stage.function
    if stage.name == "filter":
        return guarded(stage.name, filter(function, rows))
    if stage.name == "map":
        made: Iterable[Any] = map(function, rows)
    else:
        made = (each for row in rows for each in function(row))
    return guarded(stage.name, made if stage.schema is None else as_rows(stage.schema, made))


def as_rows(schema: Schema, elements: Iterable[Any]) -> Iterator[Any]:
    """What a function made, as rows for the function downstream."""
    row = row_type(schema.names)
    for element in elements:
        yield row._make(element) if type(element) is tuple else element


def guarded(name: str, rows: Iterable[Any]) -> Iterator[Any]:
    """``rows``; an error of the user's function is told in few words."""
    with blaming(name):
        yield from rows


def converted(converter: Converter, made: Sequence[Any], name: str) -> pa.RecordBatch:
    """What functions made, as a batch."""
    batch, dead_letters = converter.convert(made)
    if dead_letters:
        raise UserError(
            f"{name} made a wrong element: {dead_letters[0]}; if it changes the fields, it needs "
            "schema="
        )
    return batch


@contextmanager
def blaming(name: str) -> Iterator[None]:
    """Turn an error of a user's function into one that says where it arose, and is short."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:
        raise UserError(told(name, error)) from None


def told(name: str, error: BaseException, what: str = "") -> str:
    """What happened, in which operator, at which line of the user's code."""
    what = what or "".join(traceback.format_exception_only(error)).strip()
    place = place_of(
        (frame.filename, frame.lineno, frame.name)
        for frame in traceback.extract_tb(error.__traceback__)
    )
    return f"{what} (in {', '.join(filter(None, (name, place)))})"
