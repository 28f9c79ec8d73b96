"""Before the kit: tables of Delta Lake and Iceberg, and those who write them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from deltalake import write_deltalake
from pyarrow import parquet
from pyiceberg.catalog import Catalog

from penstock import Flow
from penstock.connectors import (
    Writer,
    read_delta,
    read_iceberg,
    read_parquet,
    write_delta,
    write_iceberg,
)
from penstock.tck import verify_publisher, verify_subscriber
from tests.connectors.test_conformance import PROMISES, Writers
from tests.lake.iceberg import catalog_in

pytestmark = [
    pytest.mark.full,
    pytest.mark.timeout(600),
    pytest.mark.usefixtures("search_briefly"),
]


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Catalog]:
    made = catalog_in(tmp_path)
    yield made
    made.close()


class Tables:
    """Tables of n rows, made once."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self._folder = folder
        self._catalog = catalog
        self._made: set[str] = set()

    def parquet(self, n: int) -> Flow[Any]:
        folder = self._folder / f"parquet{n}"
        if self._is_new(folder.name):
            folder.mkdir()
            parquet.write_table(numbers(n), folder / "a.parquet", row_group_size=100)
            parquet.write_table(numbers(0), folder / "b.parquet")
        return read_parquet(folder)

    def delta(self, n: int) -> Flow[Any]:
        table = self._folder / f"delta{n}"
        if self._is_new(table.name):
            write_deltalake(table, numbers(n))
        return read_delta(table)

    def followed_delta(self, n: int) -> Flow[Any]:
        self.delta(n)
        return read_delta(self._folder / f"delta{n}", follow=True, poll=0.01)

    def iceberg(self, n: int) -> Flow[Any]:
        name = f"lake.iceberg{n}"
        if self._is_new(name):
            self._catalog.create_table(name, numbers(n).schema).append(numbers(n))
        return read_iceberg(self._catalog, name)

    def _is_new(self, name: str) -> bool:
        is_new = name not in self._made
        self._made.add(name)
        return is_new


def numbers(n: int) -> pyarrow.Table:
    return pyarrow.table({"number": pyarrow.array(range(n), pyarrow.int64())})


@pytest.mark.parametrize("kind", ["parquet", "delta", "iceberg"])
def test_a_table_keeps_all_rules(kind: str, tmp_path: Path, catalog: Catalog) -> None:
    tables = Tables(tmp_path, catalog)
    verify_publisher(getattr(tables, kind), repeatable=True, **PROMISES).raise_if_failed()


def test_a_table_that_is_followed_keeps_all_rules(tmp_path: Path, catalog: Catalog) -> None:
    tables = Tables(tmp_path, catalog)
    verify_publisher(tables.followed_delta, completes=False, **PROMISES).raise_if_failed()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_a_writer_of_tables_keeps_all_rules(kind: str, tmp_path: Path, catalog: Catalog) -> None:
    makers: dict[str, Callable[[Path], Writer]] = {
        "delta": write_delta,
        "iceberg": lambda path: write_iceberg(catalog, f"lake.written{path.name}"),
    }
    with closing(Writers(tmp_path, makers[kind])) as writers:
        verify_subscriber(writers, element=lambda n: {"number": n}).raise_if_failed()
