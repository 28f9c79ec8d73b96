"""What holds over Spark Connect; ``test_connect.py`` runs it, in a process of its own."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from penstock import Flow
from penstock.cli.application import application
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.spark import (
    SparkFlow,
    SparkLost,
    SparkSettings,
    SparkUnavailable,
    StateChanged,
    UserError,
    spark_session,
    write_with_spark,
)
from penstock.spark.deployment import Deployment, deployed
from penstock.spark.egress.batch_delivery import BatchHandoff
from penstock.spark.egress.batch_transport import SWITCH, SocketTransport
from penstock.spark.run import SparkRun
from penstock.spark.stream_input import StreamSource
from penstock.testing import ManualSubscriber
from tests.faults.processes import command_of, descendants
from tests.spark.cluster import REMOTE, SERVER

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NUMBERS = "number long, name string"
PATIENCE = 60.0
UNBOUNDED = 1 << 40
DELIVERING = "foreach_batch_worker"
"""The process of the server in which a query hands its batches over."""

pytestmark = pytest.mark.timeout(100)


@pytest.fixture(scope="module")
def remote() -> SparkSession:
    """It ends with its server, which the last test kills."""
    return spark_session(SparkSettings(remote=os.environ[REMOTE]))


def on_connect(count: int, **options: Any) -> SparkFlow:
    flow = Flow.range(count).map(lambda number: (number, f"n{number}"))
    if "session" not in options:
        options["remote"] = os.environ[REMOTE]
    return flow.on_spark(NUMBERS, **options)


def result(flow: Flow[Any]) -> list[Any]:
    return flow.to_list().run_sync() or []


def wait_until(condition: Callable[[], object]) -> None:
    pause = threading.Event()
    for _ in range(round(PATIENCE / 0.1)):
        if condition():
            return
        pause.wait(0.1)
    raise AssertionError("waited in vain")


def deliverers() -> list[int]:
    return [each for each in descendants(int(os.environ[SERVER])) if DELIVERING in command_of(each)]


def test_rows_go_through_functions_and_come_back_in_order(remote: SparkSession) -> None:
    flow = (
        on_connect(1_000, batch_rows=300)
        .filter(lambda row: row.number % 2)
        .map(lambda row: (row.number * 10, [row.name]), schema="tens long, names array<string>")
    )
    assert [tuple(row) for row in result(flow.rows())] == [
        (number * 10, [f"n{number}"]) for number in range(1, 1_000, 2)
    ]


def test_what_the_server_reads_itself_is_computed_when_rows_are_wanted(
    remote: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked, admit = threading.Event(), BatchHandoff.admit
    computed = tmp_path / "computed"

    def noted(handoff: BatchHandoff, number: int, *, on_demand: bool) -> None:
        asked.set()
        admit(handoff, number, on_demand=on_demand)

    def note(row: Any) -> bool:
        computed.touch()
        return True

    monkeypatch.setattr(BatchHandoff, "admit", noted)
    frame = remote.readStream.format("rate-micro-batch").option("rowsPerBatch", 10)
    frame = frame.option("numPartitions", 1).load()
    subscriber: ManualSubscriber[Any] = ManualSubscriber()
    flow = SparkFlow.from_stream(frame, checkpoint=tmp_path / "checkpoint")
    flow.filter(note).rows().subscribe(subscriber)
    assert asked.wait(PATIENCE)
    assert not computed.exists()
    subscriber.request(25)
    wait_until(lambda: len(subscriber.elements) == 25)
    assert [row.value for row in subscriber.elements] == list(range(25))
    assert computed.exists()
    subscriber.cancel()
    assert repr(flow.streams[0].sources) == repr((StreamSource("rate-micro-batch"),))


def test_batches_come_back_encrypted_where_they_have_to(
    remote: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    came: list[bool] = []
    start = SocketTransport._start

    def watched(sending: SocketTransport, connection: socket.socket) -> None:
        came.append(isinstance(connection, ssl.SSLSocket) and connection.version() is not None)
        start(sending, connection)

    monkeypatch.setattr(SocketTransport, "_start", watched)
    assert len(result(on_connect(100, batch_rows=40).rows())) == 100
    assert {*came} == {os.environ.get(SWITCH) == "always"}


def checked(choice: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The line of ``penstock check`` about the query."""
    monkeypatch.setenv(SWITCH, choice)
    arguments = ["check", "tests.cli.pipelines:spark_rows", "--remote", os.environ[REMOTE]]
    said = CliRunner().invoke(application, arguments).stdout.splitlines()
    (line,) = [line for line in said if line.split()[1] == "query"]
    return line


def test_a_check_says_how_batches_would_come_back(
    remote: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "batches come back in the clear" in checked("auto", monkeypatch)  # on this machine
    assert "batches come back encrypted" in checked("always", monkeypatch)
    assert checked("sometimes", monkeypatch).startswith("problem")


def test_no_query_is_started_if_it_is_not_known_whether_to_encrypt(
    remote: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    choice = "sometimes"
    monkeypatch.setenv(SWITCH, choice)
    with pytest.raises(
        SparkUnavailable, match=f"{SWITCH} is auto, always or never, not '{choice}'"
    ):
        result(on_connect(100).rows())
    assert not remote.streams.active


@pytest.mark.full
def test_a_session_that_is_handed_in_is_used_and_goes_on(remote: SparkSession) -> None:
    batches = result(on_connect(100, session=remote, batch_rows=40).batches())
    assert [n for batch in batches for n in batch["number"].to_pylist()] == [*range(100)]
    assert remote.sql("SELECT 1").collect() == [(1,)]


@pytest.mark.full
def test_frames_and_sql_work_and_state_is_exact(remote: SparkSession) -> None:
    flow = (
        on_connect(450, batch_rows=100, output_mode="update")
        .sql("SELECT number % 5 AS key FROM {stream}")
        .frame(lambda frame: frame.groupBy("key").count())
    )
    last = {row.key: row.count for row in result(flow.rows())}
    assert last == Counter(number % 5 for number in range(450))


@pytest.mark.full
def test_a_native_sink_gets_all_rows(remote: SparkSession, tmp_path: Path) -> None:
    place = str(tmp_path / "out")
    assert result(on_connect(100).write("parquet", path=place)) == []
    assert sorted(row.number for row in remote.read.parquet(place).collect()) == [*range(100)]


def note_batch(folder: Path) -> Callable[[Any, int], None]:
    """A function that runs on the server: it writes the numbers of a batch into a file."""

    def note(dataframe: Any, batch_id: int) -> None:
        numbers = sorted(row.number for row in dataframe.collect())
        (folder / f"{batch_id}-{os.getpid()}").write_text(" ".join(map(str, numbers)))

    return note


def refuse_batch(dataframe: Any, batch_id: int) -> None:
    raise OSError("no space left")


def test_functions_of_batches_run_on_the_server_and_their_errors_name_the_line(
    remote: SparkSession, tmp_path: Path
) -> None:
    flow = on_connect(100, batch_rows=30)
    assert result(flow.for_each_batch(note_batch(tmp_path))) == []
    files = sorted(tmp_path.iterdir())
    assert sorted(int(n) for file in files for n in file.read_text().split()) == [*range(100)]
    assert str(os.getpid()) not in {file.name.split("-")[1] for file in files}
    with pytest.raises(UserError, match=r"no space left \(in for_each_batch, at .*on_connect.py"):
        result(flow.for_each_batch(refuse_batch))


def test_sinks_of_spark_and_of_the_program_get_all_rows_and_a_foreign_folder_is_refused(
    remote: SparkSession, tmp_path: Path
) -> None:
    def run(checkpoint: str, rows: list[Any]) -> PipelineRun:
        pipeline = Pipeline(
            "lake",
            sources={"numbers": lambda settings: Flow.range(100).map(lambda n: (n, f"n{n}"))},
            transform=lambda numbers: numbers.on_spark(NUMBERS, batch_rows=30),
            sinks={
                "lake": lambda settings: write_with_spark("parquet", path=tmp_path / "lake"),
                "rows": lambda settings: rows.append,
            },
        )
        place = RunTarget(checkpoint=str(tmp_path / checkpoint), remote=os.environ[REMOTE])
        running = PipelineRun(pipeline, NoSettings(), place)
        running.start()
        assert running.wait(PATIENCE)
        return running

    rows: list[Any] = []
    first = run("checkpoint", rows)
    assert first.state == "completed", first.error
    assert [row.number for row in rows] == [*range(100)]
    lake = remote.read.parquet(str(tmp_path / "lake"))
    assert sorted(row.number for row in lake.collect()) == [*range(100)]
    again: list[Any] = []
    second = run("another-checkpoint", again)
    assert second.state == "failed"
    assert "was written from another checkpoint" in str(second.error)
    assert again == []


def timed(frame: Any) -> Any:
    """One element a second, but one is from the future: what comes later is late."""
    from pyspark.sql.functions import expr

    seconds = "timestamp_seconds(IF(number = 501, 2000000000, number))"
    return frame.withColumn("time", expr(seconds)).withWatermark("time", "10 seconds")


def distinct(frame: Any) -> Any:
    return timed(frame).dropDuplicates(["number", "time"]).select("number")


def windows(frame: Any) -> Any:
    from pyspark.sql.functions import explode, window

    groups = timed(frame).groupBy(window("time", "100 seconds"))
    return groups.agg({"number": "collect_list"}).select(explode("collect_list(number)"))


@pytest.mark.full
@pytest.mark.parametrize(("change", "exact"), [(distinct, True), (windows, False)])
def test_what_spark_counts_itself_comes_over_the_connection(
    remote: SparkSession, change: Callable[[Any], Any], exact: bool
) -> None:
    runs: list[SparkRun] = []
    flow = on_connect(4_000, batch_rows=1_000).filter(lambda row: row.number % 4).frame(change)
    deployment = Deployment(name="counted", watch=runs.append)
    counted: Any = deployed(flow.rows(), deployment)
    accepted = {number for (number,) in result(counted)}
    late = {number for number in range(4_000) if number % 4} - accepted - {501}
    (run,) = runs
    counts = run.snapshot().counts
    assert (counts.planned, counts.read, counts.missed) == (4_000, 3_000, 0)
    assert counts.left == counts.arrived == len(accepted)
    (found,) = counts.late.values()
    assert found.exact == exact
    assert found.rows == len(late) if exact else 0 < found.rows < len(late)


def seven(row: Any) -> Any:
    if row.number == 7:
        raise ValueError("it is seven")
    return row


def test_a_users_error_names_the_operator_and_the_line_and_is_short(remote: SparkSession) -> None:
    with pytest.raises(UserError) as caught:
        result(on_connect(10).map(seven).rows())
    text = str(caught.value)
    assert text.startswith("ValueError: it is seven (in map, at ")
    assert "on_connect.py:" in text
    assert len(text) < 300


def test_no_more_rows_come_than_were_requested_and_cancel_ends_the_query_while_a_batch_waits(
    remote: SparkSession,
) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=30)
    on_connect(10_000, batch_rows=100, name="cancelled").subscribe(subscriber)
    subscriber.await_elements(30, PATIENCE)
    assert [query.name.rpartition("-")[0] for query in remote.streams.active] == ["cancelled"]
    assert deliverers()
    subscriber.cancel()
    wait_until(lambda: not remote.streams.active and not deliverers())
    for thread in threading.enumerate():
        if thread.name.startswith(("penstock-spark", "penstock-journal")):
            thread.join(PATIENCE)
            assert not thread.is_alive()
    assert [row.number for row in subscriber.elements] == [*range(30)]


def test_a_pipeline_that_is_run_again_goes_on_after_what_it_has_delivered(
    remote: SparkSession, tmp_path: Path
) -> None:
    def run(wanted: int) -> ManualSubscriber[Any]:
        subscriber: ManualSubscriber[Any] = ManualSubscriber(request=wanted)
        flow = on_connect(100, name="again", checkpoint=tmp_path / "checkpoint", batch_rows=10)
        flow.subscribe(subscriber)
        return subscriber

    first = run(35)
    first.await_elements(35, PATIENCE)
    first.cancel()
    second = run(UNBOUNDED)
    second.await_end(PATIENCE)
    second.assert_completed()
    assert [row.number for row in first.elements] == [*range(35)]
    assert [row.number for row in second.elements] == [*range(30, 100)]


def test_a_union_works_and_a_change_of_what_state_means_is_seen(
    remote: SparkSession, tmp_path: Path
) -> None:
    def counted(function: str) -> SparkFlow:
        place = tmp_path / "checkpoint"
        flow = on_connect(100, name="counted", checkpoint=place, output_mode="update")
        both = flow.union(on_connect(50).filter(lambda row: row.number < 7))
        return both.sql(f"SELECT {function}(number) AS result FROM {{stream}}")

    assert result(counted("sum").rows())[-1].result == sum(range(100)) + sum(range(7))
    with pytest.raises(StateChanged, match=r"sum\(number\).*max\(number\)"):
        result(counted("max").rows())


@pytest.mark.full
def test_a_process_of_the_server_that_is_killed_while_a_batch_waits_costs_no_row_and_repeats_none(
    remote: SparkSession,
) -> None:
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=35)
    on_connect(100, batch_rows=10).subscribe(subscriber)
    subscriber.await_elements(35, PATIENCE)
    killed = deliverers()
    for process in killed:
        os.kill(process, signal.SIGKILL)
    wait_until(lambda: {*deliverers()} - {*killed})
    subscriber.request(UNBOUNDED)
    subscriber.await_end(PATIENCE)
    subscriber.assert_completed()
    assert [row.number for row in subscriber.elements] == [*range(100)]


ABANDONED = """
import threading
from penstock.testing import ManualSubscriber
from tests.spark.on_connect import on_connect

subscriber = ManualSubscriber(request=3)
on_connect(1_000, name="abandoned").subscribe(subscriber)
subscriber.await_elements(3, 60)
print("waits", flush=True)
threading.Event().wait()
"""


@pytest.mark.full
def test_a_program_that_is_killed_while_a_batch_waits_leaves_no_query_on_the_server() -> None:
    before = deliverers()
    program = subprocess.Popen([sys.executable, "-c", ABANDONED], stdout=subprocess.PIPE)
    with program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"waits\n"
        assert {*deliverers()} - {*before}
        program.kill()
    wait_until(lambda: not {*deliverers()} - {*before})


@pytest.mark.full
@pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")
def test_a_server_that_is_killed_ends_the_stream(remote: SparkSession) -> None:
    """The last one: there is no server after it."""
    subscriber: ManualSubscriber[Any] = ManualSubscriber(request=3)
    on_connect(100, batch_rows=10).subscribe(subscriber)
    subscriber.await_elements(3, PATIENCE)
    os.kill(int(os.environ[SERVER]), signal.SIGKILL)
    subscriber.await_end(PATIENCE)
    assert isinstance(subscriber.error, SparkLost)
