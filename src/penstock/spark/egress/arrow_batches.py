"""Batches of Arrow as the JVM sends them: a number before each, and no schema.

``toArrow`` brings the same. It asks the JVM for the schema each time, has it write down the plan,
and reads in small pieces, which a batch of a stream would pay for every time.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import pyarrow as pa

from penstock.spark.private_api import arrow_schema_of, serve_arrow_batches

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["NUMBER", "BatchCollector", "has_large_types", "read_message", "read_number"]

NUMBER: Final = struct.Struct("!i")
LARGE: Final = "spark.sql.execution.arrow.useLargeVarTypes"


def has_large_types(dataframe: Any) -> bool:
    """Whether the session of a DataFrame has the wider kind of offsets in Arrow."""
    is_large: bool = dataframe.sparkSession.conf.get(LARGE) == "true"
    return is_large


def read_number(stream: BinaryIO) -> int:
    """A number, as Spark writes it before what it sends."""
    return number_in(stream.read(NUMBER.size))


def number_in(encoded: bytes) -> int:
    """A number of which all bytes have come."""
    number: int = NUMBER.unpack(whole(encoded, NUMBER.size))[0]
    return number


def read_message(stream: BinaryIO, size: int, schema: pa.Schema) -> pa.RecordBatch:
    """A batch of so many bytes."""
    return pa.ipc.read_record_batch(pa.py_buffer(whole(stream.read(size), size)), schema)


def whole(found: bytes, size: int) -> bytes:
    """What was read, if it has so many bytes."""
    if len(found) < size:
        raise ConnectionError("Spark has gone while it computed a partition")
    return found


class BatchCollector:
    """Brings whole DataFrames here that are the batches of one query, and so have one schema.

    It computes, on the thread of Spark's call.
    """

    def __init__(self) -> None:
        self._schemas: dict[bool, pa.Schema] = {}

    def __call__(self, dataframe: DataFrame) -> pa.Table:
        """As ``toArrow`` of a classic session."""
        schema = self._schema(dataframe)
        stream, connection, server = serve_arrow_batches(dataframe, at_once=True)
        batches = []
        with connection, stream:
            while head := stream.read(NUMBER.size):
                batches.append(read_message(stream, number_in(head), schema))
        server.getResult()  # raises what happened, if that was not the end
        return pa.Table.from_batches(batches, schema)

    def _schema(self, dataframe: DataFrame) -> pa.Schema:
        is_large = has_large_types(dataframe)  # asked each time: it says how the bytes are read
        if is_large not in self._schemas:
            made = arrow_schema_of(dataframe.schema, large=is_large, unique=True)
            self._schemas[is_large] = made
        return self._schemas[is_large]
