"""Sinks before the fault series: ours, and some that break their promise, each in one way.

Each process loads what its own sink needs, and no more.
"""

from __future__ import annotations

import csv
import json
import os
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from penstock import connectors
from penstock.delivery import BatchProgress, Epoch, Level
from penstock.testing import SinkParty

__all__ = [
    "DATABASE",
    "NATS",
    "REDIS",
    "CommitsEarly",
    "CsvFile",
    "DeltaTable",
    "Forgotten",
    "IcebergTable",
    "JsonLinesFile",
    "Late",
    "NatsStream",
    "ParquetFolder",
    "PlainParty",
    "PostgresTable",
    "RedisStream",
    "SqliteTable",
    "Trusting",
]

DATABASE = "PENSTOCK_TEST_DATABASE_OF_PARTIES"
NATS = "PENSTOCK_TEST_NATS_OF_PARTIES"
REDIS = "PENSTOCK_TEST_REDIS_OF_PARTIES"


class JsonLinesFile(SinkParty):
    def make(self, place: Path) -> Any:
        return connectors.write_json_lines(place / "rows.jsonl")

    def stored(self, place: Path) -> Sequence[Any]:
        file = place / "rows.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        return [json.loads(line) for line in lines]


class CsvFile(SinkParty):
    def make(self, place: Path) -> Any:
        return connectors.write_csv(place / "rows.csv", ["number", "text"])

    def stored(self, place: Path) -> Sequence[Any]:
        if not (place / "rows.csv").exists():
            return []
        with (place / "rows.csv").open(newline="") as file:
            return [{**row, "number": int(row["number"])} for row in csv.DictReader(file)]


class ParquetFolder(SinkParty):
    def make(self, place: Path) -> Any:
        return connectors.write_parquet(place / "rows")

    def stored(self, place: Path) -> Sequence[Any]:
        if not [*(place / "rows").glob("*.parquet")]:
            return []
        import duckdb

        with duckdb.connect() as connection:
            files = f"{place}/rows/*.parquet"
            found = connection.execute("SELECT number, text FROM read_parquet(?)", [files])
            return [{"number": number, "text": text} for number, text in found.fetchall()]


class DeltaTable(SinkParty):
    def make(self, place: Path) -> Any:
        return connectors.write_delta(place / "rows")

    def stored(self, place: Path) -> Sequence[Any]:
        from tests.lake.delta import delta_rows

        return delta_rows(place / "rows")


class IcebergTable(SinkParty):
    def make(self, place: Path) -> Any:
        from tests.lake.iceberg import catalog_in, settings_in

        catalog_in(place).close()
        return connectors.write_iceberg(settings_in(place), "lake.rows")

    def stored(self, place: Path) -> Sequence[Any]:
        from tests.lake.iceberg import catalog_in, iceberg_rows

        with closing(catalog_in(place)) as catalog:
            return iceberg_rows(catalog)


class SqliteTable(SinkParty):
    def make(self, place: Path) -> Any:
        return connectors.write_sqlite(place / "rows.db", "rows", timeout=0.1)

    def stored(self, place: Path) -> Sequence[Any]:
        with closing(sqlite3.connect(place / "rows.db")) as database:
            database.row_factory = sqlite3.Row
            try:
                return [dict(row) for row in database.execute("SELECT * FROM rows")]
            except sqlite3.OperationalError:
                return []  # nothing was committed


class PostgresTable(SinkParty):
    def make(self, place: Path) -> Any:
        return connectors.write_postgres(self._database.conninfo, place.name, timeout=0.2)

    @property
    def _database(self) -> Any:
        from tests.servers.postgres import Database

        name, port = os.environ[DATABASE].split()
        return Database(name, int(port))

    def stored(self, place: Path) -> Sequence[Any]:
        database = self._database
        if database.psql(f"SELECT to_regclass('{place.name}')") == [("\\N",)]:
            return []
        found = database.psql(f"SELECT number, text FROM {place.name}")
        return [{"number": int(number), "text": text} for number, text in found]


class RedisStream(SinkParty):
    def make(self, place: Path) -> Any:
        return connectors.write_redis_stream(os.environ[REDIS], place.name)

    def stored(self, place: Path) -> Sequence[Any]:
        from tests.servers.redis import entries_at

        found = entries_at(os.environ[REDIS], place.name)
        return [{**entry, "number": int(entry["number"])} for entry in found]


class NatsStream(SinkParty):
    def make(self, place: Path) -> Any:
        from tests.servers.nats import create_at

        create_at(os.environ[NATS], place.name)
        return connectors.write_jetstream(os.environ[NATS], place.name, f"{place.name}.rows")

    def stored(self, place: Path) -> Sequence[Any]:
        from tests.servers.nats import messages_at

        return [json.loads(data) for _, data, _ in messages_at(os.environ[NATS], place.name)]


# Those that break their promise.


class PlainFile:
    """Appends lines, and knows no batches: each is there at least once."""

    level: Level = "at least once"

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines: list[str] = []

    def open(self, epoch: Epoch | None) -> None:
        pass

    def begin(self, batch: int) -> bool:
        self._lines = []
        return True

    def __call__(self, element: Any) -> None:
        self._lines.append(json.dumps(element))

    def commit(self, batch: int) -> None:
        self._write()

    def close(self) -> None:
        self._write()

    def _write(self) -> None:
        with self._path.open("a") as file:
            file.writelines(f"{line}\n" for line in self._lines)
        self._lines = []


class PlainParty(JsonLinesFile):
    def make(self, place: Path) -> Any:
        return PlainFile(place / "rows.jsonl")


class Forgetful(PlainFile):
    """Promises more than it keeps: it has no marks."""

    level: Level = "exactly once"


class Forgotten(JsonLinesFile):
    def make(self, place: Path) -> Any:
        return Forgetful(place / "rows.jsonl")


class WritesLater(PlainFile):
    """Says that a batch is stored, and stores it with the next one."""

    def begin(self, batch: int) -> bool:
        self._write()
        return True

    def commit(self, batch: int) -> None:
        pass


class Late(JsonLinesFile):
    def make(self, place: Path) -> Any:
        return WritesLater(place / "rows.jsonl")


class MarkedFile(PlainFile):
    """Keeps the mark of its last batch, and asks nobody whose it is."""

    level: Level = "exactly once"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mark = path.with_suffix(".mark")

    def begin(self, batch: int) -> bool:
        self._lines = []
        return not self._mark.exists() or int(self._mark.read_text()) < batch

    def commit(self, batch: int) -> None:
        self._write()
        self._mark.write_text(str(batch))

    def open(self, epoch: Epoch | None) -> None:
        self._in_batches = epoch is not None

    def close(self) -> None:
        if not self._in_batches:
            self._write()


class Trusting(JsonLinesFile):
    def make(self, place: Path) -> Any:
        return MarkedFile(place / "rows.jsonl")


class EagerFile(PlainFile):
    """Writes each element as it comes, and cannot take it back."""

    level: Level = "exactly once"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._mark = path.with_suffix(".mark")
        self._progress = BatchProgress("the file")

    def open(self, epoch: Epoch | None) -> None:
        mark = self._mark.read_text() if self._mark.exists() else None
        self._progress = BatchProgress("the file", epoch, mark)

    def begin(self, batch: int) -> bool:
        return self._progress.begin(batch)

    def __call__(self, element: Any) -> None:
        super().__call__(element)
        self._write()

    def commit(self, batch: int) -> None:
        mark = self._progress.mark(batch)
        if mark is not None:
            self._mark.write_text(mark)
        self._progress.committed(batch)


class CommitsEarly(JsonLinesFile):
    def make(self, place: Path) -> Any:
        return EagerFile(place / "rows.jsonl")
