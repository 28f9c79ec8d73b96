"""What Iceberg tables hold, as DuckDB reads it: by the manifests of the table, without our code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog

from tests.lake.delta import rows_of_files

__all__ = ["catalog_in", "catalog_of", "iceberg_files", "iceberg_rows", "settings_in"]


def catalog_in(folder: Path) -> SqlCatalog:
    """A catalog in SQLite, with the namespace ``lake``, made if it is not there."""
    return catalog_of(settings_in(folder))


def catalog_of(settings: dict[str, str]) -> SqlCatalog:
    """The same by its settings."""
    others = {name: value for name, value in settings.items() if name != "name"}
    catalog = SqlCatalog(settings["name"], **others)
    catalog.create_namespace_if_not_exists("lake")
    return catalog


def settings_in(folder: Path) -> dict[str, str]:
    """What pyiceberg needs to find it again."""
    return {
        "name": "ours",
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": folder.as_uri(),
    }


def iceberg_rows(catalog: Catalog, name: str = "lake.rows") -> list[dict[str, Any]]:
    """All rows of a table, in the order in which they were committed, if it has been made."""
    return rows_of_files(iceberg_files(catalog, name)) if catalog.table_exists(name) else []


def iceberg_files(catalog: Catalog, name: str) -> list[str]:
    """The files of the newest snapshot, in the order in which they were committed."""
    entries = catalog.load_table(name).inspect.entries().to_pylist()
    entries.sort(key=lambda entry: entry["sequence_number"])
    return [entry["data_file"]["file_path"] for entry in entries]
