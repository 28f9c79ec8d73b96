"""Any number of sinks, Spark's own among them: each row once, whatever happens between two runs."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset
import pytest

from penstock import Flow
from penstock.delivery import DeliveryRefused, Epoch
from penstock.pipeline import AssemblyError, NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import SparkFailed, UserError, for_each_batch, write_with_spark

PATIENCE = 120
ROOT = Path(__file__).parents[2]


def made(sink: Any, settings: Any) -> Any:
    return sink


def assembled(
    folder: Path, count: int, through: Callable[..., Any] | None = None, **sinks: Any
) -> PipelineRun:
    """Numbers through Spark, in batches of four."""

    def on_spark(numbers: Any) -> Any:
        return numbers.on_spark("n long", batch_rows=4)

    pipeline = Pipeline(
        "numbers",
        sources={"numbers": lambda settings: Flow.range(count).map(lambda n: (n,))},
        transform=through or on_spark,
        sinks={name: partial(made, sink) for name, sink in sinks.items()},
    )
    return PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint=str(folder / "checkpoint")))


def ended(*arguments: Any, **sinks: Any) -> PipelineRun:
    run = assembled(*arguments, **sinks)
    run.start()
    assert run.wait(PATIENCE)
    return run


def numbers_in(lake: Path, reader: str = "read_parquet") -> list[int]:
    """Another program's view."""
    files = str(lake / "*" / f"*.{reader.removeprefix('read_').removesuffix('_auto')}")
    with duckdb.connect() as connection:
        query = f"SELECT n FROM {reader}('{files}', hive_partitioning = true) ORDER BY n"
        return [n for (n,) in connection.execute(query).fetchall()]


def fail_at(batch: int) -> Any:
    def function(dataframe: Any, batch_id: int) -> None:
        if batch_id == batch:
            raise OSError("no space left")

    return for_each_batch(function)


def test_all_sinks_get_all_rows_and_spark_computes_each_batch_once(tmp_path: Path) -> None:
    computed = tmp_path / "computed"

    def note(row: Any) -> Any:
        with computed.open("a") as file:
            file.write(f"{row.n}\n")
        return row

    rows: list[Any] = []
    counts: dict[int, int] = {}
    run = ended(
        tmp_path,
        10,
        lambda numbers: numbers.on_spark("n long", batch_rows=4).map(note),
        lake=write_with_spark("parquet", path=tmp_path / "lake"),
        counts=for_each_batch(lambda frame, batch_id: counts.update({batch_id: frame.count()})),
        rows=rows.append,
    )
    assert run.state == "completed", run.error
    assert [row.n for row in rows] == numbers_in(tmp_path / "lake") == [*range(10)]
    assert sum(counts.values()) == 10
    assert sorted(map(int, computed.read_text().split())) == [*range(10)]
    reading = run.status()
    shown = {stage.name: (stage.passed, stage.detail) for stage in reading.stages[-2:]}
    assert shown == {
        "lake": (len(counts), "whole batches, exactly once"),
        "counts": (len(counts), "whole batches, at least once"),
    }
    assert (reading.ledger.delivered, reading.ledger.lost) == (10, 0)


def test_sinks_of_spark_alone_need_no_rows_in_this_program(tmp_path: Path) -> None:
    run = ended(tmp_path, 10, lake=write_with_spark("parquet", path=tmp_path / "lake"))
    assert run.state == "completed", run.error
    table = pyarrow.dataset.dataset(tmp_path / "lake", partitioning="hive").to_table()
    assert sorted(table["n"].to_pylist()) == [*range(10)]
    assert run.status().ledger.lost == 0


@pytest.mark.full
@pytest.mark.parametrize("kind", ["json", "csv", "orc"])
def test_other_formats_are_folders_that_others_read(tmp_path: Path, kind: str) -> None:
    options: dict[str, Any] = {"header": True} if kind == "csv" else {}
    lake = tmp_path / "lake"
    run = ended(tmp_path, 10, lake=write_with_spark(kind, path=lake, **options))
    assert run.state == "completed", run.error
    if kind == "orc":
        table = pyarrow.dataset.dataset(lake, format="orc", partitioning="hive").to_table()
        assert sorted(table["n"].to_pylist()) == [*range(10)]
    else:
        assert numbers_in(lake, f"read_{kind}") == [*range(10)]


def test_a_batch_that_comes_again_is_written_once(tmp_path: Path) -> None:
    lake = write_with_spark("parquet", path=tmp_path / "lake")
    first = ended(tmp_path, 10, lake=lake, fails=fail_at(1))
    assert isinstance(first.error, UserError)
    assert "OSError: no space left (in for_each_batch, at " in str(first.error)
    rows: list[Any] = []
    second = ended(tmp_path, 10, lake=lake, rows=rows.append)
    assert second.state == "completed", second.error
    assert numbers_in(tmp_path / "lake") == [*range(10)]
    assert [row.n for row in rows][-6:] == [*range(4, 10)]  # batch 1 and what follows


def test_a_folder_that_a_crash_left_unfinished_is_written_again(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ended(tmp_path, 10, lake=write_with_spark("parquet", path=lake), fails=fail_at(1))
    mark = json.loads((lake / "_penstock_mark").read_text())
    last = mark["batch"]
    (lake / "_penstock_mark").write_text(json.dumps({**mark, "batch": last - 1}))
    for file in (lake / f"batch_id={last}").iterdir():
        file.unlink()  # as if it had been killed before the first file of this batch was there
    run = ended(tmp_path, 10, lake=write_with_spark("parquet", path=lake))
    assert run.state == "completed", run.error
    assert numbers_in(lake) == [*range(10)]


def test_one_that_joins_and_is_killed_in_its_first_batch_has_lost_nothing(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    ended(tmp_path, 12, fails=fail_at(2))
    ended(tmp_path, 12, lake=write_with_spark("parquet", path=lake), fails=fail_at(2))
    mark = json.loads((lake / "_penstock_mark").read_text())
    (lake / "_penstock_mark").write_text(json.dumps({**mark, "batch": -1}))
    for file in (lake / "batch_id=2").iterdir():
        file.unlink()  # as if it had been killed before the first file of this batch was there
    run = ended(tmp_path, 12, lake=write_with_spark("parquet", path=lake))
    assert run.state == "completed", run.error
    assert numbers_in(lake) == [*range(8, 12)]


def test_after_the_checkpoint_was_deleted_the_folder_is_refused_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    lake = write_with_spark("parquet", path=tmp_path / "lake")
    assert ended(tmp_path, 10, lake=lake).state == "completed"
    shutil.rmtree(tmp_path / "checkpoint")
    run = ended(tmp_path, 3, lake=lake)
    assert isinstance(run.error, DeliveryRefused)
    assert "was written from another checkpoint" in str(run.error)
    assert numbers_in(tmp_path / "lake") == [*range(10)]


def test_after_an_older_checkpoint_was_restored_the_folder_is_refused_and_left_as_it_is(
    tmp_path: Path,
) -> None:
    lake = write_with_spark("parquet", path=tmp_path / "lake")
    ended(tmp_path, 10, lake=lake, fails=fail_at(1))
    backup = tmp_path / "backup"
    subprocess.run(["cp", "-a", tmp_path / "checkpoint", backup], check=True)
    assert ended(tmp_path, 10, lake=lake).state == "completed"
    shutil.rmtree(tmp_path / "checkpoint")
    backup.rename(tmp_path / "checkpoint")
    run = ended(tmp_path, 20, lake=lake)
    assert isinstance(run.error, DeliveryRefused)
    assert numbers_in(tmp_path / "lake") == [*range(10)]


def test_a_folder_of_somebody_else_is_refused_before_anything_is_taken(tmp_path: Path) -> None:
    (tmp_path / "lake").mkdir()
    (tmp_path / "lake" / "batch_id=0").mkdir()
    (tmp_path / "lake" / "batch_id=0" / "precious").write_text("data")
    run = ended(tmp_path, 10, lake=write_with_spark("parquet", path=tmp_path / "lake"))
    assert isinstance(run.error, DeliveryRefused)
    assert "penstock has not written what is there, such as batch_id=0" in str(run.error)
    assert (tmp_path / "lake" / "batch_id=0" / "precious").read_text() == "data"
    assert run.status().ledger.taken == 0


def test_rows_with_a_column_of_that_name_are_refused(tmp_path: Path) -> None:
    run = ended(
        tmp_path,
        3,
        lambda numbers: numbers.on_spark("batch_id long"),
        lake=write_with_spark("parquet", path=tmp_path / "lake"),
    )
    assert isinstance(run.error, SparkFailed)
    assert "have a column of that name" in str(run.error)


@pytest.mark.parametrize(
    ("through", "said"),
    [
        (
            lambda numbers: numbers.on_spark("n long").rows().map(lambda row: row.n),
            "the sink lake is one of Spark's, and would see other rows than come out of map",
        ),
        (
            lambda numbers: numbers.on_spark("n long").rows().buffer(2),
            "would see other rows than come out of buffer",
        ),
        (
            lambda numbers: numbers.on_spark("n long").write("parquet", path="lake"),
            "write gives no elements, so the sinks .rows, lake. would get none; .*write_with",
        ),
        (
            lambda numbers: numbers.on_spark("n long").for_each_batch(print),
            "for_each_batch gives no elements, .* name penstock.spark.for_each_batch",
        ),
        (
            lambda numbers: numbers.on_spark("n long").for_each_partition(print),
            "for_each_partition gives no elements",
        ),
        (lambda numbers: numbers, "the sink lake is one of Spark's, and numbers does not go"),
        (
            lambda numbers: (
                numbers.on_spark("n long").rows().merge(numbers.on_spark("n long").rows())
            ),
            "numbers: the flow comes from Spark in 2 places, .* join them on Spark, by union",
        ),
    ],
    ids=["map", "buffer", "write", "for_each_batch", "for_each_partition", "no Spark", "merge"],
)
def test_sinks_that_would_get_nothing_or_other_rows_are_refused(
    tmp_path: Path, through: Callable[..., Any], said: str
) -> None:
    lake = write_with_spark("parquet", path=tmp_path / "lake")
    with pytest.raises(AssemblyError, match=said) as refused:
        assembled(tmp_path, 3, through, rows=print, lake=lake)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("kind", ["jdbc", "delta", "", None])
def test_formats_that_have_no_folders_are_refused(kind: Any) -> None:
    with pytest.raises(ValueError, match="parquet, orc, json, csv, not .* for_each_batch"):
        write_with_spark(kind, path="lake")


KILLED = """
import os, signal, sys
from pathlib import Path
from penstock.spark import for_each_batch, write_with_spark
from tests.pipeline.test_spark_sinks import ended

folder, batch, when = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]

def kill(dataframe, batch_id):
    if batch_id == batch:
        os.kill(0, signal.SIGKILL)

lake, killer = write_with_spark("parquet", path=folder / "lake"), for_each_batch(kill)
sinks = {"killer": killer, "lake": lake} if when == "before" else {"lake": lake, "killer": killer}
run = ended(folder, 14, **sinks)
sys.exit(0 if run.state == "completed" else str(run.error))
"""


@pytest.mark.full
@pytest.mark.timeout(600)
def test_kills_before_and_after_a_folder_is_written_leave_each_row_once(tmp_path: Path) -> None:
    for batch, when in ((0, "before"), (0, "after"), (1, "after"), (2, "before"), (99, "never")):
        said = tmp_path / "said"
        with said.open(
            "w"
        ) as output:  # no pipe: workers of Spark may outlive the group for a while
            process = subprocess.run(
                [sys.executable, "-c", KILLED, str(tmp_path), str(batch), when],
                cwd=ROOT,
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                start_new_session=True,
                check=False,
                stdout=output,
                stderr=output,
            )
        expected = 0 if when == "never" else -signal.SIGKILL
        assert process.returncode == expected, said.read_text()
    assert numbers_in(tmp_path / "lake") == [*range(14)]


def test_a_sink_says_what_it_would_do_without_touching_anything(tmp_path: Path) -> None:
    lake, epoch = write_with_spark("parquet", path=tmp_path / "lake"), Epoch.begun()
    assert lake.check(epoch) == f"{tmp_path}/lake is new"
    assert not (tmp_path / "lake").exists()
    (tmp_path / "lake" / "batch_id=0").mkdir(parents=True)
    (tmp_path / "lake" / "_penstock_mark").write_text(epoch.mark(3))
    assert lake.check(epoch) == f"{tmp_path}/lake has batches up to 3"
    with pytest.raises(DeliveryRefused, match="was written from another checkpoint"):
        lake.check(None)
