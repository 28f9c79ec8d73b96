"""A table of Delta Lake or of Iceberg, for tests of what holds for both."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow
from deltalake import write_deltalake

from penstock import Flow
from penstock.connectors import Writer, read_delta, read_iceberg, write_delta, write_iceberg
from tests.lake.delta import delta_rows
from tests.lake.iceberg import catalog_of, iceberg_rows, settings_in

__all__ = ["NAME", "TABLES", "Table"]

NAME: Final = "lake.rows"


class Table(NamedTuple):
    """``add``, ``drop`` and ``rows`` are what other programs do and find."""

    write: Callable[..., Writer]
    read: Callable[..., Flow[Any]]
    rows: Callable[[], list[Any]]
    add: Callable[[pyarrow.Table], None]
    drop: Callable[[], None]


def delta_in(folder: Path) -> Table:
    place = folder / "rows"
    return Table(
        lambda **options: write_delta(place, **options),
        lambda **options: read_delta(place, **options),
        lambda: delta_rows(place),
        lambda rows: write_deltalake(place, rows, mode="append", schema_mode="merge"),
        lambda: shutil.rmtree(place),
    )


def iceberg_in(folder: Path) -> Table:
    settings = settings_in(folder)

    def rows() -> list[Any]:
        with closing(catalog_of(settings)) as catalog:
            return iceberg_rows(catalog, NAME)

    def add(rows: pyarrow.Table) -> None:
        with closing(catalog_of(settings)) as catalog:
            table = catalog.create_table_if_not_exists(NAME, rows.schema)
            with table.update_schema() as update:
                update.union_by_name(rows.schema)
            table.append(rows)

    def drop() -> None:
        with closing(catalog_of(settings)) as catalog:
            catalog.drop_table(NAME)

    rows()  # makes the catalog
    return Table(
        lambda **options: write_iceberg(settings, NAME, **options),
        lambda **options: read_iceberg(settings, NAME, **options),
        rows,
        add,
        drop,
    )


TABLES: Final = {"delta": delta_in, "iceberg": iceberg_in}
