"""Tables of Delta Lake and Iceberg on S3, read back by plain requests and DuckDB."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deltalake import DeltaTable

from penstock import Flow
from penstock.connectors import Writer, read_delta, read_iceberg, write_delta, write_iceberg
from penstock.delivery import DeliveryRefused, Epoch
from tests.connectors.delivery.lives import Checkpoint, live, lived, refused
from tests.lake.iceberg import catalog_of
from tests.lake.numbered import numbers
from tests.lake.on_s3 import delta_options, delta_rows_at, iceberg_rows_at, iceberg_settings
from tests.lake.tables import NAME
from tests.servers.forwarder import forwarding
from tests.servers.s3 import S3Server, running_s3

pytestmark = [pytest.mark.s3, pytest.mark.timeout(120)]

SECRET = "s3cret"


class Table(NamedTuple):
    """One of either kind; ``rows`` are those that others find."""

    write: Callable[[], Writer]
    read: Callable[..., Flow[Any]]
    rows: Callable[[], list[Any]]


def delta_table(server: S3Server, folder: Path) -> Table:
    place, options = f"{server.create()}/some/rows", delta_options(server.url)
    return Table(
        lambda: write_delta(place, storage_options=options),
        lambda **more: read_delta(place, storage_options=options, **more),
        lambda: delta_rows_at(server, place, folder),
    )


def iceberg_table(server: S3Server, folder: Path) -> Table:
    settings = iceberg_settings(folder, server.url, server.create())

    def rows() -> list[Any]:
        with closing(catalog_of(settings)) as catalog:
            return iceberg_rows_at(server, catalog, NAME, folder)

    rows()  # makes the catalog
    return Table(
        lambda: write_iceberg(settings, NAME),
        lambda **more: read_iceberg(settings, NAME, **more),
        rows,
    )


@pytest.fixture(params=[delta_table, iceberg_table], ids=["delta", "iceberg"])
def table(request: pytest.FixtureRequest, s3_server: S3Server, tmp_path: Path) -> Table:
    made: Table = request.param(s3_server, tmp_path)
    return made


# A life that breaks off closes nothing, of which newer Pythons warn.
@pytest.mark.filterwarnings("ignore:unclosed database:ResourceWarning")
def test_each_row_is_there_once_over_restarts_amid_a_batch(table: Table) -> None:
    batches = [numbers(1, 2), [], numbers(3), numbers(4, 5)]
    checkpoint = Checkpoint()
    for steps in (6, 5, 8):
        life = live(checkpoint, table.write(), batches)
        for _ in range(steps):
            next(life)
    del life
    gc.collect()
    for _ in range(2):
        lived(checkpoint, table.write(), batches)
        assert table.rows() == numbers(1, 2, 3, 4, 5)
    assert table.read().to_list().run_sync() == numbers(1, 2, 3, 4, 5)


def test_what_is_added_is_followed_and_a_position_goes_on(table: Table) -> None:
    checkpoint = Checkpoint()
    lived(checkpoint, table.write(), [numbers(1, 2)])
    arriving = table.read(follow=True, poll=0.01)
    life = arriving.take(4).blocking()
    assert [next(life), next(life)] == numbers(1, 2)
    lived(checkpoint, table.write(), [numbers(1, 2), numbers(3, 4)])
    assert [*life] == numbers(3, 4)


def test_of_two_that_write_one_is_refused(table: Table) -> None:
    first, second = table.write().sink, table.write().sink
    epoch = Epoch.begun()
    first.open(epoch)
    second.open(Epoch.begun(epoch.starts))
    for sink in (first, second):
        sink.begin(0)
        sink({"n": 1})
    second.commit(0)
    with pytest.raises(DeliveryRefused, match="was written by another pipeline since"):
        first.commit(0)
    first.close()
    second.close()
    assert table.rows() == numbers(1)


@pytest.mark.parametrize("lost", ["request", "answer"])
def test_a_commit_whose_answer_is_lost_is_known_again(
    s3_server: S3Server, tmp_path: Path, lost: str
) -> None:
    """The library asks once more, and finds the version taken, by itself."""
    place = f"{s3_server.create()}/rows"
    with forwarding(s3_server.port) as way:
        options = delta_options(f"http://127.0.0.1:{way.port}")
        checkpoint = Checkpoint()
        sink = write_delta(place, storage_options=options).sink
        sink.open(checkpoint.begin_run())
        for batch in range(3):
            sink.begin(batch)
            sink({"n": batch})
            way.lose(lost, f"PUT /{place[5:]}/_delta_log/{batch + 1:020}.json".encode())
            sink.commit(batch)
        sink.close()
    assert delta_rows_at(s3_server, place, tmp_path) == numbers(0, 1, 2)


@pytest.mark.full
def test_who_is_not_let_in_is_told_so_without_the_secret(tmp_path: Path) -> None:
    with running_s3(strict=True) as server:
        options = delta_options(server.url)
        line = refused(write_delta("s3://bucket/rows", storage_options=options), None)
        assert "the Delta table s3://bucket/rows cannot be read: " in line
        assert "InvalidAccessKeyId: " in line
        reading = read_delta("s3://bucket/rows", storage_options=options)
        with pytest.raises(ValueError, match=r"^read_delta: s3://bucket/rows: .*AccessKey") as e:
            reading.to_list().run_sync()
        settings = iceberg_settings(tmp_path, server.url, "s3://bucket")
        with closing(catalog_of(settings)):
            sink = write_iceberg(settings, NAME).sink
        sink.open(None)
        sink({"n": 1})
        with pytest.raises(
            OSError, match=r"^write_iceberg: lake.rows: .*not exist in our"
        ) as other:
            sink.close()
    for text in (line, str(e.value), str(other.value), repr(reading)):
        assert SECRET not in text
        assert "\n" not in text


def test_a_bucket_that_is_not_there_is_named(s3_server: S3Server, tmp_path: Path) -> None:
    options = delta_options(s3_server.url)
    line = refused(write_delta("s3://none/rows", storage_options=options), None)
    assert line.endswith("NoSuchBucket: The specified bucket does not exist")
    with pytest.raises(FileNotFoundError, match="there is no Delta table at s3://bucket-"):
        read_delta(f"{s3_server.create()}/no", storage_options=options).to_list().run_sync()
    settings = iceberg_settings(tmp_path, s3_server.url, "s3://none")
    with closing(catalog_of(settings)):
        sink = write_iceberg(settings, NAME).sink
    sink.open(None)
    sink({"n": 1})
    with pytest.raises(OSError, match="NO_SUCH_BUCKET"):
        sink.close()


def test_a_store_without_conditional_writes_is_not_written(s3_server: S3Server) -> None:
    """The library refuses what would not be safe."""
    place = f"{s3_server.create()}/rows"
    options = {**delta_options(s3_server.url), "aws_conditional_put": "disabled"}
    sink = write_delta(place, storage_options=options).sink
    sink.open(Epoch.begun())
    sink.begin(0)
    sink({"n": 1})
    with pytest.raises(OSError, match="when conditional put is disabled"):
        sink.commit(0)
    sink.close()
    assert not DeltaTable.is_deltatable(place, delta_options(s3_server.url))
