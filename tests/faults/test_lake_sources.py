"""``kill -9`` of a program while it reads tables of files: it goes on with the very next row."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pyarrow
import pytest
from deltalake import write_deltalake
from pyarrow import parquet

from tests.faults.lake_process import COUNT, KINDS, rows_kept, started
from tests.lake.iceberg import catalog_in

KILLED = -9
KILLS = 20
FILES = 5


def filled(folder: Path) -> None:
    """The same numbers in files of each kind, in the order of their commits."""
    (folder / "parquet").mkdir()
    catalog = catalog_in(folder)
    schema = pyarrow.schema([("n", pyarrow.int64())])
    table = catalog.create_table("lake.rows", schema)
    for part in range(FILES):
        numbers = range(part * COUNT // FILES, (part + 1) * COUNT // FILES)
        rows = pyarrow.table({"n": numbers}, schema=schema)
        parquet.write_table(rows, folder / "parquet" / f"{part}.parquet", row_group_size=1_001)
        write_deltalake(folder / "delta", rows, mode="append")
        table.append(rows)
    catalog.close()


@pytest.mark.full
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("kind", KINDS)
def test_each_row_comes_once_over_kills(tmp_path: Path, kind: str) -> None:
    filled(tmp_path)
    random = Random(11)
    for _ in range(KILLS):
        assert started(tmp_path, kind, random.randrange(1, 40)) == KILLED
    for _ in range(2):
        assert started(tmp_path, kind) == 0
        assert rows_kept(tmp_path, kind) == [*range(COUNT)]
