"""A run goes from its sources to its sinks, and ends in one way only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import AsyncSubscriber, Flow, ThreadPool, collect_undelivered
from penstock.connectors import write_json_lines
from penstock.delivery.contract import SinkExited
from penstock.pipeline import AssemblyError, NoSettings, Pipeline, PipelineRun, RunTarget
from penstock.pipeline.assembly import assembled
from penstock.testing import ManualPublisher, ManualSubscriber

PATIENCE = 60


def running(source: Any, *sinks: Any) -> PipelineRun:
    pipeline = Pipeline(
        "test",
        sources={"source": lambda settings: source},
        sinks={f"sink {number}": made(sink) for number, sink in enumerate(sinks)},
    )
    run = PipelineRun(pipeline, NoSettings())
    run.start()
    return run


def made(sink: Any) -> Callable[[Any], Any]:
    return lambda settings: sink


def test_all_sinks_see_all_elements_and_the_run_completes() -> None:
    first: list[int] = []
    second: list[int] = []
    run = running(Flow.range(3), first.append, second.append)
    assert run.wait(PATIENCE)
    assert (run.state, run.error) == ("completed", None)
    assert first == second == [0, 1, 2]
    ledger = run.status().ledger
    assert (ledger.taken, ledger.delivered) == (3, 3)


def test_a_sink_that_is_at_an_element_holds_up_all_even_if_it_has_asked_for_more() -> None:
    entered, leaving = threading.Event(), threading.Event()

    def take(element: int) -> None:
        if element == 500:
            entered.set()
            assert leaving.wait(PATIENCE)

    with ThreadPool() as pool:
        run = running(Flow.range(1_000).subscribe_on(pool), take)
        assert entered.wait(PATIENCE)
        (edge,) = run.status().edges
        assert (edge.delivered, edge.in_flight) == (500, 1)
        assert edge.held_up
        assert not edge.idle
        leaving.set()
        assert run.wait(PATIENCE)
    assert run.status().ledger.delivered == 1_000


def test_the_first_error_is_the_one_that_counts() -> None:
    def fail(element: int) -> None:
        raise OSError("no space left")

    run = running(Flow.range(3), fail, fail)
    assert run.wait(PATIENCE)
    assert run.state == "failed"
    assert str(run.error) == "no space left"
    assert [signal.text for signal in run.status().errors] == ["OSError: no space left"]


def test_the_sources_complete_when_it_is_drained() -> None:
    taken = threading.Event()
    run = running(Flow.interval(0.001), lambda element: taken.set())
    assert taken.wait(PATIENCE)
    run.drain()
    assert run.wait(PATIENCE)
    assert (run.state, run.error) == ("stopped", None)
    ledger = run.status().ledger
    assert (ledger.delivered, ledger.lost) == (ledger.taken, 0)


def test_a_run_that_is_stopped_cancels_its_source() -> None:
    source: ManualPublisher[int] = ManualPublisher()
    sink: ManualSubscriber[int] = ManualSubscriber(request=1)
    run = running(source, sink)
    source.await_requested(1)
    run.stop()
    assert run.wait(PATIENCE)
    assert run.state == "stopped"
    source.await_cancelled()


def test_what_happens_after_the_end_changes_nothing() -> None:
    run = running(Flow.range(1), lambda element: None)
    assert run.wait(PATIENCE)
    run.drain()
    run.stop()
    assert run.state == "completed"
    assert run.status().state == "completed"


def test_the_run_calls_the_sink_of_a_writer_and_ends_when_all_is_written(tmp_path: Path) -> None:
    file, threads = tmp_path / "numbers.jsonl", set()

    def text_of(number: int) -> str:
        threads.add(threading.current_thread().name)
        return str(number)

    writer = write_json_lines(file, encode=text_of)
    run = running(Flow.range(500), writer)
    assert run.wait(PATIENCE)
    assert run.state == "completed"
    assert [*run.sinks.values()] == [writer.sink]
    assert not any("penstock-writer" in name for name in threads)
    assert file.read_text().splitlines() == [str(number) for number in range(500)]


class Collects(AsyncSubscriber[int]):
    """Takes elements on a thread of its own, and refuses one of them."""

    def __init__(self, refused: int | None = None) -> None:
        super().__init__(ThreadPool())
        self.elements: list[int] = []
        self.error: Exception | None = None
        self._refused = refused

    def receive(self, element: int) -> bool:
        if element == self._refused:
            raise OSError("no space left")
        self.elements.append(element)
        return True

    def failed(self, error: Exception) -> None:
        self.error = error


def test_the_run_ends_when_a_subscriber_on_another_thread_has_taken_all() -> None:
    sink = Collects()
    run = running(Flow.range(500), sink)
    assert run.wait(PATIENCE)
    assert run.state == "completed"
    assert sink.elements == list(range(500))


def test_a_subscriber_that_fails_on_another_thread_fails_the_run() -> None:
    run = running(Flow.range(500), Collects(refused=100))
    assert run.wait(PATIENCE)
    assert run.state == "failed"
    assert run.error is not None
    assert (str(run.error), run.error.__notes__) == ("no space left", ["in the sink sink 0"])


class Exits(Collects):
    """Wants to end the program."""

    def receive(self, element: int) -> bool:
        raise SystemExit(4)


def test_a_subscriber_that_wants_to_end_the_program_from_another_thread_fails_the_run() -> None:
    with collect_undelivered():  # its pool reports it as well
        run = running(Flow.range(500), Exits())
        assert run.wait(PATIENCE)
    assert run.state == "failed"
    assert isinstance(run.error, SinkExited)
    assert str(run.error) == "it raised SystemExit(4)"
    assert run.error.__notes__ == ["in the sink sink 0"]


def test_a_source_that_is_no_publisher_is_refused_by_name() -> None:
    pipeline = Pipeline("test", sources={"numbers": made(3)}, sinks={"sink": made(print)})
    with pytest.raises(AssemblyError, match="the source numbers cannot be made: TypeError"):
        PipelineRun(pipeline, NoSettings())


def test_a_pipeline_without_spark_has_no_use_for_a_checkpoint() -> None:
    pipeline = Pipeline(
        "test", sources={"numbers": made(Flow.range(1))}, sinks={"sink": made(print)}
    )
    with pytest.raises(AssemblyError, match="has no use for a checkpoint"):
        PipelineRun(pipeline, NoSettings(), RunTarget(checkpoint="here"))


def test_a_stop_signal_that_fails_is_no_end_of_the_source_and_no_fault_of_it() -> None:
    pipeline = Pipeline(
        "two",
        sources={"numbers": lambda settings: Flow.range(2)},
        transform=lambda numbers: numbers,
        sinks={"nowhere": lambda settings: print},
    )
    assembly = assembled(pipeline, NoSettings(), Flow.error(OSError("no signal")))
    with pytest.raises(OSError, match="no signal"):
        Flow.from_publisher(assembly.entrances["numbers"]).to_list().run_sync()
    assert assembly.sources["numbers"].errors.count == 0
