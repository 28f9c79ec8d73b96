"""The fault series for sinks: ours stand it, and each promise that is broken is found."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from penstock.testing import SinkParty, verify_sink
from tests.quick import quick
from tests.servers.nats import NatsServer
from tests.servers.postgres import Database
from tests.servers.redis import RedisServer
from tests.testing import sink_parties
from tests.testing.sink_parties import DATABASE, NATS, REDIS

pytestmark = pytest.mark.timeout(600)

WITHOUT = "without a checkpoint, all elements are there"
BATCHES = "all elements of all batches are there"
AGAIN = "a batch that is begun again counts once"
STEPS = "after a kill at a step of a run"
MOMENTS = "after a kill at any moment"
KNOWN = "a batch that comes again is known"
NO_TRACE = "what is not committed leaves no trace"
ANOTHER = "what another checkpoint wrote is refused"
OLDER = "an older checkpoint is refused"
LOST = "a sink that has lost batches is refused"
RIVAL = "of two that write at once, one is refused"
ICEBERG = [] if find_spec("pyiceberg") is None else ["IcebergTable"]


@pytest.fixture
def extent(pytestconfig: pytest.Config) -> dict[str, Any]:
    """Kills at a few steps; with ``--full`` at each, and at random moments."""
    return {"moments": 20} if pytestconfig.getoption("full") else {"steps": 2, "moments": 0}


@pytest.mark.parametrize(
    "name",
    quick(
        ["JsonLinesFile", "CsvFile", "DeltaTable", *ICEBERG, "ParquetFolder", "SqliteTable"],
        ["JsonLinesFile"],
    ),
)
def test_our_sinks_stand_it(name: str, tmp_path: Path, extent: dict[str, Any]) -> None:
    report = verify_sink(getattr(sink_parties, name)(), tmp_path, **extent)
    report.raise_if_failed()
    assert report.kills >= 2


@pytest.mark.full  # tests/faults/test_postgres_sinks.py kills it every time
@pytest.mark.postgres
def test_tables_of_postgres_stand_it(
    tmp_path: Path,
    postgres_database: Database,
    monkeypatch: pytest.MonkeyPatch,
    extent: dict[str, Any],
) -> None:
    monkeypatch.setenv(DATABASE, f"{postgres_database.name} {postgres_database.port}")
    verify_sink(sink_parties.PostgresTable(), tmp_path / "rows", **extent).raise_if_failed()


@pytest.mark.full  # tests/faults/test_redis_sinks.py kills it every time
@pytest.mark.redis
def test_streams_of_redis_stand_it(
    tmp_path: Path,
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    extent: dict[str, Any],
) -> None:
    monkeypatch.setenv(REDIS, redis_server.url)
    place = tmp_path / redis_server.new_name()
    verify_sink(sink_parties.RedisStream(), place, **extent).raise_if_failed()


@pytest.mark.nats
def test_streams_of_nats_stand_it(
    tmp_path: Path,
    nats_server: NatsServer,
    monkeypatch: pytest.MonkeyPatch,
    extent: dict[str, Any],
) -> None:
    monkeypatch.setenv(NATS, nats_server.url)
    place = tmp_path / nats_server.new_name()
    verify_sink(sink_parties.NatsStream(), place, **extent).raise_if_failed()


def test_a_sink_that_promises_less_stands_less(tmp_path: Path) -> None:
    report = verify_sink(sink_parties.PlainParty(), tmp_path, steps=2, moments=1)
    report.raise_if_failed()
    assert {*report.verdicts} == {WITHOUT, BATCHES, AGAIN, STEPS, MOMENTS}


@pytest.mark.parametrize(
    ("party", "steps", "found"),
    [
        (sink_parties.Forgotten, 1, {KNOWN, NO_TRACE, ANOTHER, OLDER, LOST, RIVAL}),
        pytest.param(sink_parties.Late, None, {STEPS}, marks=pytest.mark.full),
        (sink_parties.Trusting, 1, {ANOTHER, OLDER, LOST, RIVAL}),
        (sink_parties.CommitsEarly, 5, {AGAIN, NO_TRACE, RIVAL, STEPS}),
    ],
)
def test_a_broken_promise_is_found(
    party: type[SinkParty], steps: int | None, found: set[str], tmp_path: Path
) -> None:
    report = verify_sink(party(), tmp_path, steps=steps, moments=0)
    assert {name for name, trouble in report.verdicts.items() if trouble} == found
    with pytest.raises(AssertionError, match="FAILED"):
        report.raise_if_failed()


class Outer:
    class Party(sink_parties.CsvFile):
        pass


@pytest.mark.parametrize("party", [object(), Outer.Party()])
def test_a_party_that_no_other_process_finds_is_refused(party: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="a class at the top of a module"):
        verify_sink(party, tmp_path)
