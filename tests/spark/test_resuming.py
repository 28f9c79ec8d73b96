"""A pipeline with a checkpoint goes on where each of its sources was, or is refused."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penstock import Flow, ThreadPool, VirtualTime
from penstock.connectors import read_json_lines, read_sqlite
from penstock.spark import CannotResume, SparkFlow
from penstock.spark.deployment import Deployment, deployed, spark_plan_in
from penstock.spark.plan import require_resumable
from penstock.testing import ManualPublisher, ManualSubscriber

SCHEMA = "number long"
PATIENCE = 100.0

pytestmark = pytest.mark.timeout(300)


def rows(*bounds: int) -> Flow[tuple[int]]:
    return Flow.range(*bounds).map(lambda number: (number,))


def live() -> Flow[tuple[int]]:
    return Flow.interval(1, clock=VirtualTime()).map(lambda number: (number,))


def through_spark(number: int) -> Flow[Any]:
    return rows(number).on_spark(SCHEMA, name="first").rows()


UNABLE: dict[str, tuple[Callable[[], Flow[Any]], str]] = {
    "a publisher": (lambda: Flow.from_publisher(ManualPublisher()), "from_publisher"),
    "a timer": (live, "interval"),
    "one of two": (lambda: Flow.merge(rows(3), live()), "interval"),
    "Spark": (lambda: through_spark(3), "on_spark"),
    "Spark, and more": (lambda: through_spark(3).map(lambda row: (row.number,)), "on_spark"),
    "concurrent flows": (lambda: rows(3).flat_map(Flow.of), "flat_map"),
    "state downstream of a merge": (lambda: Flow.merge(rows(3), rows(9)).take(5), "take"),
}


@pytest.mark.parametrize(("make", "words"), UNABLE.values(), ids=UNABLE)
def test_a_flow_that_cannot_go_on_is_refused_with_a_checkpoint_unless_it_is_to_go_on_live(
    make: Callable[[], Flow[Any]], words: str, tmp_path: Path
) -> None:
    place = tmp_path / "checkpoint"
    with pytest.raises(CannotResume) as caught:
        make().on_spark(SCHEMA, name="numbers", checkpoint=place)
    said = str(caught.value)
    assert "the pipeline 'numbers' has a checkpoint and could not go on" in said
    assert words in said
    assert 'resume="none"' in said
    assert "\n" not in said
    assert not place.exists()
    make().on_spark(SCHEMA, checkpoint=place, resume="none")
    make().on_spark(SCHEMA)


def test_a_checkpoint_that_is_given_from_outside_is_refused_where_it_is_known(
    tmp_path: Path,
) -> None:
    place = Deployment(checkpoint=str(tmp_path / "checkpoint"))
    flow = deployed(live().on_spark(SCHEMA).rows(), place)
    pipeline = spark_plan_in(flow)
    assert pipeline is not None
    with pytest.raises(CannotResume, match="interval at .*test_resuming.py"):
        require_resumable(pipeline)
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=1)
    flow.subscribe(subscriber)
    subscriber.await_end(PATIENCE)
    assert isinstance(subscriber.error, CannotResume)
    assert not (tmp_path / "checkpoint").exists()


@pytest.mark.parametrize("put_together", [SparkFlow.union, lambda a, b: a.join(b, "number")])
def test_a_stream_that_cannot_go_on_is_refused_beside_one_that_can(
    put_together: Callable[[SparkFlow, SparkFlow], SparkFlow], tmp_path: Path
) -> None:
    sound = rows(3).on_spark(SCHEMA, checkpoint=tmp_path / "checkpoint")
    with pytest.raises(CannotResume, match="input 2 of the pipeline"):
        put_together(sound, live().on_spark(SCHEMA))


def test_a_source_that_knows_its_positions_needs_no_function_for_them() -> None:
    source = Flow.resumable(lambda position: rows(3), position=lambda row: row[0])
    pipeline = spark_plan_in(source.on_spark(SCHEMA).rows())
    assert pipeline is not None
    assert pipeline.journaled[0].replay == "position"
    with pytest.raises(ValueError, match="needs position="):
        Flow.resumable(lambda position: rows(3)).on_spark(SCHEMA)
    with pytest.raises(ValueError, match="resumes by position only"):
        rows(3).on_spark(SCHEMA, resume="position")


@pytest.mark.parametrize(
    "several",
    [
        lambda source: source.flat_map_iterable(lambda row: [row, row]),
        lambda source: source.concat_map(lambda row: Flow.of(row, row)),
    ],
    ids=["flat_map_iterable", "concat_map"],
)
def test_a_position_in_the_rows_is_refused_where_several_have_the_same(
    several: Callable[[Flow[Any]], Flow[Any]], tmp_path: Path
) -> None:
    flow = several(Flow.resumable(lambda position: rows(3)))
    with pytest.raises(
        CannotResume, match=r"map\w* at .* the rest would be lost; concat_map keeps"
    ):
        flow.on_spark(SCHEMA, position=lambda row: row[0], checkpoint=tmp_path / "checkpoint")


def test_what_was_recorded_without_positions_does_not_go_on_by_position() -> None:
    source = Flow.resumable(lambda position: rows(3), position=lambda row: row[0])
    pipeline = spark_plan_in(source.on_spark(SCHEMA).rows())
    assert pipeline is not None
    with pytest.raises(CannotResume, match="12 elements, and not the position of the last one"):
        pipeline.journaled[0].resumed(12, None)


@pytest.mark.usefixtures("spark")
def test_a_source_that_is_another_one_now_is_refused_before_any_other_is_read(
    tmp_path: Path,
) -> None:
    """The first run has two sources in its second journal, the next one has three."""
    read: list[int] = []

    def flow(*more: Flow[Any]) -> Flow[Any]:
        first = rows(5).do_on_next(lambda row: read.append(row[0]))
        place = tmp_path / "checkpoint"
        merged = Flow.merge(rows(5), Flow.never(), *more).on_spark(SCHEMA)
        return first.on_spark(SCHEMA, name="changed", checkpoint=place).union(merged).rows()

    assert len(flow().take(10).to_list().run_sync() or []) == 10
    read.clear()
    with pytest.raises(CannotResume, match="the checkpoint has the position .* none of merge at"):
        flow(rows(3)).run_sync()
    assert read == []


def united(place: Path) -> Flow[Any]:
    """Two journals, of which one has two sources."""
    tens = Flow.merge(rows(0, 100, 2), rows(1, 100, 2)).on_spark(
        SCHEMA, name="united", checkpoint=place, batch_rows=20, max_rows=30
    )
    named = rows(1_000, 1_060).map(lambda row: (*row, "late")).on_spark("number long, word string")
    return tens.union(named.map(lambda row: (row.number,), schema=SCHEMA)).rows()


@pytest.mark.usefixtures("spark")
def test_a_union_has_a_journal_for_each_stream_and_each_goes_on_where_it_was(
    tmp_path: Path,
) -> None:
    place = tmp_path / "checkpoint"
    first: ManualSubscriber[Any] = ManualSubscriber(request=50)
    united(place).subscribe(first)
    first.await_elements(50, PATIENCE)
    first.cancel()
    second: ManualSubscriber[Any] = ManualSubscriber(request=1 << 40)
    united(place).subscribe(second)
    second.await_end(PATIENCE)
    second.assert_completed()
    assert {each.name for each in place.iterdir()} >= {"journal-0", "journal-1"}
    numbers = [row.number for row in second.elements]
    assert len(numbers) == len({*numbers})
    both = {row.number for row in first.elements} | {*numbers}
    assert both == {*range(100), *range(1_000, 1_060)}


def archive(folder: Path, *, opened: list[str]) -> Flow[Any]:
    """The files of two folders, one after the other, in small portions."""

    def lines_of(file: Path) -> Flow[Any]:
        opened.append(f"{file.parent.name}/{file.stem}")
        return read_json_lines(file)

    def files_of(name: str) -> Flow[Path]:
        return Flow.from_iterable(sorted((folder / name).glob("*.jsonl")))

    lines = Flow.of("old", "none", "new").concat_map(files_of).concat_map(lines_of)
    return lines.on_spark(
        SCHEMA, name="archive", checkpoint=folder / "checkpoint", batch_rows=10, max_rows=20
    ).rows()


def write_archive(folder: Path) -> None:
    """Files of 30 numbers each, and one in the middle that has none."""
    sizes = {"old/a": 30, "old/b": 0, "old/c": 30, "new/a": 30, "new/b": 30}
    first = 0
    for name, size in sizes.items():
        file = folder / f"{name}.jsonl"
        file.parent.mkdir(exist_ok=True)
        numbers = range(first, first + size)
        file.write_text("".join(f'{{"number": {number}}}\n' for number in numbers))
        first += size


@pytest.mark.usefixtures("spark")
def test_a_stream_of_many_files_goes_on_in_the_file_where_it_was(tmp_path: Path) -> None:
    write_archive(tmp_path)
    seen: list[int] = []
    opened: list[str] = []
    for taken in (25, 40):
        run: ManualSubscriber[Any] = ManualSubscriber(request=taken)
        archive(tmp_path, opened=opened).subscribe(run)
        run.await_elements(taken, PATIENCE)
        run.cancel()
        seen += [row.number for row in run.elements]
    opened.clear()
    last: ManualSubscriber[Any] = ManualSubscriber(request=1 << 40)
    archive(tmp_path, opened=opened).subscribe(last)
    last.await_end(PATIENCE)
    last.assert_completed()
    seen += [row.number for row in last.elements]
    assert sorted({*seen}) == [*range(120)]
    assert len(seen) - 120 <= 20  # what was in a batch that was not delivered as a whole
    assert [row.number for row in last.elements] == [*range(last.elements[0].number, 120)]
    assert "old/a" not in opened


@pytest.mark.usefixtures("spark")
def test_a_list_of_files_from_which_one_is_gone_is_refused(tmp_path: Path) -> None:
    write_archive(tmp_path)
    run: ManualSubscriber[Any] = ManualSubscriber(request=40)
    archive(tmp_path, opened=[]).subscribe(run)
    run.await_elements(40, PATIENCE)
    run.cancel()
    (tmp_path / "old/a.jsonl").unlink()
    with pytest.raises(CannotResume, match=r"again, whose flow was running, and upstream gave"):
        archive(tmp_path, opened=[]).run_sync()


def table(file: Path) -> Flow[Any]:
    found = read_sqlite(file, "SELECT number FROM numbers", key="number")
    return found.map(lambda row: (row["number"],))


AGAIN: dict[str, Callable[[Path], Flow[Any]]] = {
    "a table": table,
    "a table beside what ends": lambda file: Flow.merge(table(file), rows(100, 103)),
    "a table after what ends": lambda file: Flow.concat(rows(100, 103), table(file)),
    "a list of tables": lambda file: Flow.of(file).concat_map(table),
    "on a thread": lambda file: table(file).publish_on(ThreadPool(1)),
}


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("make", AGAIN.values(), ids=AGAIN)
def test_each_run_takes_what_has_come_since_the_last_one_completed(
    make: Callable[[Path], Flow[Any]], tmp_path: Path
) -> None:
    file, place, given = tmp_path / "numbers.db", tmp_path / "checkpoint", 0
    everything: list[int] = []
    for more in (3, 0, 2, 0, 4):
        insert(file, range(given, given + more))
        given += more
        flow = make(file).on_spark(SCHEMA, name="grows", checkpoint=place).rows()
        found = [row.number for row in flow.to_list().run_sync() or []]
        if everything:
            assert found == [*range(given - more, given)]
        everything += found
    ended = [] if max(everything) < 100 else [100, 101, 102]
    assert sorted(everything) == [*range(given), *ended]


def insert(file: Path, numbers: range) -> None:
    with closing(sqlite3.connect(file)) as database, database:
        database.execute("CREATE TABLE IF NOT EXISTS numbers (number INTEGER PRIMARY KEY)")
        database.executemany("INSERT INTO numbers VALUES (?)", [(each,) for each in numbers])


@pytest.mark.usefixtures("spark")
def test_a_flow_that_gives_the_same_each_time_is_not_run_again_once_it_has_completed(
    tmp_path: Path,
) -> None:
    read: list[int] = []
    for expected in ([0, 1, 2], []):
        flow = rows(3).do_on_next(lambda row: read.append(row[0]))
        through = flow.on_spark(SCHEMA, name="same", checkpoint=tmp_path / "checkpoint").rows()
        assert [row.number for row in through.to_list().run_sync() or []] == expected
    assert read == [0, 1, 2]


def test_a_union_is_of_flows_on_spark() -> None:
    with pytest.raises(TypeError, match="union needs other SparkFlows, not 3"):
        rows(3).on_spark(SCHEMA).union(3)  # type: ignore[arg-type]
