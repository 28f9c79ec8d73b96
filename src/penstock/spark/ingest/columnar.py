"""Elements that are columns already: checked, and copied only if they must be."""

from __future__ import annotations

from typing import Final, TypeAlias

import pyarrow as pa

from penstock.spark.egress.rows import as_lists
from penstock.spark.ingest.encoding import mismatch

__all__ = ["COLUMNAR", "Columnar", "fit_columns"]

Columnar: TypeAlias = pa.RecordBatch | pa.Table
COLUMNAR: Final = (pa.RecordBatch, pa.Table)


def fit_columns(columnar: Columnar, schema: pa.Schema) -> list[pa.RecordBatch]:
    """``columnar`` as batches of exactly this schema; columns are found by name."""
    if not columnar.schema.equals(schema):
        columnar = _cast(columnar, schema)
    batches = [columnar] if isinstance(columnar, pa.RecordBatch) else columnar.to_batches()
    for batch in batches:
        for column, field in zip(batch.columns, schema, strict=True):
            _refuse_nulls(column, field, field.name)
    return batches


def _cast(columnar: Columnar, schema: pa.Schema) -> Columnar:
    names = columnar.schema.names
    if sorted(names) != sorted(schema.names):
        raise mismatch(
            "",
            f"the columns are {', '.join(names)}, and those of the schema "
            f"{', '.join(schema.names)}",
        )
    arrays = []
    for field in schema:
        try:
            arrays.append(columnar.column(field.name).cast(field.type))
        except (pa.ArrowException, ValueError, TypeError) as error:
            raise mismatch(field.name, str(error)) from error
    return type(columnar).from_arrays(arrays, schema=schema)


def _refuse_nulls(array: pa.Array, field: pa.Field, path: str) -> None:
    """Arrow lets nulls into a field that is to have none, and Spark would read garbage there."""
    if array.null_count and not field.nullable:
        raise mismatch(path, "there is no value, and the field is NOT NULL")
    kind = field.type
    if pa.types.is_struct(kind):
        for child, column in zip(kind, array.drop_null().flatten(), strict=True):
            _refuse_nulls(column, child, f"{path}.{child.name}")
    elif pa.types.is_list(kind):
        _refuse_nulls(array.flatten(), kind.value_field, f"{path}.element")
    elif pa.types.is_map(kind):
        keys, values = as_lists(array).flatten().flatten()
        _refuse_nulls(keys, kind.key_field, f"{path}.key")
        _refuse_nulls(values, kind.item_field, f"{path}.value")
