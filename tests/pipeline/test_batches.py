"""Sinks that know batches are opened late, told where a batch ends, and skip what they have."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import AsyncSubscriber, Flow, ThreadPool
from penstock.connectors import write_json_lines
from penstock.delivery import Epoch, Level
from penstock.delivery.contract import SinkExited
from penstock.pipeline import NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.pipeline.sinks import BatchedSink, SinkBatches
from penstock.spark.failures import Stopped

PATIENCE = 120


class Log:
    """Writes down what it is told; ``has`` are the batches that it does not want."""

    level: Level = "exactly once"

    def __init__(self, *has: int, refuses: Exception | None = None) -> None:
        self.has = has
        self.refuses = refuses
        self.told: list[Any] = []

    def open(self, epoch: Epoch | None) -> None:
        self.told.append("open" if epoch is None else ("open", len(epoch.starts)))
        if self.refuses is not None:
            raise self.refuses

    def begin(self, batch: int) -> bool:
        self.told.append(("begin", batch))
        return batch not in self.has

    def __call__(self, element: Any) -> None:
        self.told.append(element)

    def commit(self, batch: int) -> None:
        self.told.append(("commit", batch))

    def close(self) -> None:
        self.told.append("close")


class Stuck(Log):
    """Is never done with an element."""

    def __init__(self) -> None:
        super().__init__()
        self.taking = threading.Event()

    def __call__(self, element: Any) -> None:
        self.taking.set()
        threading.Event().wait()


def test_a_run_is_stopped_although_a_sink_is_stuck_in_an_element(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("penstock.pipeline.sinks.CLOSING_SECONDS", 0.01)
    sink = Stuck()
    run = numbers(sink)
    run.start()
    assert sink.taking.wait(PATIENCE)
    run.stop()
    assert run.state == "stopped"
    assert "close" not in sink.told


def ended(run: PipelineRun) -> PipelineRun:
    run.start()
    assert run.wait(PATIENCE)
    return run


def numbers(sink: Any, **place: Any) -> PipelineRun:
    """Three numbers, through Spark if there is a place, in batches of two."""

    def through(numbers: Any) -> Any:
        if not place:
            return numbers
        return (
            numbers.map(lambda n: (n,)).on_spark("n long", batch_rows=2).rows().map(lambda r: r.n)
        )

    pipeline = Pipeline(
        "numbers",
        sources={"numbers": lambda settings: Flow.of(0, 1, 2)},
        transform=through,
        sinks={"log": lambda settings: sink},
    )
    return PipelineRun(pipeline, NoSettings(), RunTarget(**place))


def test_without_spark_there_are_no_batches() -> None:
    log = Log()
    assert ended(numbers(log)).state == "completed"
    assert log.told[:5] == ["open", 0, 1, 2, "close"]


def test_a_sink_that_refuses_to_open_ends_the_pipeline_before_anything_is_taken() -> None:
    log = Log(refuses=FileExistsError("it is there"))
    run = ended(numbers(log))
    assert (run.state, str(run.error)) == ("failed", "it is there")
    assert run.error is not None
    assert run.error.__notes__ == ["in the sink log, when it was opened"]
    assert 0 not in log.told
    assert run.status().ledger.taken == 0


def test_the_batches_of_spark_reach_the_sink_with_their_numbers(tmp_path: Path) -> None:
    log = Log()
    run = ended(numbers(log, checkpoint=str(tmp_path / "checkpoint")))
    assert run.state == "completed", run.error
    begins = [each[1] for each in log.told if isinstance(each, tuple) and each[0] == "begin"]
    commits = [each[1] for each in log.told if isinstance(each, tuple) and each[0] == "commit"]
    assert begins == commits == [0, 1]
    assert [each for each in log.told if isinstance(each, int)] == [0, 1, 2]
    assert log.told[0] == ("open", 1)
    assert log.told[-1] == "close"


def test_a_finished_pipeline_that_is_run_again_gives_the_sink_nothing(tmp_path: Path) -> None:
    place = str(tmp_path / "checkpoint")
    ended(numbers(Log(), checkpoint=place))
    log = Log()
    assert ended(numbers(log, checkpoint=place)).state == "completed"
    assert log.told == [("open", 2), "close", "close"]


@pytest.mark.parametrize(
    ("raised", "error"),
    [
        (OSError("no space left"), (OSError, "no space left")),
        (SystemExit(4), (SinkExited, "it raised SystemExit(4)")),
    ],
)
def test_a_sink_that_cannot_commit_ends_the_pipeline_with_its_own_error(
    raised: BaseException, error: tuple[type[Exception], str], tmp_path: Path
) -> None:
    class Full(Log):
        def commit(self, batch: int) -> None:
            raise raised

    run = ended(numbers(Full(), checkpoint=str(tmp_path / "checkpoint")))
    assert (run.state, type(run.error), str(run.error)) == ("failed", *error)
    assert run.error is not None
    assert run.error.__notes__[0] == "in the sink log, for batch 0"


def test_a_batch_that_the_sink_has_is_skipped() -> None:
    log = Log(3)
    sink = BatchedSink("log", log)
    for batch in (3, 4):
        sink.begin(batch)
        sink(batch * 10)
        sink.commit(batch)
    assert log.told == [("begin", 3), ("begin", 4), 40, ("commit", 4)]
    assert sink.skipped == 1


def test_a_batch_is_committed_once_although_spark_gives_it_again() -> None:
    log = Log()
    sink = BatchedSink("log", log)
    sink.begin(0)
    sink.commit(0)
    sink.commit(0)
    assert log.told == [("begin", 0), ("commit", 0)]


def test_a_sink_takes_nothing_after_it_was_closed() -> None:
    log = Log()
    sink = BatchedSink("log", log)
    sink.begin(0)
    sink.close()
    sink(7)
    sink.commit(0)
    assert log.told == [("begin", 0), "close"]


def test_when_one_sink_refuses_none_is_touched(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    for file in (first, second):
        file.write_text("1\n")
    batches = SinkBatches(
        {
            "first": write_json_lines(first, overwrite=True).sink,
            "second": write_json_lines(second).sink,
        }
    )
    with pytest.raises(FileExistsError, match="second is there and has 2 bytes") as refused:
        batches.open(Epoch.begun())
    assert refused.value.__notes__ == ["in the sink second, when it was opened"]
    assert [(file.name, file.read_text()) for file in sorted(tmp_path.iterdir())] == [
        ("first", "1\n"),
        ("second", "1\n"),
    ]


def test_when_one_sink_refuses_those_before_it_are_closed_again() -> None:
    first, second = Log(), Log(refuses=OSError("read-only"))
    batches = SinkBatches({"first": first, "function": print, "second": second})
    with pytest.raises(OSError, match="read-only"):
        batches.open(None)
    assert first.told == ["open", "close"]
    assert batches.function_of("function", print) is print


class Slow(AsyncSubscriber[int]):
    """Takes an element when it may, on a thread of its own; ``asked`` is set by a flush."""

    def __init__(self, pool: ThreadPool, told: list[Any], refuses: bool = False) -> None:
        super().__init__(pool)
        self.asked = threading.Event()
        self.may_take = threading.Event()
        self._told = told
        self._refuses = refuses

    def receive(self, element: int) -> bool:
        assert self.may_take.wait(PATIENCE)
        if self._refuses:
            raise OSError("no space left")
        self._told.append(element)
        return True

    def flush(self, done: Callable[[], object]) -> None:
        super().flush(done)
        self.asked.set()

    def failed(self, error: Exception) -> None:
        """The pipeline asks for it."""


def committing(batches: SinkBatches) -> tuple[threading.Thread, list[Exception]]:
    """Commit a batch on a thread, as Spark does; what that raises."""
    raised: list[Exception] = []

    def commit() -> None:
        try:
            batches.commit(0)
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=commit, daemon=True)
    thread.start()
    return thread, raised


def test_a_batch_is_committed_when_a_subscriber_on_another_thread_has_taken_all_of_it() -> None:
    log = Log()
    with ThreadPool() as pool:
        slow = Slow(pool, log.told)
        Flow.of(7).subscribe(slow)
        thread, raised = committing(SinkBatches({"log": log, "slow": slow}))
        assert slow.asked.wait(PATIENCE)
        slow.may_take.set()
        thread.join(PATIENCE)
    assert (log.told, raised) == ([7, ("commit", 0)], [])


def test_a_stop_ends_the_wait_for_a_subscriber_and_nothing_is_committed() -> None:
    log = Log()
    with ThreadPool() as pool:
        slow = Slow(pool, [])
        Flow.of(7).subscribe(slow)
        batches = SinkBatches({"log": log, "slow": slow})
        thread, raised = committing(batches)
        assert slow.asked.wait(PATIENCE)
        batches.stop()
        thread.join(PATIENCE)
        slow.may_take.set()
    assert (log.told, [type(error) for error in raised]) == ([], [Stopped])


def test_a_batch_that_a_subscriber_has_refused_is_not_committed() -> None:
    log = Log()
    with ThreadPool() as pool:
        slow = Slow(pool, [], refuses=True)
        Flow.of(7).subscribe(slow)
        slow.may_take.set()
        thread, raised = committing(SinkBatches({"log": log, "slow": slow}))
        thread.join(PATIENCE)
    assert (log.told, [str(error) for error in raised]) == ([], ["no space left"])
