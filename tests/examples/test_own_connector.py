"""The connector of one's own, as its author would judge it."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

from penstock.tck import verify_publisher
from penstock.testing import ManualSubscriber, SinkParty, verify_sink

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_connector.py"
COLUMNS = {"number": "BIGINT", "text": "TEXT"}


def example() -> ModuleType:
    """A program elsewhere would import it."""
    spec = spec_from_file_location("own_connector", EXAMPLE)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


class DuckdbParty(SinkParty):
    def make(self, place: Path) -> Any:
        return example().write_duckdb(place / "rows.duckdb", "rows", COLUMNS)

    def stored(self, place: Path) -> Sequence[Any]:
        if not (place / "rows.duckdb").exists():
            return []
        with duckdb.connect(str(place / "rows.duckdb")) as database:
            found = database.execute("SELECT number, text FROM rows").fetchall()
        return [{"number": number, "text": text} for number, text in found]


@pytest.mark.timeout(300)
def test_the_sink_stands_the_fault_series(tmp_path: Path) -> None:
    verify_sink(DuckdbParty(), tmp_path, steps=3, moments=1).raise_if_failed()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "rows.duckdb"
    with duckdb.connect(str(path)) as database:
        database.execute("CREATE TABLE rows AS SELECT range AS number FROM range(10000)")
    return path


def test_the_source_asks_for_what_is_wanted(table: Path) -> None:
    flow = example().read_duckdb(table, "rows", key="number")
    flow.subscribe(subscriber := ManualSubscriber[Any](request=3))
    subscriber.await_elements(3)
    subscriber.cancel()
    assert subscriber.elements == [{"number": 0}, {"number": 1}, {"number": 2}]


@pytest.mark.full
@pytest.mark.timeout(300)
def test_the_source_keeps_all_rules(tmp_path: Path, search_briefly: None) -> None:
    made: dict[int, Path] = {}

    def flow_of(n: int) -> Any:
        if n not in made:
            made[n] = tmp_path / f"{n}.duckdb"
            with duckdb.connect(str(made[n])) as database:
                database.execute(f"CREATE TABLE rows AS SELECT range AS number FROM range({n})")
        return example().read_duckdb(made[n], "rows", key="number")

    verify_publisher(
        flow_of, max_elements=10_000, answers_within=0.5, repeatable=True
    ).raise_if_failed()
