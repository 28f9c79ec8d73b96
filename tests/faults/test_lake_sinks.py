"""Programs that are killed while they write tables of files, or make one at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from random import Random
from subprocess import TimeoutExpired
from typing import Any

import pytest

from tests.faults.lake_sink_process import KINDS, LAKE_CRASHES, ONE_ROW, Rival, on_s3, started
from tests.faults.sink_process import BATCHES, rows_of
from tests.lake.delta import delta_rows
from tests.lake.iceberg import catalog_in, catalog_of, iceberg_rows
from tests.lake.on_s3 import delta_options, delta_rows_at, iceberg_rows_at
from tests.servers.s3 import S3Server

pytestmark = [pytest.mark.full, pytest.mark.s3, pytest.mark.timeout(1_200)]

KILLED = -9
KILLS = 20
RIVALS = 4
ROUNDS = 20
PATIENCE = 120
EXPECTED = [row for batch in range(BATCHES) for row in rows_of(batch)]


class Lake:
    """What others find in the tables."""

    def __init__(self, server: S3Server, folder: Path, bucket: str) -> None:
        self._server = server
        self.folder = folder
        self.bucket = bucket
        self._here = catalog_in(folder)
        self._there = catalog_of(on_s3(folder))

    def rows(self, kind: str, name: str = "rows") -> list[dict[str, Any]]:
        server, fetched = self._server, self.folder / "fetched"
        fetched.mkdir(exist_ok=True)
        found = {
            "delta": lambda: delta_rows(self.folder / name),
            "iceberg": lambda: iceberg_rows(self._here, f"lake.{name}"),
            "delta on s3": lambda: delta_rows_at(server, f"{self.bucket}/{name}", fetched),
            "iceberg on s3": lambda: iceberg_rows_at(server, self._there, f"lake.{name}", fetched),
        }
        return found[kind]()

    def close(self) -> None:
        self._here.close()
        self._there.close()


@pytest.fixture
def lake(s3_server: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lake]:
    for name, value in delta_options(s3_server.url).items():
        monkeypatch.setenv(name, value)
    bucket = s3_server.create()
    monkeypatch.setenv("PENSTOCK_TEST_BUCKET", bucket)
    with closing(Lake(s3_server, tmp_path, bucket)) as made:
        yield made


def test_of_processes_that_make_a_table_at_once_one_comes_through(lake: Lake) -> None:
    """All are ready before the first one may go on."""
    with ExitStack() as leaving:
        programs = [Rival(lake.folder, lake.bucket) for _ in range(RIVALS)]
        for program in programs:
            leaving.callback(program.end)
        for number, kind in enumerate([*KINDS] * ROUNDS):
            name = f"table{number}"
            heard = [*asked(programs, f"{kind} as {name}"), *asked(programs, "go")]
            assert heard[:RIVALS] == ["ready"] * RIVALS
            assert heard.count("stored") == 1, heard
            for line in {*heard} - {"ready", "stored"}:
                assert "was written by another pipeline since" in line
            assert lake.rows(kind, name) == [ONE_ROW]


def asked(programs: list[Rival], line: str) -> list[str]:
    for program in programs:
        program.say(line)
    return [program.hear() for program in programs]


def test_each_row_is_there_once_after_kills(lake: Lake) -> None:
    """At each step, and at any moment."""
    random = Random(5)
    for point in LAKE_CRASHES:
        program = started(lake.folder, lake.bucket, "--crash", point, "--time", "2")
        assert program.wait(PATIENCE) == KILLED, point
    for _ in range(KILLS):
        program = started(lake.folder, lake.bucket)
        try:
            assert program.wait(random.uniform(0.5, 3.0)) == 0  # it may be done by then
        except TimeoutExpired:
            program.kill()
            program.wait()
    for _ in range(2):
        assert started(lake.folder, lake.bucket).wait(PATIENCE) == 0
        for kind in KINDS:
            assert lake.rows(kind) == EXPECTED, kind
