"""Pipelines in a notebook: what is drawn, and a picture that changes in place."""

from __future__ import annotations

import builtins
import signal
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from penstock import Flow
from penstock.observe.notebook import NotebookProgress
from penstock.observe.status import Status
from penstock.pipeline import NoSettings, Pipeline, PipelineRun
from penstock.spark import SparkFlow

SCHEMA = "origin string, delay double"


class Notebook:
    """Stands for IPython in a kernel: what was displayed, and how often it was replaced."""

    def __init__(self) -> None:
        self.displayed: list[Status] = []
        self.updates: list[Status] = []

    def display(self, status: Status, *, display_id: bool) -> Any:
        assert display_id
        self.displayed.append(status)
        return SimpleNamespace(update=self.updates.append)

    def install(self, monkeypatch: pytest.MonkeyPatch, shell: object) -> None:
        module: Any = ModuleType("IPython.display")
        module.display = self.display
        monkeypatch.setitem(sys.modules, "IPython.display", module)
        monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Notebook:
    notebook = Notebook()
    notebook.install(monkeypatch, SimpleNamespace(kernel=object()))
    return notebook


def squares(taken: list[int], count: int = 3) -> PipelineRun:
    pipeline = Pipeline(
        "squares",
        sources={"numbers": lambda settings: Flow.range(count)},
        transform=lambda numbers: numbers.map(lambda number: number * number),
        sinks={"list": lambda settings: taken.append},
    )
    return PipelineRun(pipeline, NoSettings())


def test_watching_runs_a_pipeline_and_shows_one_picture(notebook: Notebook) -> None:
    taken: list[int] = []
    squares(taken).watch()
    assert taken == [0, 1, 4]
    assert len(notebook.displayed) == 1
    assert [*notebook.displayed, *notebook.updates][-1].state == "completed"


def test_a_picture_is_replaced_by_the_next_one(notebook: Notebook) -> None:
    progress, status = NotebookProgress(), squares([]).status()
    for _ in range(3):
        progress.show(status)
    assert (len(notebook.displayed), len(notebook.updates)) == (1, 2)


@pytest.mark.parametrize("shell", [None, SimpleNamespace(kernel=None), SimpleNamespace()])
def test_nothing_is_shown_where_there_is_no_kernel(
    monkeypatch: pytest.MonkeyPatch, shell: object
) -> None:
    notebook = Notebook()
    notebook.install(monkeypatch, shell)
    squares([]).watch()
    assert notebook.displayed == []


def test_nothing_is_shown_without_ipython(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "IPython", None)  # to import it fails
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    taken: list[int] = []
    squares(taken).watch()
    assert taken == [0, 1, 4]


def test_watching_raises_what_the_pipeline_failed_with(notebook: Notebook) -> None:
    def fails(number: int) -> None:
        raise OSError("no room")

    pipeline = Pipeline(
        "failing",
        sources={"numbers": lambda settings: Flow.range(3)},
        sinks={"disk": lambda settings: fails},
    )
    with pytest.raises(OSError, match="no room"):
        PipelineRun(pipeline, NoSettings()).watch()
    assert [*notebook.displayed, *notebook.updates][-1].state == "failed"


class Interrupted(PipelineRun):
    """A run whose watcher is interrupted at its first waits, so often."""

    def __init__(self, pipeline: Pipeline, times: int) -> None:
        super().__init__(pipeline, NoSettings())
        self.times = times

    def wait(self, timeout: float | None = None) -> bool:
        if self.times:
            self.times -= 1
            raise KeyboardInterrupt
        return super().wait(timeout)


ENDLESS = Pipeline(
    "endless",
    sources={"numbers": lambda settings: Flow.never()},
    sinks={"list": lambda settings: print},
)


def test_an_interrupt_drains_what_is_watched(notebook: Notebook) -> None:
    run = Interrupted(ENDLESS, 1)
    run.watch()
    assert run.state == "stopped"


def test_an_interrupt_drains_whoever_handles_interrupts_otherwise(notebook: Notebook) -> None:
    """As Spark does, once it was started on the main thread."""

    def handle(number: int, frame: object) -> None:
        raise AssertionError("the handler of somebody else was called")

    class Signalled(Interrupted):
        def wait(self, timeout: float | None = None) -> bool:
            if self.times:
                self.times -= 1
                signal.raise_signal(signal.SIGINT)
            return super().wait(timeout)

    run = Signalled(ENDLESS, 1)
    before = signal.signal(signal.SIGINT, handle)
    try:
        run.watch()
        assert signal.getsignal(signal.SIGINT) is handle
    finally:
        signal.signal(signal.SIGINT, before)
    assert run.state == "stopped"


def test_a_second_interrupt_stops_it(notebook: Notebook) -> None:
    run = Interrupted(ENDLESS, 2)
    with pytest.raises(KeyboardInterrupt):
        run.watch()
    assert run.state == "stopped"


def test_a_run_is_drawn_as_it_was_when_it_was_watched_last() -> None:
    run = squares([])
    assert "squares" in run._repr_html_()
    assert "taken 0" in run._repr_html_()
    run.watch()
    assert "COMPLETED" in run._repr_html_()
    assert "taken 3, delivered 3" in run._repr_html_()


def test_a_pipeline_is_drawn_from_its_sources_to_its_sinks() -> None:
    drawn = ENDLESS._repr_html_()
    assert "the pipeline endless" in drawn
    assert drawn.index("numbers") < drawn.index("list")
    assert "transform" not in drawn
    assert (
        "transform"
        in Pipeline(
            "two",
            sources={"numbers": lambda settings: Flow.never()},
            transform=lambda numbers: numbers,
            sinks={"list": lambda settings: print},
        )._repr_html_()
    )


def test_a_way_through_spark_is_drawn_with_its_journal() -> None:
    late = (
        Flow.of(("JFK", 1.0))
        .map(tuple)
        .on_spark(SCHEMA, name="late<")
        .sql("SELECT * FROM {stream}")
    )
    assert isinstance(late, SparkFlow)
    drawn = late._repr_html_()
    names = ["the pipeline late&lt;", "of", "map", "journal", SCHEMA, "sql", "on Spark"]
    places = [drawn.index(name) for name in names]
    assert places == sorted(places)
    assert late.union(late)._repr_html_().count("journal") == 2
