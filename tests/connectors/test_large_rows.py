"""What a sink holds of rows that are large: a few of them, and not as many as of small ones."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow
import pytest

from penstock import Flow
from penstock.connectors import Writer, write_delta, write_duckdb, write_parquet, write_sqlite
from penstock.connectors.shared.rows import rows_in
from penstock.delivery import Epoch

Make: TypeAlias = Callable[[Path], Writer]

PATIENCE = 60
SIZE = 1 << 20
ROWS = 150
MOST = 64
"""The rows that may be held: 16 before anybody looks, and copies that a client makes of some."""
SINKS: dict[str, Make] = {
    "parquet": write_parquet,
    "delta": lambda path: write_delta(str(path)),
    "duckdb": lambda path: write_duckdb(path, "t"),
    "sqlite": lambda path: write_sqlite(path, "t"),
}


@contextmanager
def holding_at_most(size: int) -> Iterator[None]:
    """What Python holds in between, which is not what Arrow or a client of a database does."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < size
    finally:
        tracemalloc.stop()


def rows() -> Iterator[dict[str, Any]]:
    return ({"number": number, "content": bytes(SIZE)} for number in range(ROWS))


@pytest.mark.parametrize("make", SINKS.values(), ids=SINKS)
def test_a_batch_of_large_rows_takes_little_memory(make: Make, tmp_path: Path) -> None:
    sink = make(tmp_path / "large").sink
    sink.open(Epoch.begun())
    sink.begin(0)
    with holding_at_most(MOST * SIZE):
        for row in rows():
            sink(row)
        sink.commit(0)
    sink.close()


@pytest.mark.parametrize("make", SINKS.values(), ids=SINKS)
def test_large_rows_of_a_flow_take_little_memory(make: Make, tmp_path: Path) -> None:
    writer = make(tmp_path / "large")
    with holding_at_most(MOST * SIZE):
        Flow.from_iterable(rows()).subscribe(writer)
        assert writer.wait(PATIENCE)
    assert writer.error is None


def test_large_rows_of_a_batch_are_made_a_few_at_a_time() -> None:
    batch = pyarrow.table({"number": range(ROWS), "content": [bytes(SIZE)] * ROWS})
    with holding_at_most(MOST * SIZE):
        found = [row[0] for some in rows_in("sink", batch, None) for row in some]
    assert found == [*range(ROWS)]
