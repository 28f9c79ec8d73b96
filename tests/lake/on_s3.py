"""Tables of files on S3: what lets clients in, and what plain requests find there."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyiceberg.catalog import Catalog

from tests.lake.delta import delta_rows, rows_of_files
from tests.lake.iceberg import iceberg_files, settings_in
from tests.servers.s3 import REGION, WHO, S3Server

__all__ = [
    "delta_options",
    "delta_rows_at",
    "iceberg_rows_at",
    "iceberg_settings",
]


def delta_options(url: str) -> dict[str, str]:
    """For the library of Delta; as variables of the environment they mean the same."""
    return {**WHO, "AWS_ENDPOINT_URL": url, "AWS_ALLOW_HTTP": "true"}


def iceberg_settings(folder: Path, url: str, bucket: str) -> dict[str, str]:
    """A catalog in a folder, whose tables are on S3."""
    return {
        **settings_in(folder),
        "warehouse": bucket,
        "s3.endpoint": url,
        "s3.region": REGION,
        "s3.access-key-id": WHO["AWS_ACCESS_KEY_ID"],
        "s3.secret-access-key": WHO["AWS_SECRET_ACCESS_KEY"],
    }


def delta_rows_at(server: S3Server, place: str, folder: Path) -> list[dict[str, Any]]:
    """All rows of a table, as its files have them in a folder of this machine."""
    return delta_rows(fetched(server, place, folder))


def iceberg_rows_at(
    server: S3Server, catalog: Catalog, name: str, folder: Path
) -> list[dict[str, Any]]:
    """All rows of a table, in the order in which they were committed."""
    if not catalog.table_exists(name):
        return []
    bucket = "/".join(catalog.load_table(name).location().split("/")[:3])
    there = fetched(server, bucket, folder)
    files = iceberg_files(catalog, name)
    return rows_of_files([str(there / file.removeprefix(f"{bucket}/")) for file in files])


def fetched(server: S3Server, place: str, folder: Path) -> Path:
    """All files below a place, in a new folder."""
    target = folder / f"fetched-{sum(1 for _ in folder.glob('fetched-*'))}"
    for name in server.files(place):
        file = target / unquote(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(server.content(f"{place}/{name}"))
    return target
